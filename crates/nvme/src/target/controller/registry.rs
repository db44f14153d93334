//! The controllers of a subsystem, and the rules for getting one.

use super::association::Association;
use super::hosts::HostList;
use crate::target::transport::{Answer, QueueTerms};
use crate::wire::pdu::ADMIN_CAPSULE_DATA_BYTES;
use crate::wire::{
    AsyncEvent, CATTR_NO_SQ_FLOW, CNTLID_DYNAMIC, CONNECT_BYTES, CSS_NVM, Capabilities, Connect,
    ConnectData, ConnectRefusal, Connected, Nqn,
};
use alloc::collections::BTreeMap;
use units::Instant;

// Offsets of fields that a refusal names.
const QID: ConnectRefusal = ConnectRefusal::InvalidParameter { offset: 42, in_data: false };
const SQSIZE: ConnectRefusal = ConnectRefusal::InvalidParameter { offset: 44, in_data: false };
const CNTLID: ConnectRefusal = ConnectRefusal::InvalidParameter { offset: 16, in_data: true };

/// Highest controller ID that may be assigned.
const CNTLID_MAX: u16 = 0xffef;

/// Longest time to enable a controller, in units of 500 ms. It is done at once.
const TIMEOUT_500MS: u8 = 20;

/// Queue of a connection. The driver keeps it beside the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queue {
    pub(in crate::target) controller: u16,
    pub(in crate::target) number: u16,
    terms: QueueTerms,
    /// The host has to authenticate before any other command.
    authenticate: bool,
}

impl Queue {
    /// Returns the queue with a demand to authenticate. The messages come in capsules, whatever
    /// limit the other commands have.
    pub(super) fn to_authenticate(mut self) -> Self {
        self.authenticate = true;
        self.terms.capsule_bytes = self.terms.capsule_bytes.max(ADMIN_CAPSULE_DATA_BYTES);
        self
    }

    /// Its controller.
    #[must_use]
    pub const fn controller(&self) -> u16 {
        self.controller
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> u16 {
        self.number
    }

    /// Whether it is the admin queue.
    #[must_use]
    pub const fn is_admin(&self) -> bool {
        self.number == 0
    }

    /// Terms for its connection
    /// ([`Connection::start_queue`](crate::target::Connection::start_queue)).
    #[must_use]
    pub const fn terms(&self) -> QueueTerms {
        self.terms
    }

    /// Answer to its Connect.
    #[must_use]
    pub const fn answer(&self) -> Answer {
        let controller = self.controller;
        let authenticate = self.authenticate;
        let connected = Connected { controller, authenticate, secure_channel: false };
        Answer::with_result(connected.encode() as u64)
    }
}

/// Limits of a subsystem.
#[derive(Clone, Copy, Debug)]
pub(in crate::target) struct RegistryLimits {
    pub(in crate::target) controllers_max: u16,
    pub(in crate::target) io_queues_max: u16,
    pub(in crate::target) entries_max: u16,
    /// Data in a capsule of an I/O queue.
    pub(in crate::target) capsule_bytes: u32,
    /// Kind of event that its controllers report.
    pub(in crate::target) event: AsyncEvent,
}

impl RegistryLimits {
    pub(super) fn capabilities(&self) -> Capabilities {
        Capabilities {
            queue_entries_max: self.entries_max.saturating_sub(1),
            contiguous_queues: true,
            timeout_500ms: TIMEOUT_500MS,
            command_sets: CSS_NVM,
            ..Capabilities::default()
        }
    }
}

/// Controllers of a subsystem.
#[derive(Debug)]
pub(in crate::target) struct Registry {
    limits: RegistryLimits,
    controllers: BTreeMap<u16, Association>,
    /// Controller ID that was assigned last. A released ID is not used again until all others were.
    last_id: u16,
}

impl Registry {
    pub(in crate::target) const fn new(limits: RegistryLimits) -> Self {
        Self { limits, controllers: BTreeMap::new(), last_id: 0 }
    }

    pub(in crate::target) fn get(&self, id: u16) -> Option<&Association> {
        self.controllers.get(&id)
    }

    pub(in crate::target) fn get_mut(&mut self, id: u16) -> Option<&mut Association> {
        self.controllers.get_mut(&id)
    }

    pub(in crate::target) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Association> {
        self.controllers.values_mut()
    }

    pub(in crate::target) fn count(&self) -> usize {
        self.controllers.len()
    }

    pub(in crate::target) fn deadline(&self) -> Option<Instant> {
        self.controllers.values().filter_map(Association::deadline).min()
    }

    /// Removes a controller whose keep alive timer has expired, and returns it.
    pub(in crate::target) fn take_expired(&mut self, now: Instant) -> Option<Association> {
        let is_expired = |association: &&Association| {
            association.deadline().is_some_and(|deadline| deadline <= now)
        };
        let id = self.controllers.values().find(is_expired)?.id;
        self.controllers.remove(&id)
    }

    /// Removes a queue whose connection is closed. With the admin queue the controller is removed,
    /// and returned.
    pub(in crate::target) fn disconnect(&mut self, queue: &Queue) -> Option<Association> {
        if queue.is_admin() {
            return self.controllers.remove(&queue.controller);
        }
        self.get_mut(queue.controller)?.disconnect(queue.number);
        None
    }

    /// Gives a host a queue.
    pub(in crate::target) fn connect(
        &mut self,
        now: Instant,
        nqn: &Nqn,
        hosts: &HostList,
        connect: &Connect,
        data: &[u8; CONNECT_BYTES],
    ) -> Result<Queue, ConnectRefusal> {
        if connect.format != 0 {
            return Err(ConnectRefusal::Format);
        }
        let data = ConnectData::decode(data)?;
        if data.subsystem != *nqn {
            return Err(ConnectRefusal::NO_SUBSYSTEM);
        }
        if !hosts.allows(&data.host) {
            return Err(ConnectRefusal::InvalidHost);
        }
        if connect.size == 0 || connect.size >= self.limits.entries_max {
            return Err(SQSIZE);
        }
        let (controller, capsule_bytes) = match connect.queue {
            0 => (self.add(now, connect, data)?, ADMIN_CAPSULE_DATA_BYTES),
            _ => (self.attach(connect, &data)?, self.limits.capsule_bytes),
        };
        let entries = connect.size + 1;
        let without_sq_flow = connect.attributes & CATTR_NO_SQ_FLOW != 0;
        let terms = QueueTerms { entries, capsule_bytes, without_sq_flow };
        Ok(Queue { controller, number: connect.queue, terms, authenticate: false })
    }

    fn add(
        &mut self,
        now: Instant,
        connect: &Connect,
        host: ConnectData,
    ) -> Result<u16, ConnectRefusal> {
        if host.controller != CNTLID_DYNAMIC {
            return Err(CNTLID);
        }
        if self.controllers.len() >= usize::from(self.limits.controllers_max) {
            return Err(ConnectRefusal::Busy);
        }
        let mut id = self.last_id;
        loop {
            id = if id >= CNTLID_MAX { 1 } else { id + 1 };
            if !self.controllers.contains_key(&id) {
                break;
            }
        }
        self.last_id = id;
        let association = Association::new(now, id, host, connect.keep_alive_ms, &self.limits);
        self.controllers.insert(id, association);
        Ok(id)
    }

    fn attach(&mut self, connect: &Connect, host: &ConnectData) -> Result<u16, ConnectRefusal> {
        let association = self.get_mut(host.controller).ok_or(CNTLID)?;
        let known = association.host();
        if (known.host, known.host_id) != (host.host, host.host_id) {
            return Err(ConnectRefusal::InvalidHost);
        }
        if !association.is_ready() || !association.connect(connect.queue) {
            return Err(QID);
        }
        Ok(host.controller)
    }
}
