//! Places for connections that have not shown who they are, and which of them ends when a new one
//! comes.
//!
//! A connection in such a place ends for a newcomer: of the source that has the most, the one that
//! has made no step for the longest time. One machine that opens many connections so ends its own,
//! and another machine keeps the few that it has.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// Where a connection comes from, as far as one machine cannot choose it at will.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Source {
    /// A Unix socket of this machine.
    Local,
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// The first 64 bits of an IPv6 address: the rest is the machine's own choice.
    V6(u64),
}

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => Self::V6((address.to_bits() >> 64) as u64),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("this machine"),
            Self::V4(address) => address.fmt(f),
            Self::V6(prefix) => {
                write!(f, "{}/64", std::net::Ipv6Addr::from_bits(u128::from(*prefix) << 64))
            }
        }
    }
}

/// A connection in one of the places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Member<T> {
    /// The number that its owner knows it by.
    pub(crate) number: u32,
    /// Where it comes from.
    pub(crate) source: Source,
    /// When it made its last step.
    pub(crate) since: T,
}

/// Whether there is a place for one more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room<T> {
    /// One is empty.
    Free,
    /// This member has to end first.
    Instead(Member<T>),
    /// All members are held.
    None,
}

/// A member, and its place in the order of last steps; `None` while it is held.
#[derive(Clone, Copy, Debug)]
struct Seat<T> {
    member: Member<T>,
    order: Option<u64>,
}

/// The members of one source.
#[derive(Debug, Default)]
struct OfSource {
    count: usize,
    /// Members that are not held, by the order of their last steps.
    may_end: BTreeMap<u64, u32>,
}

/// The places, and who is in them.
#[derive(Debug)]
pub(crate) struct Crowd<T> {
    places: usize,
    seats: BTreeMap<u32, Seat<T>>,
    by_source: BTreeMap<Source, OfSource>,
    /// The order of the next step.
    next: u64,
}

impl<T: Copy> Crowd<T> {
    /// `places` that are empty, at least one.
    pub(crate) fn new(places: usize) -> Self {
        let (seats, by_source) = (BTreeMap::new(), BTreeMap::new());
        Self { places: places.max(1), seats, by_source, next: 0 }
    }

    /// Places that there are.
    pub(crate) const fn places(&self) -> usize {
        self.places
    }

    /// Whether another member may come.
    pub(crate) fn room(&self) -> Room<T> {
        if self.seats.len() < self.places {
            return Room::Free;
        }
        self.oldest_of_most().map_or(Room::None, Room::Instead)
    }

    /// The member that ends first: of the source with the most members, the one whose last step is
    /// the oldest. Of two such sources it is the one with the older step. Members that are held do
    /// not end.
    pub(crate) fn oldest_of_most(&self) -> Option<Member<T>> {
        let with_oldest = self.by_source.values().filter_map(|own| {
            let (order, number) = own.may_end.first_key_value()?;
            Some((own.count, std::cmp::Reverse(*order), *number))
        });
        let (_, _, number) = with_oldest.max()?;
        self.seats.get(&number).map(|seat| seat.member)
    }

    /// A connection comes.
    pub(crate) fn join(&mut self, member: Member<T>) {
        let order = self.take_order();
        self.seats.insert(member.number, Seat { member, order: Some(order) });
        let own = self.by_source.entry(member.source).or_default();
        own.count += 1;
        own.may_end.insert(order, member.number);
    }

    /// A connection goes, if it is here.
    pub(crate) fn leave(&mut self, number: u32) {
        let Some(Seat { member, order }) = self.seats.remove(&number) else { return };
        let Some(own) = self.by_source.get_mut(&member.source) else { return };
        own.count -= 1;
        order.and_then(|order| own.may_end.remove(&order));
        if own.count == 0 {
            self.by_source.remove(&member.source);
        }
    }

    /// A member made a step just now, and is not held.
    pub(crate) fn step(&mut self, now: T, number: u32) {
        self.set_order(number, Some);
        if let Some(seat) = self.seats.get_mut(&number) {
            seat.member.since = now;
        }
    }

    /// A member waits for something that is not its own business, and does not end until it makes
    /// its next step.
    pub(crate) fn hold(&mut self, number: u32) {
        self.set_order(number, |_| None);
    }

    fn set_order(&mut self, number: u32, choose: impl FnOnce(u64) -> Option<u64>) {
        let next = self.take_order();
        let Some(seat) = self.seats.get_mut(&number) else { return };
        let before = std::mem::replace(&mut seat.order, choose(next));
        let Some(own) = self.by_source.get_mut(&seat.member.source) else { return };
        before.and_then(|order| own.may_end.remove(&order));
        own.may_end.extend(seat.order.map(|order| (order, number)));
    }

    const fn take_order(&mut self) -> u64 {
        let order = self.next;
        self.next += 1;
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(number: u32, address: &str) -> Member<u32> {
        let source = address.parse::<IpAddr>().unwrap().into();
        Member { number, source, since: number }
    }

    #[test]
    fn the_oldest_of_the_source_with_the_most_goes() {
        let mut crowd = Crowd::new(4);
        for (number, address) in
            [(1, "10.0.0.1"), (2, "10.0.0.2"), (3, "10.0.0.2"), (4, "10.0.0.3")]
        {
            assert_eq!(crowd.room(), Room::Free, "a place is empty");
            crowd.join(member(number, address));
        }
        assert_eq!(crowd.room(), Room::Instead(member(2, "10.0.0.2")));
        crowd.leave(2);
        crowd.leave(2);
        assert_eq!((crowd.seats.len(), crowd.room()), (3, Room::Free));
        crowd.join(member(5, "10.0.0.4"));
        assert_eq!(crowd.room(), Room::Instead(member(1, "10.0.0.1")), "all have one");
    }

    #[test]
    fn a_step_makes_a_member_young_and_a_held_one_never_ends() {
        let mut crowd = Crowd::new(3);
        (1..=3).for_each(|number| crowd.join(member(number, "10.0.0.1")));
        crowd.step(7, 1);
        assert_eq!(crowd.room(), Room::Instead(member(2, "10.0.0.1")));
        crowd.hold(2);
        crowd.hold(3);
        let young = Member { since: 7, ..member(1, "10.0.0.1") };
        assert_eq!(crowd.room(), Room::Instead(young));
        crowd.hold(1);
        assert_eq!(crowd.room(), Room::None);
        crowd.step(9, 3);
        assert_eq!(crowd.room(), Room::Instead(Member { since: 9, ..member(3, "10.0.0.1") }));
        (1..=3).for_each(|number| crowd.leave(number));
        assert!(crowd.by_source.is_empty());
    }

    #[test]
    fn a_machine_with_many_addresses_is_one_source() {
        let of = |text: &str| Source::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_eq!(of("2001:db8::1").to_string(), "2001:db8::/64");
    }
}
