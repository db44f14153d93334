//! When the next look ahead is due.

use units::Rng;

/// Most looks ahead from one start to the next, but for those after a drive was given up.
const LOOKS: u32 = 40;
/// The same when the history has had [`MANY`] looks: long ones on large drives would spend minutes
/// on them.
const FEW: u32 = 4;
const MANY: u64 = 4_000;
/// The longest way to the next look is two to this power of commands and answers.
const FAR: u64 = 10;
/// Most commands and answers to a look that comes soon.
const SOON: u64 = 12;
/// Looks in a row after a drive was given up.
const CLOSE: u32 = 6;
/// When the next look is due.
#[derive(Debug)]
pub(super) struct Looks {
    rng: Rng,
    left: u32,
    /// Commands and answers until the next.
    countdown: u64,
    /// Looks that come soon after each other.
    close: u32,
}

impl Looks {
    /// `before`: looks of the history so far.
    pub(super) fn new(mut rng: Rng, before: u64) -> Self {
        let countdown = rng.below(1 << FAR);
        let left = if before < MANY { LOOKS } else { FEW };
        Self { rng, left, countdown, close: 0 }
    }

    /// A command begins or ends. Whether a look is due.
    pub(super) fn tick(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        if self.countdown > 0 {
            self.countdown -= 1;
            return false;
        }
        self.left -= 1;
        if self.close > 0 {
            self.close -= 1;
            self.countdown = self.rng.below(SOON);
        } else {
            let far = self.rng.below(FAR + 1);
            self.countdown = self.rng.below(1 << far);
        }
        true
    }

    /// A drive was given up: until that is recorded, each command is a moment that may not be the
    /// last.
    pub(super) fn crowd(&mut self) {
        self.close = CLOSE;
        self.left = self.left.max(CLOSE + 1);
        self.hasten();
    }

    /// What is drawn for a look.
    pub(super) fn draw(&mut self) -> Rng {
        Rng::new(self.rng.next_u64())
    }

    /// Something has happened after which a look is worth more: it comes within a few commands.
    pub(super) fn hasten(&mut self) {
        self.countdown = self.countdown.min(self.rng.below(SOON));
    }
}
