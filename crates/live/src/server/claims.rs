//! Claims of drives on the network while an array is served: nothing is answered when they are not
//! certain.
//!
//! A server that was stopped for a while goes on where it stopped, and does not know that another
//! may have its drives. So it looks at its claims before it sends anything: those that have run out
//! have to be good again first. A server whose drives another has taken ends at once.

use super::ServerError;
use crate::certainty::Certainty;
use crate::storage::{ClaimStanding, Storage};
use array::{Layout, Level};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::time::Duration;

/// For how long is slept at most while claims are not certain.
const PAUSE_NANOSECONDS: i64 = 10_000_000;
/// The clocks of the machine may differ by so much before it counts as having slept.
const SLEEP_NANOSECONDS: i64 = 50_000_000;
/// For how long drives may take to hear that they are given up.
pub(super) const GIVE_UP_PATIENCE: Duration = Duration::from_secs(5);

/// What is known of claims.
#[derive(Debug)]
pub(super) struct Claims {
    /// Number of drives that have to be certain: one of them is among those that any other server
    /// needs.
    needed: usize,
    /// Until when answers may be sent.
    pub(super) certainty: Certainty,
    /// By how much the clock that goes on while the machine sleeps is ahead of the other.
    slept_nanoseconds: i64,
    has_lapsed: bool,
}

impl Claims {
    pub(super) fn new(layout: &Layout) -> Self {
        let needed = most_missing(layout) + 1;
        let (certainty, has_lapsed) = (Certainty::ALWAYS, false);
        Self { needed, certainty, slept_nanoseconds: slept_nanoseconds(), has_lapsed }
    }

    /// Whether clients may be answered now, as the drives stand.
    ///
    /// # Errors
    ///
    /// If another server has the drives.
    pub(super) fn permit_answers(&mut self, storage: &mut Storage) -> Result<bool, ServerError> {
        let Some(standing) = storage.claims(self.needed) else {
            self.certainty = Certainty::ALWAYS;
            return Ok(true);
        };
        let slept = slept_nanoseconds();
        let before = std::mem::replace(&mut self.slept_nanoseconds, slept);
        if slept - before > SLEEP_NANOSECONDS {
            storage.lapse_claims();
            return Ok(false);
        }
        match standing {
            ClaimStanding::Held(certainty) => {
                self.certainty = certainty;
                if std::mem::take(&mut self.has_lapsed) {
                    tracing::info!("the drives on the network are certainly this server's again");
                }
                Ok(true)
            }
            ClaimStanding::Lapsed => {
                if !std::mem::replace(&mut self.has_lapsed, true) {
                    tracing::warn!(
                        "the claim of drives on the network has run out: clients wait until it is renewed"
                    );
                }
                Ok(false)
            }
            ClaimStanding::Lost { drive, place, why } => {
                Err(ServerError::Lost { drive, place, why })
            }
        }
    }
}

/// Waits for an event of drives on the network, up to [`PAUSE_NANOSECONDS`].
pub(super) fn wait(storage: &Storage) -> io::Result<()> {
    let Some(descriptor) = storage.fd() else { return Ok(()) };
    let mut fds = [PollFd::new(&descriptor, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: PAUSE_NANOSECONDS };
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Most drives without which an array can be started.
fn most_missing(layout: &Layout) -> usize {
    match layout.level() {
        // Each of its stripes has drives of its own.
        Level::Raid10 => (layout.width() * layout.parities() / layout.stripe_width()) as usize,
        _ => layout.parities() as usize,
    }
}

fn slept_nanoseconds() -> i64 {
    let read = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec as i64 * 1_000_000_000 + time.tv_nsec as i64
    };
    read(ClockId::Boottime) - read(ClockId::Monotonic)
}
