//! The owner of a drive on the network: one server at a time, also where the drive itself keeps
//! nobody out.
//!
//! A block of the head ([`OWNER_AT`]) names the server that owns the drive. The owner writes it
//! again and again with a higher *heartbeat*; another server that finds it moving leaves the drive
//! alone. A [`Watch`] decides whether the block moves, a [`Lease`] takes a drive and keeps it.
//! Neither has a clock or does I/O; both are of one drive.
//!
//! # Two kinds of drives
//!
//! A drive with reservations is [`Guard::Fenced`]: a server takes it by reserving it, the drive
//! itself refuses every command of the one before, and the block only shows whether that one lives.
//! All other drives are [`Guard::Bare`]: the block is all there is, and time decides.
//!
//! # Why two servers never own a bare drive at once
//!
//! Terms of a server, in its block: `L`, how long it owns the drive after the start of the last
//! write of its block that is done ([`Terms::lease`]); `D`, how long after `L` a command of it may
//! still be carried out ([`Terms::in_flight`]). After `L` it sends nothing and answers no client,
//! and does not own the drive again by a write that ends later. A little later it closes
//! connections over which a change has no answer yet. `D` holds because the drive ends a controller
//! whose connection is closed, or that sends no Keep Alive for the Keep Alive Timeout, with all of
//! its commands; a process that is stopped sends none.
//!
//! A newcomer writes a *bid*, waits `L + D` of the former owner and a sixteenth more, and owns the
//! drive if the block is still its bid. Let the bid of `Y` be carried out at `e`, when `X` owns the
//! drive. `X` reads back only its own bid, so `X` became the owner before `e`. A heartbeat of `X`
//! that is carried out after `e` and before `Y` reads makes `Y` give up. So if `Y` goes on, the
//! last heartbeat of `X` began before `e`, and `X` sends nothing after `e + L`. Nothing of it is
//! carried out after `e + L + D`, and only then `Y` reads. The sixteenth is for two clocks of which
//! one is 6 % faster.
//!
//! A block that was released, or never written, has no owner that could still write. Then a bid
//! needs only outlast the bids of others that found the same. It is confirmed at most
//! [`Terms::gap`] (`L / 8`) after the start of the read that found no owner, and read again
//! [`Terms::settling`] (`L / 4`) later. A rival whose bid replaces it after that read would have to
//! be slower than its own gap, and such a bid waits as one against an owner does.
//!
//! An owner whose `L` has run out (its process was stopped, its network was gone) looks at the
//! block. If the block is still its own, nobody has taken the drive, and it bids as for a drive
//! without an owner. Otherwise the drive is lost, for good.
//!
//! A newcomer that gives up leaves its bid, because the block may be another server's by then; so
//! does an owner whose `L` has run out.
//!
//! An owner overwrites a bid while it owns the drive: a server that asks learns that the owner
//! lives. Only a bid that *demands* the drive, by order of the administrator, makes the owner stop.
//!
//! # Why a stalled owner of a fenced drive answers no client
//!
//! The drive refuses its commands, so it changes nothing and reads nothing. What it could still do
//! is to answer from memory. A newcomer waits `L` and a sixteenth, from the end of a read to the
//! start of another that finds the same block, before it preempts. The owner ceases to answer `L`
//! after the start of its last heartbeat, which was before that. The next heartbeat meets the
//! conflict. A heartbeat that is carried out between that last read and the preemption gives the
//! owner another `L`: the newcomer reads the block once more, and waits as long if it has moved. A
//! newcomer that demands the drive preempts at once, and always waits after that.

mod block;
mod lease;
#[cfg(test)]
mod tests;
mod watch;

pub use block::{Found, OWNER_AT, OWNER_NAME_BYTES, OwnerBlock, OwnerName, OwnerState, Process};
pub use lease::{Lease, LeaseIo, Standing};
pub use watch::{Verdict, Watch};

use units::Duration;

/// What keeps a former owner from the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    /// The drive: it has reservations.
    Fenced,
    /// Time alone.
    Bare,
}

/// For how long a server owns a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// `L`: for how long after the start of the last write of its block that is done.
    pub lease: Duration,
    /// `D`: how long after that a command of the server may still be carried out.
    pub in_flight: Duration,
}

/// Parts of a time, one of which is added to it for clocks that differ.
const DRIFT_PARTS: u64 = 16;

impl Terms {
    /// Shortest and longest time that a block may say.
    pub const LONGEST: Duration = Duration::from_secs(2 * 3600);

    /// Time between two writes of the block by the owner.
    #[must_use]
    pub fn heartbeat(&self) -> Duration {
        self.lease / 4
    }

    /// Time between two reads of the block by a newcomer.
    #[must_use]
    pub fn look(&self) -> Duration {
        self.lease / 16
    }

    /// How long a bid for a drive without owner may take, from the start of the read that found
    /// none.
    #[must_use]
    pub fn gap(&self) -> Duration {
        self.lease / 8
    }

    /// Time from such a bid to the read that confirms it.
    #[must_use]
    pub fn settling(&self) -> Duration {
        self.lease / 4
    }

    /// Time without a change of the block after which its server counts as gone.
    #[must_use]
    pub fn patience(&self, guard: Guard) -> Duration {
        match guard {
            Guard::Fenced => longer(self.lease),
            // The bid that follows asks the rest of the time.
            Guard::Bare => self.lease / 2,
        }
    }

    /// How long a bid stands against an owner with these terms.
    #[must_use]
    pub fn outlasting(&self) -> Duration {
        longer(self.lease + self.in_flight)
    }

    /// The longer of both times.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { lease: self.lease.max(other.lease), in_flight: self.in_flight.max(other.in_flight) }
    }
}

fn longer(time: Duration) -> Duration {
    time + time / DRIFT_PARTS
}
