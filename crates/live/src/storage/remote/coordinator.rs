//! An array under PLM-light that this host coordinates, over NVMe/TCP (PLM-light §III-A).
//!
//! The connection is that of a drive on the network ([`Session`]): a controller with an admin queue
//! and the one I/O queue that every controller has, over which nothing is sent.

use super::address::RemoteAddress;
use super::claim::DriveClaim;
use super::drive::{RemoteError, open_any};
use super::jobs::Jobs;
use super::options::RemoteOptions;
use super::session::{Session, SessionWork, Told, Wakers};
use super::windows::Windows;
use crate::clock::Clock;
use nvme::WindowCounts;
use nvme::initiator::{Coordinating, Heard};
use std::io;
use std::net::SocketAddr;
use units::{Duration, Instant};

/// An array, connected.
#[derive(Debug)]
pub struct CoordinatedArray {
    address: RemoteAddress,
    clock: Clock,
    wakers: Wakers,
    /// `None` once the coordinator was dropped.
    session: Option<Session>,
    work: SessionWork,
    /// Messages of the session that the caller has not taken.
    told: Vec<Told>,
}

impl CoordinatedArray {
    /// Connects to an array. The first that [`Self::hear`] gives is the page with its traffic, or
    /// that it has none.
    ///
    /// # Errors
    ///
    /// If its host has no address, or it cannot be connected.
    pub fn open(address: &RemoteAddress, options: &RemoteOptions) -> Result<Self, RemoteError> {
        open_any(address, |socket| Self::open_at(socket, address, options))
    }

    fn open_at(
        socket: SocketAddr,
        address: &RemoteAddress,
        options: &RemoteOptions,
    ) -> io::Result<Result<Self, (String, bool)>> {
        let clock = Clock::new();
        let now = clock.now();
        let (subsystem, namespace) = (address.subsystem, address.namespace);
        let session = Session::new(now, socket, subsystem, namespace, options);
        let mut array = Self {
            address: address.clone(),
            clock,
            wakers: Wakers::new()?,
            session: Some(session),
            work: SessionWork {
                jobs: Jobs::new(),
                windows: Windows::new(),
                claim: DriveClaim::new(None, None, options.keep_alive),
                coordinating: Some(Coordinating::new(now)),
            },
            told: Vec::new(),
        };
        Ok(array.await_ready()?.map(|()| array))
    }

    /// Waits until it can be used, or says why it cannot, and whether another try may help.
    fn await_ready(&mut self) -> io::Result<Result<(), (String, bool)>> {
        self.turn(&[]);
        loop {
            match self.told.first() {
                Some(Told::Ready(_)) => {
                    self.told.remove(0);
                    return Ok(Ok(()));
                }
                Some(Told::Over { why, may_pass }) => return Ok(Err((why.clone(), *may_pass))),
                // Nothing is heard before it is ready.
                Some(Told::Heard(_)) => drop(self.told.remove(0)),
                None => self.wait(Duration::MAX)?,
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub const fn address(&self) -> &RemoteAddress {
        &self.address
    }

    /// Counts are to be set, of the life of the policy that has this generation. What became of
    /// them is heard later.
    pub fn set(&mut self, generation: u32, counts: WindowCounts) {
        if let Some(coordinating) = &mut self.work.coordinating {
            coordinating.set(generation, counts);
        }
        self.turn(&[]);
    }

    /// Waits at most so long for the array to say something. After an error there is nothing more.
    ///
    /// # Errors
    ///
    /// If the connection is lost.
    pub fn hear(&mut self, patience: Duration) -> io::Result<Vec<Heard>> {
        self.wait(patience)?;
        let mut heard = Vec::new();
        for told in self.told.drain(..) {
            match told {
                Told::Heard(said) => heard.push(said),
                Told::Over { why, .. } => {
                    let address = &self.address;
                    let error = format!("{address}: {why}");
                    return Err(io::Error::new(io::ErrorKind::NotConnected, error));
                }
                Told::Ready(_) => {}
            }
        }
        Ok(heard)
    }

    fn wait(&mut self, patience: Duration) -> io::Result<()> {
        if !self.told.is_empty() {
            return Ok(());
        }
        let due = self.next_deadline().since(self.clock.now());
        let ready = self.wakers.wait(due.min(patience))?;
        self.turn(&ready);
        Ok(())
    }

    fn next_deadline(&self) -> Instant {
        let session = self.session.as_ref().map_or(Instant::NEVER, Session::next_deadline);
        let own =
            self.work.coordinating.as_ref().map_or(Instant::NEVER, Coordinating::next_deadline);
        // Nothing is asked before the controller is ready.
        let is_ready = self.session.as_ref().is_some_and(Session::is_ready);
        if is_ready { session.min(own) } else { session }
    }

    fn turn(&mut self, ready: &[(u64, bool, bool)]) {
        if let Some(session) = &mut self.session {
            session.turn(&self.clock, ready, &self.wakers, &mut self.work, &mut self.told);
        }
    }
}

impl Drop for CoordinatedArray {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            session.close(&mut self.work.jobs);
        }
    }
}
