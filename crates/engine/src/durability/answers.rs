//! Which clients may be answered.
//!
//! A flush waits until the journal has all that was answered before it, or a round of syncs covers
//! that. Then it is ready, as the end of a write is at once. What is ready goes out while no loss
//! of a drive is unrecorded.

use super::output::IoId;
use crate::token::Token;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Flushes, each with the first change that it need not wait for.
    flushes: VecDeque<(IoId, Token)>,
    /// Answers that wait for nothing but the record of a loss.
    ready: VecDeque<Token>,
}

impl Answers {
    /// A write has ended whose client did not ask for stable storage.
    pub(super) fn add(&mut self, answer: Token) {
        self.ready.push_back(answer);
    }

    /// A flush is asked for. It covers the cached changes before `before`.
    pub(super) fn ask_flush(&mut self, before: IoId, answer: Token) {
        self.flushes.push_back((before, answer));
    }

    /// Takes the flushes whose cached changes have all ended or are stable; `first_cached` is the
    /// oldest that is neither.
    pub(super) fn take_covered(&mut self, first_cached: Option<IoId>) -> Vec<Token> {
        let mut covered = Vec::new();
        while let Some(&(before, answer)) = self.flushes.front()
            && first_cached.is_none_or(|cached| cached >= before)
        {
            self.flushes.pop_front();
            covered.push(answer);
        }
        covered
    }

    /// What these flushes cover is on stable storage.
    pub(super) fn flushed(&mut self, flushes: Vec<Token>) {
        self.ready.extend(flushes);
    }

    /// The next answer, as long as no loss is unrecorded.
    pub(super) fn next(&mut self) -> Option<Token> {
        self.ready.pop_front()
    }

    /// Whether nothing is before an answer that is ready.
    pub(super) fn has_none_ready(&self) -> bool {
        self.ready.is_empty()
    }

    /// Whether no client waits, but for flushes that a round of syncs has taken.
    pub(super) fn is_empty(&self) -> bool {
        self.flushes.is_empty() && self.ready.is_empty()
    }

    /// Takes all that are ready.
    pub(super) fn take_ready(&mut self) -> Vec<Token> {
        self.ready.drain(..).collect()
    }

    /// Takes all flushes, covered or not.
    pub(super) fn take_flushes(&mut self) -> Vec<Token> {
        self.flushes.drain(..).map(|(_, answer)| answer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_waits_for_the_changes_before_it() {
        let mut answers = Answers::default();
        answers.ask_flush(IoId(5), Token(1));
        assert!(!answers.is_empty() && answers.has_none_ready());
        assert!(answers.take_covered(Some(IoId(4))).is_empty());
        answers.ask_flush(IoId(6), Token(2));
        assert_eq!(answers.take_covered(Some(IoId(5))), [Token(1)]);
        assert!(answers.take_covered(Some(IoId(5))).is_empty() && !answers.is_empty());
        assert_eq!(answers.take_covered(None), [Token(2)]);
        assert!(answers.is_empty());
    }

    #[test]
    fn what_is_ready_goes_out_in_its_order() {
        let mut answers = Answers::default();
        answers.add(Token(3));
        answers.flushed(alloc::vec![Token(1), Token(2)]);
        answers.ask_flush(IoId(0), Token(4));
        assert!(!answers.has_none_ready());
        assert_eq!(answers.next(), Some(Token(3)));
        assert_eq!(answers.take_ready(), [Token(1), Token(2)]);
        assert_eq!((answers.next(), answers.is_empty()), (None, false));
        assert_eq!(answers.take_flushes(), [Token(4)]);
        assert!(answers.is_empty());
    }
}
