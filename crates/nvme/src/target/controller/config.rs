//! Configuration of a subsystem: set once, the same for all its hosts.

use super::hosts::HostList;
use crate::target::authentication::AuthenticationConfig;
use crate::target::reservation::Persistence;
use crate::wire::ioda::IodaCapability;
use crate::wire::{Ascii, BlockRange, DatasetRange, Nqn, StatusCode, StatusField};

/// The one namespace of a drive, and the one NVM Set that it is in; both have the identifier 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Namespace {
    /// Logical blocks.
    pub blocks: u64,
    /// A block has `2^n` bytes, n 9 to 16.
    pub block_shift: u8,
    /// NGUID and UUID, with the same bytes. It must differ from that of every other drive, or Linux
    /// takes both for one.
    pub nguid: [u8; 16],
    /// Bytes of the optimal write, a page of the drive: the log of windows counts in this unit.
    pub write_bytes: u32,
    /// Time of a single random read of 4 KiB, in units of 100 ns.
    pub random_read_100ns: u32,
    /// The drive has a volatile write cache, so that flushes matter.
    pub write_cache: bool,
}

impl Namespace {
    pub(super) const ID: u32 = 1;
    pub(super) const NVM_SET: u16 = 1;
    pub(super) const ENDURANCE_GROUP: u16 = 1;

    /// Whether an NSID names the namespace. With `all`, the identifier of all namespaces does too.
    pub(in crate::target) const fn is_named(&self, nsid: u32, all: bool) -> bool {
        nsid == Self::ID || all && nsid == u32::MAX
    }

    /// Bytes of a range of blocks.
    ///
    /// # Errors
    ///
    /// If the range goes past the end.
    pub(in crate::target) fn check_range(&self, range: &BlockRange) -> Result<u64, StatusField> {
        let fits = range.end().is_some_and(|end| end <= self.blocks);
        let bytes = u64::from(range.blocks.get()) << self.block_shift;
        if fits { Ok(bytes) } else { Err(StatusCode::LbaOutOfRange.for_good()) }
    }

    /// The first `ranges` ranges in the data of a Dataset Management.
    ///
    /// # Errors
    ///
    /// If a range goes past the end, with the status of the answer; no range is deallocated then.
    pub fn dataset<'a>(
        &self,
        ranges: u16,
        data: &'a [u8],
    ) -> Result<impl Iterator<Item = DatasetRange> + use<'a>, StatusField> {
        let all = || DatasetRange::decode_all(data).take(ranges.into());
        let fits = |range: DatasetRange| range.end().is_some_and(|end| end <= self.blocks);
        if all().all(fits) { Ok(all()) } else { Err(StatusCode::LbaOutOfRange.for_good()) }
    }
}

/// Configuration of a subsystem.
#[derive(Clone, Debug)]
pub struct SubsystemConfig {
    /// Name of the subsystem, which differs from all others.
    pub nqn: Nqn,
    /// Hosts that may use it.
    pub hosts: HostList,
    /// Authentication of hosts; `None` if it is not demanded.
    pub authentication: Option<AuthenticationConfig>,
    /// Serial number.
    pub serial: Ascii<20>,
    /// Model number.
    pub model: Ascii<40>,
    /// Firmware revision.
    pub firmware: Ascii<8>,
    /// The drive.
    pub namespace: Namespace,
    /// IODA capability; `None` for a drive without predictable latency mode.
    pub ioda: Option<IodaCapability>,
    /// Whether the namespace has reservations, and whether they can outlive a loss of power.
    pub reservations: Persistence,
    /// Most controllers, at least one. Each host that is connected has one.
    pub controllers_max: u16,
    /// I/O queues of a controller, at least one.
    pub io_queues_max: u16,
    /// Entries of a queue, 2 to 65535. Linux wants 32 of the admin queue.
    pub entries_max: u16,
    /// MDTS: most data of a command, `2^n` times 4 KiB, n 1 to 19.
    pub transfer_shift: u8,
    /// Data in a capsule of an I/O queue; a multiple of 16.
    pub capsule_bytes: u32,
}

/// The unit of MDTS, `CAP.MPSMIN`: a memory page of 4 KiB.
const PAGE_SHIFT: u8 = 12;

impl SubsystemConfig {
    /// MDTS in bytes, for [`Terms`](crate::target::Terms).
    #[must_use]
    pub const fn transfer_max_bytes(&self) -> u32 {
        1 << (PAGE_SHIFT + self.transfer_shift)
    }
}
