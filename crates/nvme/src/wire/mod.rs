//! The bytes of NVMe and NVMe/TCP.
//!
//! Knows: the offset of every field, the meaning of its bits, and which bytes are not a valid PDU.
//! Does not know: connections, queues, drives, sockets. A structure has `decode`, from an array of
//! its length, and `encode`; most also have the table of their fields, `FIELDS`. Reserved bits are
//! ignored by `decode` and written as zero by `encode`. A value without a name here is kept
//! (`Other`, `Unsupported`, `Reserved`), so that it can be refused with the right status.
//!
//! | part | modules |
//! |---|---|
//! | entries of queues | `submission`, `completion`, `sgl`, `status` |
//! | commands | `io`, `ranges`, `reservation`, `admin`, `fabrics`, `connect`, `property`, `registers` |
//! | data of admin commands | `identify`, `log`, `feature`, `event` |
//! | IODA's five fields | [`ioda`] |
//! | PLM-light's coordinator | [`plm_light`] |
//! | NVMe/TCP | [`pdu`] |
//!
//! Field names are those of NVM Express 1.4, in capitals in the comments. Offsets and values were
//! checked against Linux 6.1 and 6.12 and libnvme, and by attaching stock kernels to a target,
//! **not against the specification text**, which was not at hand. Comments say where Linux is
//! stricter or laxer than expected.

mod admin;
mod auth;
mod completion;
mod connect;
mod event;
mod fabrics;
mod feature;
mod field;
mod identify;
mod io;
pub mod ioda;
mod log;
pub mod pdu;
pub mod plm_light;
mod property;
mod ranges;
mod registers;
mod reservation;
mod sgl;
mod status;
mod structure;
mod submission;
mod text;

pub use admin::{Abort, AdminCommand};
pub use auth::{
    AUTH_MESSAGE_BYTES_MAX, AUTHENTICATION_PROTOCOL, AUTHENTICATION_SPECIFIC, AuthFailure,
    AuthMessage, Challenge, DIGEST_BYTES_MAX, DhGroup, FAILURE_BYTES, HashFunction, Negotiate,
    Reply, Success1,
};
pub use completion::{COMPLETION_BYTES, CompletionEntry};
pub use connect::{
    CATTR_NO_SQ_FLOW, CNTLID_DYNAMIC, CONNECT_BYTES, Connect, ConnectData, ConnectRefusal,
    Connected,
};
pub use event::{AsyncEvent, notice};
pub use fabrics::{Authentication, FABRICS, FabricsCommand};
pub use feature::{
    Feature, FeatureId, FeatureValue, GetFeatures, QueueCounts, SetFeatures, TIMESTAMP_BYTES,
    Timestamp, TimestampOrigin, WINDOW_CONFIG_BYTES, WindowConfig,
};
pub use identify::{
    Cns, ControllerIdentity, ControllerKind, ControllerLimits, ControllerSupport, FabricsLimits,
    IDENTIFY_BYTES, Identify, IdentifyController, IdentifyNamespace, LBA_FORMATS, LbaFormat,
    NAMESPACES_MAX, NVM_SETS_MAX, NamespaceIds, NamespaceList, NamespaceOptimum, NamespaceOwner,
    NvmSet, NvmSetList, ctratt, lpa, oncs, sgls,
};
pub use io::{BlockCount, BlockRange, DatasetManagement, IoCommand, Transfer, WriteZeroes};
pub use log::{
    AGGREGATE_HEAD_BYTES, AddressFamily, AggregateEntry, COMMAND_EFFECTS_BYTES, CommandEffects,
    DISCOVERY_BYTES, DiscoveryHeader, DiscoveryRecord, ERROR_ENTRY_BYTES, ErrorEntry, Estimates,
    Excerpt, FIRMWARE_SLOTS, FIRMWARE_SLOTS_BYTES, FirmwareSlots, GetLogPage, HEALTH_BYTES,
    HealthCounters, HealthLog, LogPage, RESERVATION_LOG_BYTES, ReservationLog, ReservationNotice,
    SubsystemKind, ThermalCounters, Transport, WINDOW_LOG_BYTES, WindowLog, WindowState,
    WindowTypicals, aggregate_sets, effect, put_aggregate, put_discovery, reservation_mask,
    window_event,
};
pub use property::{Property, PropertyGet, PropertySet, PropertySize};
pub use ranges::{DatasetRange, RANGE_BYTES, RANGES_MAX};
pub use registers::{
    CSS_NVM, Capabilities, Configuration, ControllerStatus, ShutdownNotice, ShutdownState, Version,
};
pub use reservation::{
    ACQUIRE_KEYS_BYTES, AcquireAction, AcquireKeys, PersistChange, REGISTER_KEYS_BYTES,
    RELEASE_KEY_BYTES, RegisterAction, RegisterKeys, RegistrantEntry, ReleaseAction, ReleaseKey,
    ReservationCommand, ReservationHeader, ReservationType, STATUS_HEADER_BYTES, StatusFormat,
    put_reservations, read_reservations, rescap,
};
pub use sgl::{PSDT_SGL, SGL_BYTES, SglDescriptor};
pub use status::{StatusCode, StatusField};
pub use structure::Field;
pub use submission::{CommonFields, DataDirection, SUBMISSION_BYTES, SubmissionEntry};
pub use text::{Ascii, NQN_BYTES_MAX, NQN_FIELD_BYTES, Nqn};
