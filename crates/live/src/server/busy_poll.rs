//! Staying awake for a moment after an answer, in case the next request is on its way.
//!
//! A client with one request out sends the next as soon as it has the answer, some ten microseconds
//! later, and to fall asleep and be woken takes longer than that. So the thread looks for new requests
//! a little while before it sleeps: as long as that has been worth it lately, and now and then to find
//! out whether it is again.

use units::{Duration, Instant};

/// How long it looks.
const LENGTH: Duration = Duration::from_micros(40);
/// Of 256 looks so many must have found something.
const WORTH_IT: u32 = 96;
/// Otherwise every so many sleeps are preceded by one.
const TRY_EVERY: u32 = 32;

/// Whether to stay awake, by what came of it lately.
#[derive(Debug)]
pub(super) struct BusyPoll {
    /// Looks that found something, of 256; newer ones count more.
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
        let looks = |busy_poll: &mut BusyPoll, found: bool| {
            (0..1000)
                .filter(|_| {
                    let looked = busy_poll.begin(Instant::ZERO, true).is_some();
                    busy_poll.end(found);
                    looked
                })
                .count()
        };
        assert!(looks(&mut busy_poll, false) < 70, "hardly any");
        assert!(looks(&mut busy_poll, true) > 600, "nearly all, after some tries");
        assert_eq!(busy_poll.begin(Instant::ZERO, false), None, "nothing was done");
    }
}
