//! The owner of a drive on the network: one server at a time, even if the drive itself locks no
//! server out.
//!
//! A block of the head ([`OWNER_AT`]) names the server that owns the drive. The owner rewrites it
//! periodically with a higher *heartbeat*; a server that sees it move leaves the drive alone. A
//! [`Watch`] decides whether the block moves, a [`Lease`] takes a drive and keeps it. Neither has a
//! clock or does I/O; each is for one drive.
//!
//! # Two kinds of drives
//!
//! A drive with reservations is [`Guard::Fenced`]: a server takes it by a reservation, and the
//! drive refuses every command of the former owner. The block only shows if that owner lives. All
//! other drives are [`Guard::Bare`]: only the block and time protect them.
//!
//! # Why two servers never own a bare drive at once
//!
//! The block of a server has its terms. `L` ([`Terms::lease`]) is the time for which it owns the
//! drive, from the start of the last completed write of its block. `D` ([`Terms::in_flight`]) is
//! the time after `L` in which a command of it may still be carried out. After `L` the server sends
//! nothing and answers no client, and a write that ends later does not make it the owner again. A
//! little later it closes connections over which a change has no answer yet. `D` holds because the
//! drive ends a controller whose connection is closed, or that sends no Keep Alive for the Keep
//! Alive Timeout, with all of its commands; a process that is stopped sends none.
//!
//! A newcomer writes a *bid*, waits `L + D` of the former owner and a sixteenth more, and owns the
//! drive if the block is still its bid. Let the bid of `Y` be carried out at `e`, when `X` owns the
//! drive. `X` reads back only its own bid, so `X` became the owner before `e`. A heartbeat of `X`
//! that is carried out after `e` and before `Y` reads makes `Y` give up. So if `Y` goes on, the
//! last heartbeat of `X` began before `e`, and `X` sends nothing after `e + L`. No command of it is
//! carried out after `e + L + D`, and only then `Y` reads. The sixteenth allows for two clocks of
//! which one is 6 % faster.
//!
//! A block that was released, or never written, has no owner that could still write. Then a bid
//! only has to outlast bids of other servers that found the same block. It is confirmed at most
//! [`Terms::gap`] (`L / 8`) after the start of the read that found no owner, and read again
//! [`Terms::settling`] (`L / 4`) later. A rival whose bid replaces it after that read would have to
//! be slower than its own gap, and such a bid waits as one against an owner does.
//!
//! An owner whose `L` has run out (its process was stopped, its network was down) reads the block.
//! If the block is still its own, no server has taken the drive, and it bids as for a drive without
//! an owner. Otherwise the drive is lost, for good.
//!
//! A newcomer that gives up leaves its bid, because the block may be another server's by then. So
//! does an owner whose `L` has run out.
//!
//! An owner overwrites a bid while it owns the drive: the bidder learns that the owner lives. Only
//! a bid that *demands* the drive, by order of the administrator, makes the owner stop.
//!
//! # Why a stalled owner of a fenced drive answers no client
//!
//! The drive refuses its commands, so it changes nothing and reads nothing. But it could still
//! answer from memory. A newcomer waits `L` and a sixteenth, from the end of a read to the start of
//! another that finds the same block, before it preempts. The last heartbeat of the owner began
//! before that, and the owner stops answering `L` after its start. The next heartbeat meets the
//! conflict. A heartbeat that is carried out between that last read and the preemption gives the
//! owner another `L`. So the newcomer reads the block once more, and waits that long again if it
//! has moved. A newcomer that demands the drive preempts at once, and always waits after that.

mod block;
mod lease;
#[cfg(test)]
mod tests;
mod watch;

pub use block::{Found, OWNER_AT, OWNER_NAME_BYTES, OwnerBlock, OwnerName, OwnerState, Process};
pub use lease::{Lease, LeaseIo, Standing};
pub use watch::{Verdict, Watch};

use units::Duration;

/// Protection of a drive against its former owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    /// The drive refuses commands: it has reservations.
    Fenced,
    /// Time alone protects it.
    Bare,
}

/// Times of a server's ownership of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// `L`: time of ownership after the start of the last completed write of its block.
    pub lease: Duration,
    /// `D`: time after `L` in which a command of the server may still be carried out.
    pub in_flight: Duration,
}

/// Drift allowance for differing clocks: a time is extended by one part in `DRIFT_PARTS`.
const DRIFT_PARTS: u64 = 16;

impl Terms {
    /// Longest time that a block may contain.
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

    /// Longest time of a bid for a drive without owner, from the start of the read that found none.
    #[must_use]
    pub fn gap(&self) -> Duration {
        self.lease / 8
    }

    /// Time from the end of such a bid to the read that confirms it.
    #[must_use]
    pub fn settling(&self) -> Duration {
        self.lease / 4
    }

    /// Time without a change of the block after which its server counts as dead.
    #[must_use]
    pub fn patience(&self, guard: Guard) -> Duration {
        match guard {
            Guard::Fenced => longer(self.lease),
            // The following bid waits for the rest of the time.
            Guard::Bare => self.lease / 2,
        }
    }

    /// Time for which a bid against an owner with these terms has to stand.
    #[must_use]
    pub fn outlasting(&self) -> Duration {
        longer(self.lease + self.in_flight)
    }

    /// Terms with the longer of both times each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { lease: self.lease.max(other.lease), in_flight: self.in_flight.max(other.in_flight) }
    }
}

fn longer(time: Duration) -> Duration {
    time + time / DRIFT_PARTS
}
