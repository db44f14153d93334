//! Places for connections that have not shown who they are, and which of them ends when a new one comes.
//!
//! A connection in such a place ends for a newcomer: the oldest one of the source that has the most. One machine that
//! opens many connections so ends its own, and another machine keeps the few that it has.

use std::collections::{BTreeMap, VecDeque};
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
    /// When it came.
    pub(crate) since: T,
}

/// The places, and who is in them.
#[derive(Debug)]
pub(crate) struct Crowd<T> {
    places: usize,
    /// The oldest first.
    members: VecDeque<Member<T>>,
    by_source: BTreeMap<Source, usize>,
}

impl<T: Copy> Crowd<T> {
    /// `places` that are empty, at least one.
    pub(crate) fn new(places: usize) -> Self {
        Self { places: places.max(1), members: VecDeque::new(), by_source: BTreeMap::new() }
    }

    /// How many places there are.
    pub(crate) const fn places(&self) -> usize {
        self.places
    }

    /// Connections of a source in places.
    fn count_of(&self, source: Source) -> usize {
        self.by_source.get(&source).copied().unwrap_or(0)
    }

    /// The member that has to end before another one comes; `None` while a place is empty.
    pub(crate) fn surplus(&self) -> Option<Member<T>> {
        (self.members.len() >= self.places).then(|| self.oldest_of_most()).flatten()
    }

    /// The oldest member of the source that has the most; of two such sources the one with the older member.
    fn oldest_of_most(&self) -> Option<Member<T>> {
        let most = self.by_source.values().max()?;
        self.members.iter().find(|member| self.by_source.get(&member.source) == Some(most)).copied()
    }

    /// A connection comes.
    pub(crate) fn join(&mut self, member: Member<T>) {
        self.members.push_back(member);
        *self.by_source.entry(member.source).or_default() += 1;
    }

    /// A connection goes, if it is here.
    pub(crate) fn leave(&mut self, number: u32) {
        let Some(at) = self.members.iter().position(|member| member.number == number) else {
            return;
        };
        let Some(member) = self.members.remove(at) else { return };
        let count = self.count_of(member.source);
        match count {
            0 | 1 => drop(self.by_source.remove(&member.source)),
            _ => drop(self.by_source.insert(member.source, count - 1)),
        }
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
            assert_eq!(crowd.surplus(), None, "a place is empty");
            crowd.join(member(number, address));
        }
        assert_eq!(crowd.surplus(), Some(member(2, "10.0.0.2")));
        crowd.leave(2);
        crowd.leave(2);
        assert_eq!((crowd.members.len(), crowd.surplus()), (3, None));
        crowd.join(member(5, "10.0.0.4"));
        assert_eq!(crowd.surplus(), Some(member(1, "10.0.0.1")), "all have one");
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
