//! The PL flag of commands and completions, and busy remaining time.

use crate::PlFlag;
use crate::wire::completion::CompletionEntry;
use crate::wire::field::Bits;
use crate::wire::status::StatusField;
use units::Duration;

// CDW2 bits 31:16 are reserved in all commands and with all formats of protection information, and
// Linux leaves them 0 (checked against Linux 6.1 and libnvme, not against the specification text).
const PL_COMMAND: Bits = Bits::new(31, 30);
// DW0 and DW1 of the completion of a read are not used.
const PL_COMPLETION: Bits = Bits::new(1, 0);
const BUSY_REMAINING: Bits = Bits::new(63, 32);

const fn flag(bits: u32) -> PlFlag {
    match bits & 0b11 {
        0b00 => PlFlag::Off,
        0b01 => PlFlag::Predictable,
        0b10 => PlFlag::Patient,
        _ => PlFlag::Failed,
    }
}

/// The flag in CDW2 of a command. [`PlFlag::Failed`] has no meaning there.
#[must_use]
pub const fn flag_of_command(cdw2: u32) -> PlFlag {
    flag(PL_COMMAND.get32(cdw2))
}

/// CDW2 of a command with this flag, all other bits zero.
#[must_use]
pub const fn cdw2_of_flag(flag: PlFlag) -> u32 {
    PL_COMMAND.put32(flag as u32)
}

/// Answer to a read that failed fast (IODA §4.2): PL flag 11b and busy remaining time. The time is
/// in microseconds and rounded up, so that a host that waits as long never comes too early. Times
/// beyond 32 bits, more than 71 minutes, are written as the highest value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FastFail {
    /// DW1: busy remaining time in microseconds; 0 if the drive does not know it.
    pub busy_remaining_us: u32,
}

impl FastFail {
    /// An answer with this busy remaining time.
    #[must_use]
    pub fn new(busy_remaining: Duration) -> Self {
        let micros = busy_remaining.as_nanos().div_ceil(1_000);
        Self { busy_remaining_us: u32::try_from(micros).unwrap_or(u32::MAX) }
    }

    /// Busy remaining time.
    #[must_use]
    pub const fn busy_remaining(&self) -> Duration {
        Duration::from_micros(self.busy_remaining_us as u64)
    }

    /// Reads a fast failure from a completion; `None` if the command did not fail fast. Both status
    /// and flag are checked, because other commands use DW0.
    #[must_use]
    pub fn decode(completion: &CompletionEntry) -> Option<Self> {
        let failed = flag(PL_COMPLETION.get(completion.result) as u32) == PlFlag::Failed;
        (failed && completion.status == StatusField::FAILED_FAST)
            .then(|| Self { busy_remaining_us: BUSY_REMAINING.get(completion.result) as u32 })
    }

    /// The completion of a command that failed fast.
    #[must_use]
    pub const fn encode(&self, cid: u16) -> CompletionEntry {
        let flag = PL_COMPLETION.put(PlFlag::Failed as u64);
        let result = flag | BUSY_REMAINING.put(self.busy_remaining_us as u64);
        CompletionEntry::new(cid, StatusField::FAILED_FAST).with_result(result)
    }
}
