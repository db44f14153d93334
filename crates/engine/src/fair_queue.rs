//! Requests that wait for their turn, in an order in which no client delays another.
//!
//! Clients take turns by bytes (deficit round robin), and the requests of a client take turns among
//! themselves. A client without waiting requests comes before the others, as new flows do in RFC
//! 8290, 4.2. So a client with few requests waits for at most one part of another client.

use alloc::collections::{BTreeMap, VecDeque};

/// The driver's name for a client that shares turns with others: one connection, for example.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Origin(pub u32);

/// Bytes that a client may begin before the next client's turn.
const QUANTUM_BYTES: i64 = 128 << 10;

/// Waiting requests of a client.
#[derive(Debug)]
struct Client<T> {
    waiting: VecDeque<T>,
    /// Bytes that the client may still begin in this round; negative after a larger part.
    credit_bytes: i64,
}

/// Requests of clients that take turns.
#[derive(Debug)]
pub struct FairQueue<T> {
    /// The clients in either list.
    clients: BTreeMap<Origin, Client<T>>,
    /// Clients that had no waiting requests when their first request came.
    new: VecDeque<Origin>,
    old: VecDeque<Origin>,
    requests: usize,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        let (new, old) = (VecDeque::new(), VecDeque::new());
        Self { clients: BTreeMap::new(), new, old, requests: 0 }
    }
}

impl<T> FairQueue<T> {
    /// Returns true if no request waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests == 0
    }

    /// Adds a request of `origin`, behind the client's others.
    pub fn push(&mut self, origin: Origin, request: T) {
        let client = self.clients.entry(origin).or_insert_with(|| {
            self.new.push_back(origin);
            Client { waiting: VecDeque::new(), credit_bytes: QUANTUM_BYTES }
        });
        client.waiting.push_back(request);
        self.requests += 1;
    }

    /// Returns the next request. [Charge](FairQueue::charge) its client for each part that is
    /// begun.
    pub fn pop(&mut self) -> Option<T> {
        loop {
            let is_new = !self.new.is_empty();
            let origin = *self.new.front().or_else(|| self.old.front())?;
            let Some(client) = self.clients.get_mut(&origin) else {
                unreachable!("{origin:?} is listed")
            };
            if client.credit_bytes > 0
                && let Some(request) = client.waiting.pop_front()
            {
                self.requests -= 1;
                return Some(request);
            }
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.pop_front();
            if client.credit_bytes <= 0 {
                client.credit_bytes += QUANTUM_BYTES;
            } else if !is_new || self.old.is_empty() {
                self.clients.remove(&origin);
                continue;
            }
            // Its round is over, or it has no more requests: if one comes at once, the client is
            // not new.
            self.old.push_back(origin);
        }
    }

    /// Charges a client for a part of `bytes` that was begun.
    pub fn charge(&mut self, origin: Origin, bytes: u64) {
        if let Some(client) = self.clients.get_mut(&origin) {
            client.credit_bytes = client.credit_bytes.saturating_sub_unsigned(bytes);
        }
    }

    /// Removes all requests.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl<T: PartialEq> FairQueue<T> {
    /// Removes a request that waits no longer.
    pub fn remove(&mut self, origin: Origin, request: &T) {
        let Some(client) = self.clients.get_mut(&origin) else { return };
        let before = client.waiting.len();
        client.waiting.retain(|other| other != request);
        self.requests -= before - client.waiting.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Token;
    use alloc::vec::Vec;

    const PART_BYTES: u64 = 1 << 20;

    /// Client of a request in these tests.
    fn client_of(slot: Token) -> Origin {
        Origin(slot.0 / 1000)
    }

    fn push(queue: &mut FairQueue<Token>, client: u32, number: u32) {
        queue.push(Origin(client), Token(client * 1000 + number));
    }

    /// Returns the clients of the next `count` parts. Requests of a client in `endless` wait again
    /// at once.
    fn served(
        queue: &mut FairQueue<Token>,
        count: usize,
        endless: &[u32],
        part_bytes: u64,
    ) -> Vec<u32> {
        let mut served = Vec::new();
        while served.len() < count
            && let Some(slot) = queue.pop()
        {
            let origin = client_of(slot);
            queue.charge(origin, part_bytes);
            if endless.contains(&origin.0) {
                queue.push(origin, slot);
            }
            served.push(origin.0);
        }
        served
    }

    #[test]
    fn clients_take_turns_whatever_number_of_requests_they_have() {
        let mut queue = FairQueue::default();
        (0..100).for_each(|number| push(&mut queue, 1, number));
        push(&mut queue, 2, 0);
        push(&mut queue, 3, 0);
        let served = served(&mut queue, 30, &[1, 2, 3], PART_BYTES);
        for client in [1, 2, 3] {
            assert_eq!(served.iter().filter(|other| **other == client).count(), 10, "{served:?}");
        }
    }

    #[test]
    fn requests_of_a_client_take_turns() {
        let mut queue = FairQueue::default();
        (0..3).for_each(|number| push(&mut queue, 0, number));
        let mut order = Vec::new();
        for _ in 0..7 {
            let slot = queue.pop().unwrap();
            queue.charge(client_of(slot), PART_BYTES);
            queue.push(client_of(slot), slot);
            order.push(slot.0);
        }
        assert_eq!(order, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn a_client_that_waited_for_nothing_is_next() {
        let mut queue = FairQueue::default();
        let crowd: Vec<u32> = (0..1000).collect();
        crowd.iter().for_each(|client| push(&mut queue, *client, 0));
        assert_eq!(served(&mut queue, 2000, &crowd, PART_BYTES).len(), 2000);
        push(&mut queue, 5000, 0);
        assert_eq!(served(&mut queue, 1, &[], PART_BYTES), [5000]);
    }

    #[test]
    fn clients_that_come_and_go_starve_no_one() {
        let mut queue = FairQueue::default();
        push(&mut queue, 0, 0);
        assert_eq!(served(&mut queue, 1, &[0], PART_BYTES), [0]);
        let mut of_first = 0;
        // Two others send a new request whenever they are answered.
        for turn in 0..10_000 {
            push(&mut queue, 1 + turn % 2, 0);
            of_first += usize::from(served(&mut queue, 1, &[0], PART_BYTES) == [0]);
        }
        assert!(of_first > 1000, "{of_first}");
    }

    #[test]
    fn small_requests_are_many_where_large_ones_are_few() {
        let mut queue = FairQueue::default();
        push(&mut queue, 1, 0);
        push(&mut queue, 2, 0);
        let mut bytes = [0u64; 3];
        for _ in 0..10_000 {
            let slot = queue.pop().unwrap();
            let origin = client_of(slot);
            let part = if origin.0 == 1 { 4096 } else { PART_BYTES };
            bytes[origin.0 as usize] += part;
            queue.charge(origin, part);
            queue.push(origin, slot);
        }
        assert!(bytes[1].abs_diff(bytes[2]) <= 2 * PART_BYTES, "{bytes:?}");
    }

    #[test]
    fn what_is_removed_is_not_served() {
        let mut queue = FairQueue::default();
        push(&mut queue, 1, 1);
        push(&mut queue, 1, 2);
        queue.remove(Origin(1), &Token(1001));
        queue.remove(Origin(9), &Token(1002));
        assert_eq!(queue.pop(), Some(Token(1002)));
        assert!(queue.is_empty() && queue.pop().is_none());
        assert!(queue.clients.is_empty() && queue.new.is_empty() && queue.old.is_empty());
    }
}
