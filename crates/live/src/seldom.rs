//! What anyone can cause is logged seldom, so that no stranger fills the log.

use std::ops::Add;

/// When something was logged last.
#[derive(Debug)]
pub(crate) struct Seldom<T> {
    next: Option<T>,
}

impl<T> Default for Seldom<T> {
    fn default() -> Self {
        Self { next: None }
    }
}

impl<T: Copy + PartialOrd> Seldom<T> {
    /// Whether it may be logged now. If so, it may not for the `pause` that follows.
    pub(crate) fn may<D>(&mut self, now: T, pause: D) -> bool
    where
        T: Add<D, Output = T>,
    {
        let may = self.next.is_none_or(|next| now >= next);
        if may {
            self.next = Some(now + pause);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Duration, Instant};

    #[test]
    fn it_is_said_at_once_and_then_after_each_pause() {
        let mut seldom = Seldom::default();
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let pause = Duration::from_secs(10);
        let said: Vec<u64> = (3..30).filter(|&second| seldom.may(at(second), pause)).collect();
        assert_eq!(said, [3, 13, 23]);
    }
}
