//! Delays of a command by cause.

use units::Duration;

/// One cause of delay. The parts of a read's latency are labelled with these and sum to it exactly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Cause {
    /// Moving data over the channel and over PCIe.
    Transfer,
    /// Sensing the NAND page.
    NandRead,
    /// Queueing behind reads of the host.
    BehindHostReads,
    /// Queueing behind writes of the host.
    BehindHostWrites,
    /// Queueing behind reads of a collection, or of the check of its copies.
    BehindCollectionRead,
    /// Queueing behind programs of a collection.
    BehindCollectionProgram,
    /// Queueing behind an erase of a collection.
    BehindCollectionErase,
    /// The round trip of a command that was failed fast.
    FailFast,
    /// Reading the other members of the stripe and computing the missing data.
    Rebuild,
    /// Waiting for a stripe lock.
    StripeLock,
    /// Waiting for a drive that did not answer in time, until the host began to read other members
    /// instead.
    LateAnswer,
    /// Waiting at the host before anything was sent, or waiting for a command slot of a drive.
    HeldBack,
}

impl Cause {
    /// Number of causes.
    pub const COUNT: usize = 12;

    /// All causes in the order of [`Delays::parts`].
    pub const ALL: [Self; Self::COUNT] = [
        Self::Transfer,
        Self::NandRead,
        Self::BehindHostReads,
        Self::BehindHostWrites,
        Self::BehindCollectionRead,
        Self::BehindCollectionProgram,
        Self::BehindCollectionErase,
        Self::FailFast,
        Self::Rebuild,
        Self::StripeLock,
        Self::LateAnswer,
        Self::HeldBack,
    ];

    /// The cause in words.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Transfer => "transfer",
            Self::NandRead => "NAND read",
            Self::BehindHostReads => "behind host reads",
            Self::BehindHostWrites => "behind host writes",
            Self::BehindCollectionRead => "behind collection (read)",
            Self::BehindCollectionProgram => "behind collection (program)",
            Self::BehindCollectionErase => "behind collection (erase)",
            Self::FailFast => "fail-fast round trip",
            Self::Rebuild => "rebuild",
            Self::StripeLock => "stripe lock",
            Self::LateAnswer => "late answer",
            Self::HeldBack => "held back",
        }
    }
}

/// A latency split by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delays {
    parts: [Duration; Cause::COUNT],
}

impl Delays {
    /// No delay.
    pub const ZERO: Self = Self { parts: [Duration::ZERO; Cause::COUNT] };

    /// Adds `length` to one cause.
    #[inline]
    pub fn add(&mut self, cause: Cause, length: Duration) {
        self.parts[cause as usize] += length;
    }

    /// The part of one cause.
    #[inline]
    #[must_use]
    pub fn get(&self, cause: Cause) -> Duration {
        self.parts[cause as usize]
    }

    /// The part that went to waiting for collections.
    #[inline]
    #[must_use]
    pub fn behind_collections(&self) -> Duration {
        self.get(Cause::BehindCollectionRead)
            + self.get(Cause::BehindCollectionProgram)
            + self.get(Cause::BehindCollectionErase)
    }

    /// The part that went to waiting for other requests of the host.
    #[inline]
    #[must_use]
    pub fn behind_host(&self) -> Duration {
        self.get(Cause::BehindHostReads) + self.get(Cause::BehindHostWrites)
    }

    /// All parts in the order of [`Cause::ALL`].
    #[must_use]
    pub fn parts(&self) -> &[Duration; Cause::COUNT] {
        &self.parts
    }

    /// The latency: the sum of the parts.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.parts.iter().copied().sum()
    }

    /// `self` followed by `next`.
    #[inline]
    #[must_use]
    pub fn then(mut self, next: &Self) -> Self {
        for (part, more) in self.parts.iter_mut().zip(&next.parts) {
            *part += *more;
        }
        self
    }

    /// The same latency, with the read's own work (sensing and transfer) counted as `cause`.
    ///
    /// A read for a reconstruction does not read the host's page: its own work is the cost of the
    /// reconstruction, while its waits keep their causes.
    #[must_use]
    pub fn with_service_as(mut self, cause: Cause) -> Self {
        let service = self.get(Cause::NandRead) + self.get(Cause::Transfer);
        self.parts[Cause::NandRead as usize] = Duration::ZERO;
        self.parts[Cause::Transfer as usize] = Duration::ZERO;
        self.add(cause, service);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relabelling_keeps_the_sum() {
        let mut delays = Delays::ZERO;
        for (i, cause) in Cause::ALL.into_iter().enumerate() {
            delays.add(cause, Duration::from_nanos(1 << i));
        }
        let moved = delays.with_service_as(Cause::Rebuild);
        assert_eq!(moved.total(), delays.total());
        assert_eq!(moved.get(Cause::NandRead), Duration::ZERO);
    }
}
