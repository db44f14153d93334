//! Properties of a drive.

use super::error::ControllerError;
use crate::wire::ioda::IodaCapability;
use crate::wire::{Ascii, Capabilities, IdentifyController, IdentifyNamespace, ctratt, oncs};
use units::Duration;

/// Most data of a command, even if the controller takes more: a buffer is kept for each command.
const TRANSFER_MAX_BYTES: u64 = 1 << 20;

/// Properties that a drive reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveFacts {
    /// The namespace.
    pub nsid: u32,
    /// Logical blocks of the namespace.
    pub blocks: u64,
    /// A block has `2^n` bytes, n 9 to 16.
    pub block_shift: u8,
    /// NGUID; zero if the drive has none.
    pub nguid: [u8; 16],
    /// EUI64; zero if the drive has none.
    pub eui64: [u8; 8],
    /// Serial number.
    pub serial: Ascii<20>,
    /// Model number.
    pub model: Ascii<40>,
    /// Most data of a command: a multiple of the block, and at most 1 MiB.
    pub transfer_max_bytes: u32,
    /// The drive has a volatile write cache: writes are stable after a flush, or with FUA.
    pub write_cache: bool,
    /// The drive supports Write Zeroes.
    pub write_zeroes: bool,
    /// The drive supports Dataset Management, and deallocated blocks read as zeroes.
    pub deallocates_to_zeroes: bool,
    /// RESCAP if the drive supports reservations, else 0.
    pub reservations: u8,
    /// KAS: the Keep Alive Timeout is a multiple of this.
    pub keep_alive_unit: Duration,
    /// Delays that the status of a completion can name.
    pub retry_delays: [Duration; 3],
    /// IODA capability; `None` unless the drive has predictable latency mode and the namespace an
    /// NVM Set.
    pub ioda: Option<IodaCapability>,
    /// NVM Set of the namespace; 0 for none.
    pub nvm_set: u16,
}

impl DriveFacts {
    /// Bytes of the namespace.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.blocks << self.block_shift
    }

    /// Properties of a namespace.
    ///
    /// # Errors
    ///
    /// If the namespace cannot be used, with the reason.
    pub(super) fn of(
        capabilities: &Capabilities,
        controller: &IdentifyController,
        nsid: u32,
        namespace: &IdentifyNamespace,
    ) -> Result<Self, ControllerError> {
        let bad = |why| Err(ControllerError::Namespace(why));
        if namespace.size_blocks == 0 {
            return Err(ControllerError::NoNamespace);
        }
        let Some(block_bytes) = namespace.block_bytes().filter(|bytes| *bytes <= 1 << 16) else {
            return bad("its blocks are not of 512 bytes to 64 KiB");
        };
        let format = namespace.lba_formats[usize::from(namespace.format & 0xf)];
        if format.metadata_bytes != 0 {
            return bad("its blocks have metadata");
        }
        let block_shift = block_bytes.trailing_zeros() as u8;
        if namespace.size_blocks > (1 << 62) >> block_shift {
            return bad("it claims to have more than 4 EiB");
        }
        let limit = controller.limits.transfer_bytes(capabilities.page_min);
        // A command has at most 65536 blocks, which is more than this limit for every block size.
        let transfer = limit.unwrap_or(u64::MAX).min(TRANSFER_MAX_BYTES);
        if transfer < block_bytes {
            return bad("a command may not have as much data as a block");
        }
        let support = &controller.support;
        let needed = ctratt::NVM_SETS | ctratt::ENDURANCE_GROUPS | ctratt::PREDICTABLE_LATENCY;
        let has_windows = support.attributes & needed == needed && namespace.owner.nvm_set != 0;
        let delay = |units_100ms: u16| Duration::from_millis(u64::from(units_100ms) * 100);
        Ok(Self {
            nsid,
            blocks: namespace.size_blocks,
            block_shift,
            nguid: namespace.nguid,
            eui64: namespace.eui64,
            serial: controller.identity.serial,
            model: controller.identity.model,
            // Transfer and block are powers of two, so the larger is a multiple of the smaller.
            transfer_max_bytes: transfer as u32,
            write_cache: support.write_cache & 1 != 0,
            write_zeroes: support.io_commands & oncs::WRITE_ZEROES != 0,
            deallocates_to_zeroes: support.io_commands & oncs::DATASET_MANAGEMENT != 0
                && namespace.deallocation & 0b111 == 1,
            reservations: match support.io_commands & oncs::RESERVATIONS != 0 {
                true => namespace.owner.reservations,
                false => 0,
            },
            keep_alive_unit: delay(controller.limits.keep_alive_100ms),
            retry_delays: controller.limits.retry_delays_100ms.map(delay),
            ioda: controller.ioda.filter(|_| has_windows),
            nvm_set: namespace.owner.nvm_set,
        })
    }
}
