//! Room of a closed loop: how many more requests may be under way.

use super::arrivals::Arrival;
use super::words::IoDepth;
use crate::Op;

/// Requests that may begin now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// Any number: an open loop.
    Unlimited,
    /// Requests of either direction.
    Shared(u64),
    /// Reads and writes apart: one host reads and another one writes.
    Apart {
        /// Reads that may begin.
        reads: u64,
        /// Writes that may begin.
        writes: u64,
    },
}

impl Room {
    /// Room of a loop without requests under way.
    #[must_use]
    pub fn of(arrival: Arrival) -> Self {
        match arrival {
            Arrival::Open => Self::Unlimited,
            Arrival::Closed { iodepth: IoDepth::Shared(depth), .. } => {
                Self::Shared(u64::from(depth))
            }
            Arrival::Closed { iodepth: IoDepth::Apart { reads, writes }, .. } => {
                Self::Apart { reads: u64::from(reads), writes: u64::from(writes) }
            }
        }
    }

    /// Whether requests wait for each other: true in a closed loop.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        !matches!(self, Self::Unlimited)
    }

    /// Whether no request may begin.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Shared(0) | Self::Apart { reads: 0, writes: 0 })
    }

    /// Direction of the next request, which was drawn as `drawn`. Hosts with fixed directions do
    /// not draw: a host with room sends, and the reading host goes first if both have room.
    #[must_use]
    pub const fn direction(&self, drawn: Op) -> Op {
        match self {
            Self::Unlimited | Self::Shared(_) => drawn,
            Self::Apart { reads: 0, .. } => Op::Write,
            Self::Apart { .. } => Op::Read,
        }
    }

    /// Takes room for a request that begins in this direction; there must be some.
    pub fn take(&mut self, op: Op) {
        if let Some(room) = self.room_of(op) {
            *room -= 1;
        }
    }

    /// Gives back the room of a request that is done.
    pub fn give_back(&mut self, op: Op) {
        if let Some(room) = self.room_of(op) {
            *room += 1;
        }
    }

    fn room_of(&mut self, op: Op) -> Option<&mut u64> {
        match (self, op) {
            (Self::Unlimited, _) => None,
            (Self::Shared(room), _)
            | (Self::Apart { reads: room, .. }, Op::Read)
            | (Self::Apart { writes: room, .. }, Op::Write) => Some(room),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_has_its_own_depth() {
        let iodepth = IoDepth::Apart { reads: 2, writes: 1 };
        let mut room = Room::of(Arrival::Closed { iodepth, runtime: None });
        let mut begun = Vec::new();
        while !room.is_full() {
            let op = room.direction(Op::Write);
            room.take(op);
            begun.push(op);
        }
        assert_eq!(begun, [Op::Read, Op::Read, Op::Write]);
        // The direction of the request that ended begins the next one, whatever was drawn.
        for op in [Op::Write, Op::Read] {
            room.give_back(op);
            assert_eq!((room.is_full(), room.direction(Op::Read)), (false, op));
            assert_eq!(room.direction(Op::Write), op);
            room.take(op);
        }
    }

    #[test]
    fn a_shared_depth_leaves_directions_as_they_were_drawn() {
        let mut room = Room::of(Arrival::Closed { iodepth: 1.into(), runtime: None });
        for op in [Op::Read, Op::Write] {
            assert_eq!(room.direction(op), op);
            room.take(op);
            assert!(room.is_full());
            room.give_back(op);
        }
        let mut open = Room::of(Arrival::Open);
        open.take(Op::Read);
        assert_eq!((open.is_full(), open.direction(Op::Write)), (false, Op::Write));
    }
}
