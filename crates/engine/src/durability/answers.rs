//! Answers to clients that wait for stable storage or for a record.
//!
//! A flush waits until the journal has all that was answered before it, or a round of syncs covers
//! that. Then its answer is ready. The answer to a write is ready at once. Ready answers are given
//! while no loss of a drive is unrecorded.

use super::output::IoId;
use crate::token::Token;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Flushes and answers that wait.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Flushes, each with the number of the first change that it need not wait for.
    flushes: VecDeque<(IoId, Token)>,
    /// Answers that wait only for the record of a lost drive.
    ready: VecDeque<Token>,
}

impl Answers {
    /// Adds the answer to a write without forced unit access.
    pub(super) fn add(&mut self, answer: Token) {
        self.ready.push_back(answer);
    }

    /// Adds a flush. It covers the cached changes before `before`.
    pub(super) fn ask_flush(&mut self, before: IoId, answer: Token) {
        self.flushes.push_back((before, answer));
    }

    /// Takes the flushes whose cached changes have all ended or are stable; `first_cached` is the
    /// oldest change that is neither.
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

    /// Makes the answers to these flushes ready: all that they cover is on stable storage.
    pub(super) fn flushed(&mut self, flushes: Vec<Token>) {
        self.ready.extend(flushes);
    }

    /// Returns the next ready answer. Call it only while no loss is unrecorded.
    pub(super) fn next(&mut self) -> Option<Token> {
        self.ready.pop_front()
    }

    /// Returns true if no answer is ready.
    pub(super) fn has_none_ready(&self) -> bool {
        self.ready.is_empty()
    }

    /// Returns true if no answer and no flush waits here. Flushes of a running round are not here.
    pub(super) fn is_empty(&self) -> bool {
        self.flushes.is_empty() && self.ready.is_empty()
    }

    /// Takes all ready answers.
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
