//! Powers of hosts that authenticate, in a thread of their own: each takes milliseconds, in which
//! the thread of the array would serve no I/O.
//!
//! A queue waits for one power at most. Turns go round by the source and the kind of a queue: many
//! queues of one source delay no other source, and I/O queues, which only hosts that have
//! authenticated can have, wait for no stranger's admin queue.

use super::connection::CommandName;
use crate::crowd::Source;
use nvme::target::Power;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

/// By how much the thread yields to others that want a processor, as `nice` has it.
const NICENESS: i32 = 5;

/// Powers that the thread has at a time: the one that it computes, and the next.
const AT_THREAD_MAX: usize = 2;

/// A power that is computed; `None` if the value of the host is none that it may have.
#[derive(Debug)]
pub(super) struct Computed {
    pub(super) name: CommandName,
    pub(super) value: Option<Vec<u8>>,
}

/// Those who take turns: a source, and whether it is about I/O queues.
pub(super) type Party = (Source, bool);

/// What waits, in turns by party. Generic for tests.
#[derive(Debug)]
struct Line<T> {
    parties: VecDeque<(Party, VecDeque<T>)>,
}

impl<T> Line<T> {
    const fn new() -> Self {
        Self { parties: VecDeque::new() }
    }

    /// Puts something behind all else of its party.
    fn push(&mut self, party: Party, item: T) {
        match self.parties.iter_mut().find(|(other, _)| *other == party) {
            Some((_, items)) => items.push_back(item),
            None => self.parties.push_back((party, VecDeque::from([item]))),
        }
    }

    /// The first of the party whose turn it is.
    fn pop(&mut self) -> Option<T> {
        let (party, mut items) = self.parties.pop_front()?;
        let item = items.pop_front();
        if !items.is_empty() {
            self.parties.push_back((party, items));
        }
        item
    }
}

/// The thread, and what waits for it.
#[derive(Debug)]
pub(super) struct Powers {
    line: Line<(CommandName, Power)>,
    at_thread: usize,
    /// `None` when the thread is to end.
    orders: Option<Sender<(CommandName, Power)>>,
    computed: Receiver<Computed>,
    /// An eventfd that tells of powers that are computed.
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Powers {
    /// Starts the thread.
    pub(super) fn start() -> io::Result<Self> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (orders, to_do) = mpsc::channel::<(CommandName, Power)>();
        let (done, computed) = mpsc::channel();
        let ring = Arc::clone(&bell);
        let compute = move || {
            // Only a wish: without it everything is as right, and hosts that are served feel it
            // more.
            let thread = rustix::thread::gettid();
            if let Err(error) = rustix::process::setpriority_process(Some(thread), NICENESS) {
                tracing::debug!(%error, "authentication has the same priority as I/O");
            }
            for (name, power) in to_do {
                if done.send(Computed { name, value: power.compute() }).is_err() {
                    return;
                }
                // A full counter means that the bell has rung already.
                let _ = rustix::io::write(&*ring, &1u64.to_ne_bytes());
            }
        };
        let thread = std::thread::Builder::new().name("authentication".into()).spawn(compute)?;
        let (line, at_thread) = (Line::new(), 0);
        Ok(Self { line, at_thread, orders: Some(orders), computed, bell, thread: Some(thread) })
    }

    /// Readable when powers are computed.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// A command needs a power. It stands in line for it.
    pub(super) fn order(&mut self, party: Party, name: CommandName, power: Power) {
        self.line.push(party, (name, power));
    }

    /// Gives the thread what is next in line, without commands whose connections are no more.
    pub(super) fn go_on(&mut self, mut is_wanted: impl FnMut(CommandName) -> bool) {
        while self.at_thread < AT_THREAD_MAX
            && let Some((name, power)) = self.line.pop()
        {
            if !is_wanted(name) {
                continue;
            }
            if let Some(orders) = &self.orders
                && orders.send((name, power)).is_ok()
            {
                self.at_thread += 1;
            }
        }
    }

    /// The next power that is computed.
    pub(super) fn poll_computed(&mut self) -> Option<Computed> {
        let computed = self.computed.try_recv().ok()?;
        self.at_thread -= 1;
        Some(computed)
    }

    /// The bell was heard.
    pub(super) fn acknowledge(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.bell, &mut count);
    }
}

impl Drop for Powers {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that authenticates hosts had ended before");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    #[test]
    fn turns_go_round_by_source_and_kind_of_queue() {
        let of = |last| Source::from(IpAddr::from(Ipv4Addr::new(10, 0, 0, last)));
        let mut line = Line::new();
        (0..100).for_each(|number| line.push((of(1), false), number));
        line.push((of(2), false), 200);
        line.push((of(1), true), 300);
        line.push((of(2), false), 201);
        let order: Vec<i32> = std::iter::from_fn(|| line.pop()).collect();
        assert_eq!(order[..7], [0, 200, 300, 1, 201, 2, 3]);
        assert_eq!(order.len(), 103);
    }
}
