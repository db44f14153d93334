//! Requests of clients that are under way in the array, and those with parts that wait for their
//! turn.

use crate::bytes::ByteRequestKind;
use crate::fair_queue::{FairQueue, Origin};
use crate::token::{ByToken, Token};
use alloc::vec::Vec;

/// Requests up to this length are short: they come before parts of long ones, and are never cut for
/// the sake of others.
const SHORT_BYTES: u64 = 128 << 10;
/// Bytes of short requests, and of long ones, that are under way in the array before the next has
/// to wait. All of them may end at once, so this bounds the time that a driver spends on their
/// completions alone.
const UNDER_WAY_BYTES_MAX: u64 = 16 << 20;

/// Limit on the work that is begun in one turn of a driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TurnBudget {
    /// Bytes; the last part may be larger than what is left.
    pub bytes: u64,
    /// Parts of requests.
    pub parts: u32,
}

impl TurnBudget {
    /// No limit.
    pub const UNLIMITED: Self = Self { bytes: u64::MAX, parts: u32::MAX };

    fn is_used_up(&self) -> bool {
        self.bytes == 0 || self.parts == 0
    }

    fn charge(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.parts = self.parts.saturating_sub(1);
    }
}

/// A request that is not yet answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) origin: Origin,
    pub(super) kind: ByteRequestKind,
    pub(super) length_bytes: u64,
    /// The answer waits for stable storage.
    pub(super) forced: bool,
}

impl Asked {
    pub(super) fn is_read(&self) -> bool {
        self.kind == ByteRequestKind::Read
    }

    fn is_long(&self) -> bool {
        self.length_bytes > SHORT_BYTES
    }
}

/// Requests of one class: short or long.
#[derive(Debug, Default)]
struct Class {
    waiting: FairQueue<Token>,
    under_way_bytes: u64,
}

impl Class {
    fn has_room(&self) -> bool {
        self.under_way_bytes < UNDER_WAY_BYTES_MAX
    }

    fn can_begin(&self) -> bool {
        !self.waiting.is_empty() && self.has_room()
    }
}

/// All requests under way.
#[derive(Debug)]
pub(super) struct Requests {
    asked: ByToken<Asked>,
    in_flight: u64,
    short: Class,
    long: Class,
    budget: TurnBudget,
    /// True if a part of a long request was begun in this turn.
    began_long: bool,
    parts_begun: u64,
}

impl Default for Requests {
    fn default() -> Self {
        Self {
            asked: ByToken::new(),
            in_flight: 0,
            short: Class::default(),
            long: Class::default(),
            budget: TurnBudget::UNLIMITED,
            began_long: false,
            parts_begun: 0,
        }
    }
}

impl Requests {
    /// Takes a request that waits for its first part.
    pub(super) fn insert(&mut self, token: Token, asked: Asked) {
        self.asked.insert(token, asked);
        self.in_flight += 1;
        self.wait(token);
    }

    pub(super) fn remove(&mut self, token: Token) -> Option<Asked> {
        let asked = self.asked.remove(token);
        self.in_flight -= u64::from(asked.is_some());
        if let Some(asked) = &asked {
            // A failed request may be waiting for another part.
            self.class_of(asked).waiting.remove(asked.origin, &token);
        }
        asked
    }

    /// Drops all requests, and returns their tokens.
    pub(super) fn take_all(&mut self) -> Vec<Token> {
        self.in_flight = 0;
        self.short.waiting.clear();
        self.long.waiting.clear();
        self.asked.take_all().map(|(token, _)| token).collect()
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Parts that were begun since the start.
    pub(super) fn parts_begun(&self) -> u64 {
        self.parts_begun
    }

    /// Begins another turn.
    pub(super) fn begin_turn(&mut self, budget: TurnBudget) {
        self.budget = budget;
        self.began_long = false;
    }

    /// Lets a request wait for its next part.
    pub(super) fn wait(&mut self, token: Token) {
        if let Some(asked) = self.asked.get(token).copied() {
            self.class_of(&asked).waiting.push(asked.origin, token);
        }
    }

    /// Returns true if any request waits for a part.
    pub(super) fn is_waiting(&self) -> bool {
        !self.short.waiting.is_empty() || !self.long.waiting.is_empty()
    }

    /// Returns true if a part could begin, if there is budget for it.
    pub(super) fn can_begin(&self) -> bool {
        self.short.can_begin() || self.long.can_begin()
    }

    /// Returns the short request whose part begins next in this turn.
    pub(super) fn pop_short(&mut self) -> Option<Token> {
        let can_begin = self.short.can_begin() && !self.budget.is_used_up();
        can_begin.then(|| self.short.waiting.pop())?
    }

    /// Returns the request whose part begins next in this turn. Short requests come first; one part
    /// of a long request per turn begins even if the budget is used up.
    pub(super) fn pop(&mut self) -> Option<Token> {
        if let Some(token) = self.pop_short() {
            return Some(token);
        }
        let may_begin = !self.began_long || !self.budget.is_used_up();
        (may_begin && self.long.can_begin()).then(|| self.long.waiting.pop())?
    }

    /// Notes that a part of a request was begun.
    pub(super) fn begun(&mut self, token: Token, bytes: u64) {
        let Some(asked) = self.asked.get(token).copied() else { return };
        self.budget.charge(bytes);
        self.began_long |= asked.is_long();
        self.parts_begun += 1;
        let class = self.class_of(&asked);
        class.under_way_bytes += bytes;
        class.waiting.charge(asked.origin, bytes);
    }

    /// Notes that a part of a request has ended.
    pub(super) fn ended(&mut self, token: Token, bytes: u64) {
        if let Some(asked) = self.asked.get(token).copied() {
            self.class_of(&asked).under_way_bytes -= bytes;
        }
    }

    fn class_of(&mut self, asked: &Asked) -> &mut Class {
        match asked.is_long() {
            true => &mut self.long,
            false => &mut self.short,
        }
    }
}
