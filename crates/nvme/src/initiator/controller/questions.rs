//! Commands for a controller.

use super::config::ControllerConfig;
use crate::wire::ioda::ArraySettings;
use crate::wire::{
    AdminCommand, CNTLID_DYNAMIC, Cns, CommonFields, Configuration, Connect, ConnectData,
    FabricsCommand, Feature, GetLogPage, IDENTIFY_BYTES, Identify, LogPage, Property, PropertyGet,
    PropertySet, QueueCounts, SetFeatures, SglDescriptor, SubmissionEntry, WINDOW_LOG_BYTES,
    WindowConfig, window_event,
};
use alloc::vec::Vec;

/// Purpose of a command. The driver returns it with the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A step of the set-up.
    SetUp,
    /// Connect of an I/O queue.
    ConnectIo {
        /// The queue.
        queue: u16,
    },
    /// Keep Alive.
    KeepAlive,
    /// Asynchronous Event Request, which is answered when an event happens.
    AsyncEvent,
    /// Set Features 0Bh: the events that are wanted.
    WantedEvents,
    /// Log page 0Bh: reading it enables the drive to report the next event.
    WindowEvents,
    /// Log page 0Ah.
    WindowLog,
    /// Feature 13h.
    WindowConfig,
    /// Orderly shutdown.
    ShutDown,
    /// A reservation command, of a [`Reserving`](crate::initiator::Reserving).
    Reservation,
    /// A command of the driver, over an I/O queue.
    Driver,
    /// Log page C0h, of a [`Coordinating`](crate::initiator::Coordinating).
    Traffic,
    /// Feature C0h, also of a [`Coordinating`](crate::initiator::Coordinating).
    WindowCounts,
}

/// Data of a command, for its driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outgoing {
    /// No data.
    None,
    /// Data to the controller.
    Data(Vec<u8>),
    /// Data from the controller, at most this many bytes.
    Room(u32),
}

/// A command for a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Submission {
    /// QID.
    pub queue: u16,
    /// Purpose of the command.
    pub purpose: Purpose,
    /// The entry, without CID and data pointer.
    pub entry: SubmissionEntry,
    /// Its data.
    pub data: Outgoing,
}

/// Steps of the set-up on the admin queue, with their names in errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Question {
    Connect,
    Capabilities,
    Enable,
    Status,
    Controller,
    Namespaces { after: u32 },
    Namespace { nsid: u32 },
    Queues { count: u16 },
}

impl Question {
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Connect => "Connect",
            Self::Capabilities => "Property Get of the capabilities",
            Self::Enable => "enabling the controller",
            Self::Status => "Property Get of the status",
            Self::Controller => "Identify Controller",
            Self::Namespaces { .. } => "Identify of the namespaces",
            Self::Namespace { .. } => "Identify Namespace",
            Self::Queues { .. } => "Set Features of the number of queues",
        }
    }

    pub(super) fn submission(self, config: &ControllerConfig, entries: u16) -> Submission {
        let get = |property: Property| {
            FabricsCommand::PropertyGet(PropertyGet { property, size: property.size() })
        };
        let (command, data) = match self {
            Self::Connect => return connect(config, 0, entries, CNTLID_DYNAMIC),
            Self::Capabilities => {
                (AdminCommand::Fabrics(get(Property::Capabilities)), Outgoing::None)
            }
            Self::Status => (AdminCommand::Fabrics(get(Property::Status)), Outgoing::None),
            Self::Enable => {
                (configure(Configuration { enable: true, ..CONFIGURATION }), Outgoing::None)
            }
            Self::Controller => identify(Cns::Controller),
            Self::Namespaces { .. } => identify(Cns::ActiveNamespaces),
            Self::Namespace { .. } => identify(Cns::Namespace),
            Self::Queues { count } => {
                let count = count.saturating_sub(1);
                let counts = QueueCounts { submission: count, completion: count };
                (set(Feature::NumberOfQueues(counts)), Outgoing::None)
            }
        };
        let nsid = match self {
            Self::Namespace { nsid } | Self::Namespaces { after: nsid } => nsid,
            _ => 0,
        };
        admin(Purpose::SetUp, nsid, command, data)
    }
}

/// Configuration of the controller: the NVM command set, entries of 64 and 16 bytes.
pub(super) const CONFIGURATION: Configuration = Configuration {
    enable: false,
    command_set: 0,
    page: 0,
    arbitration: 0,
    shutdown: crate::wire::ShutdownNotice::None,
    submission_entry: 6,
    completion_entry: 4,
};

pub(super) fn configure(configuration: Configuration) -> AdminCommand {
    let (property, value) = (Property::Configuration, configuration.encode().into());
    AdminCommand::Fabrics(FabricsCommand::PropertySet(PropertySet {
        property,
        size: property.size(),
        value,
    }))
}

fn identify(what: Cns) -> (AdminCommand, Outgoing) {
    (AdminCommand::Identify(Identify::new(what)), Outgoing::Room(IDENTIFY_BYTES as u32))
}

pub(in crate::initiator) const fn set(feature: Feature) -> AdminCommand {
    AdminCommand::SetFeatures(SetFeatures { save: false, feature })
}

/// A command of the admin queue.
pub(in crate::initiator) fn admin(
    purpose: Purpose,
    nsid: u32,
    command: AdminCommand,
    data: Outgoing,
) -> Submission {
    // The connection fills in the other fields.
    let entry = command.encode(CommonFields { cid: 0, nsid, data: SglDescriptor::NO_DATA });
    Submission { queue: 0, purpose, entry, data }
}

/// Connect of a queue of this controller with `entries` entries.
pub(super) fn connect(
    config: &ControllerConfig,
    queue: u16,
    entries: u16,
    controller: u16,
) -> Submission {
    let keep_alive_ms = match queue {
        0 => u32::try_from(config.keep_alive.as_nanos() / 1_000_000).unwrap_or(u32::MAX),
        _ => 0,
    };
    let size = entries.saturating_sub(1);
    // The host counts entries itself, but not every controller allows it to do without SQHD.
    let command = Connect { format: 0, queue, size, attributes: 0, keep_alive_ms };
    let data = ConnectData {
        host_id: config.host_id,
        controller,
        subsystem: config.subsystem,
        host: config.host,
    };
    let purpose = if queue == 0 { Purpose::SetUp } else { Purpose::ConnectIo { queue } };
    let entry = FabricsCommand::Connect(command).encode(0, SglDescriptor::NO_DATA);
    Submission { queue, purpose, entry, data: Outgoing::Data(data.encode().to_vec()) }
}

/// Reads the first bytes of log page 0Bh; only the read itself matters.
pub(super) fn window_events() -> Submission {
    let bytes = 64;
    let command = AdminCommand::GetLogPage(GetLogPage::new(LogPage::WindowAggregate, bytes));
    admin(Purpose::WindowEvents, u32::MAX, command, Outgoing::Room(bytes))
}

/// Log page 0Ah of an NVM Set.
pub(super) fn window_log(nvm_set: u16) -> Submission {
    let get = GetLogPage::new(LogPage::Window, WINDOW_LOG_BYTES as u32);
    let command = AdminCommand::GetLogPage(GetLogPage { specific: nvm_set, ..get });
    admin(Purpose::WindowLog, u32::MAX, command, Outgoing::Room(WINDOW_LOG_BYTES as u32))
}

/// Set Features 13h of an NVM Set. Only events of a broken contract are wanted.
pub(super) fn window_config(nvm_set: u16, enable: bool, ioda: ArraySettings) -> Submission {
    let events = window_event::LEFT_EXCEEDED | window_event::LEFT_EXCURSION;
    let config = WindowConfig { events, ioda: Some(ioda), ..WindowConfig::default() };
    let command = set(Feature::WindowConfig { nvm_set, enable });
    admin(Purpose::WindowConfig, u32::MAX, command, Outgoing::Data(config.encode().to_vec()))
}
