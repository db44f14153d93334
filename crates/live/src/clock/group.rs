//! Descriptors that a [`Waiter`](super::Waiter) watches as one, so that however many of them are
//! ready, their owner decides how many it looks at before it looks at others.

use super::waiter::{Event, Interest};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// An epoll of its own, which is readable while one of its descriptors is ready. Descriptors that
/// are ready take turns.
pub struct Group {
    epoll: OwnedFd,
    ready: Vec<epoll::Event>,
}

impl Group {
    /// A group of which at most `at_once` descriptors are reported at a time.
    ///
    /// # Errors
    ///
    /// If the system has no file descriptor left.
    pub fn new(at_once: usize) -> std::io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, ready: Vec::with_capacity(at_once) })
    }

    /// Watches a descriptor and reports it as `token`. It may be closed without being removed.
    ///
    /// # Errors
    ///
    /// If it is watched already, or the system allows no more.
    pub fn add(
        &self,
        descriptor: impl AsFd,
        token: u64,
        interest: Interest,
    ) -> std::io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, descriptor, data, interest.flags())?)
    }

    /// Changes what a descriptor is watched for.
    ///
    /// # Errors
    ///
    /// If it is not watched.
    pub fn change(
        &self,
        descriptor: impl AsFd,
        token: u64,
        interest: Interest,
    ) -> std::io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::modify(&self.epoll, descriptor, data, interest.flags())?)
    }

    /// Watches a descriptor no longer.
    ///
    /// # Errors
    ///
    /// If it was not watched.
    pub fn remove(&self, descriptor: impl AsFd) -> std::io::Result<()> {
        Ok(epoll::delete(&self.epoll, descriptor)?)
    }

    /// The next descriptors that are ready, without waiting.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn poll(&mut self, events: &mut Vec<Event>) -> std::io::Result<()> {
        const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        events.clear();
        self.ready.clear();
        let room = rustix::buffer::spare_capacity(&mut self.ready);
        match epoll::wait(&self.epoll, room, Some(&AT_ONCE)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        events.extend(self.ready.iter().map(Event::of));
        Ok(())
    }
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Group")
    }
}

impl AsFd for Group {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, Spin, Waiter};
    use rustix::event::{EventfdFlags, eventfd};
    use std::collections::BTreeSet;
    use units::Instant;

    #[test]
    fn ready_descriptors_take_turns_and_the_waiter_hears_of_all_as_one() {
        const COUNT: u64 = 10;
        let (clock, mut events) = (Clock::new(), Vec::new());
        let mut group = Group::new(2).unwrap();
        let mut waiter = Waiter::new(Spin::Fixed(units::Duration::ZERO)).unwrap();
        waiter.add(&group, 77, Interest::READ).unwrap();
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let all: Vec<OwnedFd> = (0..COUNT).map(|_| eventfd(1, flags).unwrap()).collect();
        for (descriptor, token) in all.iter().zip(0..) {
            group.add(descriptor, token, Interest::READ).unwrap();
        }
        let mut met = BTreeSet::new();
        for _ in 0..COUNT / 2 {
            waiter.wait(&clock, Instant::ZERO, false, &mut events).unwrap();
            assert_eq!(events.iter().map(|event| event.token).collect::<Vec<_>>(), [77]);
            group.poll(&mut events).unwrap();
            assert_eq!(events.len(), 2);
            met.extend(events.iter().map(|event| event.token));
        }
        assert_eq!(met.len() as u64, COUNT, "none is looked at twice before all others");
        for descriptor in &all {
            rustix::io::read(descriptor, &mut [0; 8]).unwrap();
        }
        group.poll(&mut events).unwrap();
        assert!(events.is_empty());
        waiter.wait(&clock, Instant::ZERO, false, &mut events).unwrap();
        assert!(events.is_empty(), "{events:?}");
    }
}
