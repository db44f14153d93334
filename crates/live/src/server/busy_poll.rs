//! Adaptive busy polling: after a reply the thread polls for the next request before it sleeps.
//!
//! A client with one request out sends the next as soon as it has the answer, some ten microseconds
//! later, and going to sleep and waking up takes longer than that. So the thread polls for new
//! requests before it sleeps: always while enough recent polls have found one, and otherwise once
//! in a while to check again.

use units::{Duration, Instant};

/// How long it polls.
const LENGTH: Duration = Duration::from_micros(40);
/// Of 256 polls so many must have found a request.
const WORTH_IT: u32 = 96;
/// Otherwise one in so many sleeps is preceded by a poll.
const TRY_EVERY: u32 = 32;

/// Whether to poll before the next sleep, by the results of recent polls.
#[derive(Debug)]
pub(super) struct BusyPoll {
    /// Polls that found a request, of 256; newer ones count more.
    found: u32,
    sleeps: u32,
    until: Option<Instant>,
}

impl BusyPoll {
    pub(super) fn new() -> Self {
        Self { found: 256, sleeps: 0, until: None }
    }

    /// Until when to look, if something was done for clients just now.
    pub(super) fn begin(&mut self, now: Instant, busy: bool) -> Option<Instant> {
        if busy {
            self.sleeps = self.sleeps.wrapping_add(1);
            let tries = self.sleeps.is_multiple_of(TRY_EVERY);
            self.until = (self.found >= WORTH_IT || tries).then(|| now + LENGTH);
        } else {
            self.until = None;
        }
        self.until
    }

    /// A look is over.
    pub(super) fn end(&mut self, found: bool) {
        if self.until.is_some() {
            self.found = self.found - self.found / 16 + if found { 16 } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stops_when_it_is_in_vain_and_comes_back_when_it_is_not() {
        let mut busy_poll = BusyPoll::new();
        let polls = |busy_poll: &mut BusyPoll, found: bool| {
            (0..1000)
                .filter(|_| {
                    let looked = busy_poll.begin(Instant::ZERO, true).is_some();
                    busy_poll.end(found);
                    looked
                })
                .count()
        };
        assert!(polls(&mut busy_poll, false) < 70, "hardly any");
        assert!(polls(&mut busy_poll, true) > 600, "nearly all, after some tries");
        assert_eq!(busy_poll.begin(Instant::ZERO, false), None, "nothing was done");
    }
}
