//! Data that Identify returns.

use super::config::{Namespace, SubsystemConfig};
use super::events::REQUESTS_MAX;
use super::keep_alive::GRANULARITY_100MS;
use crate::target::reservation::Persistence;
use crate::target::transport::Answer;
use crate::wire::{
    Ascii, Cns, ControllerIdentity, ControllerKind, ControllerLimits, ControllerSupport,
    FabricsLimits, IDENTIFY_BYTES, Identify, IdentifyController, IdentifyNamespace, LBA_FORMATS,
    LbaFormat, NamespaceIds, NamespaceList, NamespaceOwner, Nqn, NvmSet, NvmSetList,
    SUBMISSION_BYTES, StatusCode, StatusField, Version, ctratt, lpa, oncs, sgls,
};

/// AERL is 0's based.
const ASYNC_EVENTS: u8 = REQUESTS_MAX as u8 - 1;

/// SQES and CQES: only entries of 64 and 16 bytes.
const SUBMISSION_SIZES: u8 = 0x66;
const COMPLETION_SIZES: u8 = 0x44;

/// Bytes of a unit of IOCCSZ.
const CAPSULE_UNIT_BYTES: u32 = 16;

/// IOCCSZ of a capsule that has an entry and no data.
const CAPSULE_WITHOUT_DATA_16B: u32 = SUBMISSION_BYTES as u32 / CAPSULE_UNIT_BYTES;

/// Names of a controller's software.
#[derive(Clone, Copy, Debug)]
pub(in crate::target) struct Firmware {
    pub(in crate::target) serial: Ascii<20>,
    pub(in crate::target) model: Ascii<40>,
    pub(in crate::target) revision: Ascii<8>,
}

/// Identify data that all controllers over this fabric have in common.
pub(in crate::target) fn fabrics_controller(
    id: u16,
    kind: ControllerKind,
    events: u32,
    subsystem: Nqn,
    firmware: &Firmware,
    entries_max: u16,
) -> IdentifyController {
    IdentifyController {
        identity: ControllerIdentity {
            serial: firmware.serial,
            model: firmware.model,
            firmware: firmware.revision,
            id,
            version: Version::V1_4,
            kind,
            subsystem: Some(subsystem),
            ..ControllerIdentity::default()
        },
        limits: ControllerLimits {
            async_events: ASYNC_EVENTS,
            keep_alive_100ms: GRANULARITY_100MS,
            commands: entries_max,
            ..ControllerLimits::default()
        },
        support: ControllerSupport {
            async_events: events,
            attributes: ctratt::HOST_ID_128,
            log_pages: lpa::EXTENDED,
            submission_entry: SUBMISSION_SIZES,
            completion_entry: COMPLETION_SIZES,
            sgls: sgls::SUPPORTED | sgls::OFFSET,
            ..ControllerSupport::default()
        },
        fabrics: FabricsLimits {
            command_capsule_16b: CAPSULE_WITHOUT_DATA_16B,
            response_capsule_16b: 1,
            descriptors: 1,
            ..FabricsLimits::default()
        },
        ioda: None,
    }
}

/// CMIC bit 1: the subsystem has several controllers, one for each host and path. With it, Linux
/// keeps commands in flight when a connection breaks, and sends them again over the next one.
/// Without it, Linux gives up after five tries, which take no time on a closed socket.
const MANY_CONTROLLERS: u8 = 1 << 1;

/// DLFEAT: deallocated blocks read as zeroes, and Write Zeroes deallocates if requested.
const DEALLOCATED_READS_ZEROES: u8 = 1 | 1 << 3;

/// NMIC bit 0: all controllers have the namespace.
const SHARED: u8 = 1;

impl SubsystemConfig {
    pub(super) const fn firmware(&self) -> Firmware {
        Firmware { serial: self.serial, model: self.model, revision: self.firmware }
    }

    /// CNS 01h.
    fn controller(&self, id: u16, events: u32) -> IdentifyController {
        let (kind, firmware) = (ControllerKind::Io, self.firmware());
        let mut identity =
            fabrics_controller(id, kind, events, self.nqn, &firmware, self.entries_max);
        identity.limits.transfer = self.transfer_shift;
        identity.limits.namespaces = 1;
        identity.support.log_pages |= lpa::COMMAND_EFFECTS;
        identity.support.io_commands =
            oncs::WRITE_ZEROES | oncs::DATASET_MANAGEMENT | oncs::TIMESTAMP;
        if self.reservations != Persistence::Absent {
            identity.support.io_commands |= oncs::RESERVATIONS;
        }
        identity.support.multipath = MANY_CONTROLLERS;
        identity.support.write_cache = self.namespace.write_cache.into();
        identity.fabrics.command_capsule_16b += self.capsule_bytes / CAPSULE_UNIT_BYTES;
        if self.ioda.is_some() {
            identity.support.attributes |=
                ctratt::NVM_SETS | ctratt::ENDURANCE_GROUPS | ctratt::PREDICTABLE_LATENCY;
            identity.limits.nvm_set = Namespace::NVM_SET;
            identity.limits.endurance_group = Namespace::ENDURANCE_GROUP;
            identity.ioda = self.ioda;
        }
        identity
    }

    /// Data of Identify; `rescap` are the types of reservations that are supported.
    ///
    /// # Errors
    ///
    /// If the requested structure does not exist.
    pub(super) fn identify(
        &self,
        controller: u16,
        events: u32,
        rescap: u8,
        nsid: u32,
        identify: &Identify,
    ) -> Result<[u8; IDENTIFY_BYTES], StatusField> {
        let invalid_field = StatusCode::InvalidField.for_good();
        let invalid_namespace = StatusCode::InvalidNamespace.for_good();
        let is_named = self.namespace.is_named(nsid, false);
        match identify.what {
            Cns::Controller => Ok(self.controller(controller, events).encode()),
            Cns::Namespace if is_named => {
                Ok(self.namespace.identity(self.ioda.is_some(), rescap).encode())
            }
            Cns::NamespaceIds if is_named => {
                // Hosts use the UUID as its name if there is one, as with other targets (blktests
                // nvme/004).
                let name = Some(self.namespace.nguid);
                let ids =
                    NamespaceIds { eui64: None, nguid: name, uuid: name, command_set: Some(0) };
                Ok(ids.encode())
            }
            Cns::Namespace | Cns::NamespaceIds => Err(invalid_namespace),
            // No namespace follows the last.
            Cns::ActiveNamespaces if nsid >= u32::MAX - 1 => Err(invalid_namespace),
            Cns::ActiveNamespaces => Ok(NamespaceList::new(nsid, [Namespace::ID]).encode()),
            Cns::NvmSets if self.ioda.is_some() => {
                Ok(NvmSetList::new(identify.specific, [self.namespace.nvm_set()]).encode())
            }
            Cns::CommandSetController if identify.command_set == 0 => Ok([0; IDENTIFY_BYTES]),
            Cns::NvmSets | Cns::CommandSetController | Cns::Other(_) => Err(invalid_field),
        }
    }
}

impl Namespace {
    /// CNS 00h.
    fn identity(&self, has_set: bool, rescap: u8) -> IdentifyNamespace {
        let mut lba_formats = [LbaFormat::default(); LBA_FORMATS];
        lba_formats[0].data_shift = self.block_shift;
        let alone =
            NamespaceOwner { shared: SHARED, reservations: rescap, ..NamespaceOwner::default() };
        let owner = NamespaceOwner {
            nvm_set: Self::NVM_SET,
            endurance_group: Self::ENDURANCE_GROUP,
            ..alone
        };
        IdentifyNamespace {
            size_blocks: self.blocks,
            capacity_blocks: self.blocks,
            used_blocks: self.blocks,
            owner: if has_set { owner } else { alone },
            nguid: self.nguid,
            lba_formats,
            deallocation: DEALLOCATED_READS_ZEROES,
            ..IdentifyNamespace::default()
        }
    }

    fn nvm_set(&self) -> NvmSet {
        NvmSet {
            id: Self::NVM_SET,
            endurance_group: Self::ENDURANCE_GROUP,
            random_read_100ns: self.random_read_100ns,
            write_bytes: self.write_bytes,
            capacity_bytes: u128::from(self.blocks) << self.block_shift,
            free_bytes: 0,
        }
    }
}

/// Copies Identify data into the room of the host.
pub(in crate::target) fn copy_identity(data: &[u8; IDENTIFY_BYTES], into: &mut [u8]) -> Answer {
    let bytes = into.len().min(IDENTIFY_BYTES);
    into[..bytes].copy_from_slice(&data[..bytes]);
    Answer::with_data(bytes as u32)
}
