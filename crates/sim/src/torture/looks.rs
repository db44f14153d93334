//! Schedule of the power cuts on copies.

use units::Rng;

/// Most checks from one start to the next, not counting those after a drive failed.
const LOOKS: u32 = 40;
/// Most checks from one start to the next once the history had [`MANY`]: on large drives, long
/// histories would spend minutes on them.
const FEW: u32 = 4;
const MANY: u64 = 4_000;
/// Base 2 logarithm of the longest distance to the next check, in commands and answers.
const FAR: u64 = 10;
/// Most commands and answers until a check that was brought forward.
const SOON: u64 = 12;
/// Number of close checks after a drive failed.
const CLOSE: u32 = 6;
/// Schedule of the checks.
#[derive(Debug)]
pub(super) struct Looks {
    rng: Rng,
    left: u32,
    /// Commands and answers until the next check.
    countdown: u64,
    /// Number of close checks that are left.
    close: u32,
}

impl Looks {
    /// Creates a schedule; `before` is the number of checks of the history so far.
    pub(super) fn new(mut rng: Rng, before: u64) -> Self {
        let countdown = rng.below(1 << FAR);
        let left = if before < MANY { LOOKS } else { FEW };
        Self { rng, left, countdown, close: 0 }
    }

    /// Counts the begin or end of a command. Returns true if a check is due.
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

    /// Brings several checks forward after a drive failed: until that is recorded, every command is
    /// a risk.
    pub(super) fn crowd(&mut self) {
        self.close = CLOSE;
        self.left = self.left.max(CLOSE + 1);
        self.hasten();
    }

    /// Draws the random stream of a check.
    pub(super) fn draw(&mut self) -> Rng {
        Rng::new(self.rng.next_u64())
    }

    /// Brings the next check forward to within a few commands, after an event that makes it
    /// worthwhile.
    pub(super) fn hasten(&mut self) {
        self.countdown = self.countdown.min(self.rng.below(SOON));
    }
}
