//! The discovery subsystem: the subsystems that a host may see, and their addresses.

use super::controller::{
    Action, AdminAnswer, AdminRequest, Association, Firmware, HostList, Queue, Registry,
    RegistryLimits, copy_identity, fabrics_controller, put_page,
};
use super::request::{Request, Standing};
use super::transport::{Answer, CommandData};
use crate::wire::{
    AddressFamily, AdminCommand, Ascii, AsyncEvent, CONNECT_BYTES, Cns, Connect, ConnectRefusal,
    ControllerKind, DISCOVERY_BYTES, DiscoveryRecord, LogPage, Nqn, StatusCode, StatusField,
    SubmissionEntry, put_discovery,
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use units::Instant;

/// Entries of an admin queue.
const ENTRIES_MAX: u16 = 128;

/// MDTS: 128 KiB, which [`Terms`](super::Terms) of its connections have to allow.
const TRANSFER_SHIFT: u8 = 5;

/// A subsystem at an address, and the hosts that may see it.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Record for the host.
    pub record: DiscoveryRecord,
    /// Hosts that may see it.
    pub hosts: HostList,
    /// Whether the subsystem listens at all addresses of its machine. `record` names none of them;
    /// a host gets the address by which it has reached this machine.
    pub is_everywhere: bool,
}

/// Address of this machine by which a host has reached its controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reached {
    /// Its family.
    pub family: AddressFamily,
    /// The address as text.
    pub address: Ascii<256>,
}

impl Listing {
    /// Record for a host that has reached this machine by `reached`; `None` without an address for
    /// it.
    fn told(&self, reached: Option<&Reached>) -> Option<DiscoveryRecord> {
        if !self.is_everywhere {
            return Some(self.record);
        }
        let Reached { family, address } = *reached?;
        // A socket that listens at all IPv6 addresses also accepts IPv4, but not the other way
        // round.
        let hears = family == self.record.family || self.record.family == AddressFamily::Ipv6;
        hears.then_some(DiscoveryRecord { family, address, ..self.record })
    }
}

/// The discovery subsystem. Its inputs and outputs are those of [`Subsystem`](super::Subsystem); of
/// [`Action`] it uses only answers and the end of a controller.
#[derive(Debug)]
pub struct Discovery {
    nqn: Nqn,
    firmware: Firmware,
    registry: Registry,
    listings: Vec<Listing>,
    generation: u64,
    actions: VecDeque<Action>,
}

impl Discovery {
    /// A discovery subsystem without listings, for at most `controllers_max` hosts at a time.
    /// `None` if `serial` or `revision` is too long or not ASCII.
    #[must_use]
    pub fn new(controllers_max: u16, serial: &str, revision: &str) -> Option<Self> {
        let firmware = Firmware {
            serial: Ascii::new(serial)?,
            model: Ascii::new("IODA discovery")?,
            revision: Ascii::new(revision)?,
        };
        let registry = Registry::new(RegistryLimits {
            controllers_max,
            io_queues_max: 0,
            entries_max: ENTRIES_MAX,
            capsule_bytes: 0,
            event: AsyncEvent::DiscoveryLog,
        });
        let nqn = Nqn::new(Nqn::DISCOVERY)?;
        let (listings, actions) = (Vec::new(), VecDeque::new());
        Some(Self { nqn, firmware, registry, listings, generation: 0, actions })
    }

    /// Sets the listings. Hosts that want the event get one.
    pub fn set_listings(&mut self, listings: Vec<Listing>) {
        self.listings = listings;
        self.generation += 1;
        for association in self.registry.iter_mut() {
            association.notify(&mut self.actions);
        }
    }

    /// As [`Subsystem::decode`](super::Subsystem::decode). There are no I/O queues.
    ///
    /// # Errors
    ///
    /// If the command is refused regardless of its data, with the status of the answer.
    pub fn decode(
        &self,
        queue: Option<&Queue>,
        entry: &SubmissionEntry,
        data: CommandData,
    ) -> Result<Request, StatusField> {
        let standing = queue.map_or(Standing::Fresh, |_| Standing::Admin);
        Request::decode(standing, false, entry, data)
    }

    /// Gives a host an admin queue, which every host may have.
    ///
    /// # Errors
    ///
    /// If the host may not have the queue, with the refusal.
    pub fn connect(
        &mut self,
        now: Instant,
        connect: &Connect,
        data: &[u8; CONNECT_BYTES],
    ) -> Result<Queue, ConnectRefusal> {
        self.registry.connect(now, &self.nqn, &HostList::Any, connect, data)
    }

    /// Answers a command of a host that has reached this machine by an address.
    pub fn handle_admin(
        &mut self,
        now: Instant,
        queue: &Queue,
        request: AdminRequest<'_>,
        reached: Option<&Reached>,
    ) -> AdminAnswer {
        let Some(association) = self.registry.get_mut(queue.controller) else {
            return AdminAnswer::Now(Answer::new(StatusCode::KeepAliveExpired.for_good()));
        };
        let AdminRequest { slot, command, .. } = request;
        let (answer, _) = association.handle(now, slot, &command, &mut self.actions);
        // There is nothing to flush.
        association.set_shut_down();
        if let Some(answer) = answer {
            return answer;
        }
        let answer = match command {
            AdminCommand::Identify(identify) if identify.what == Cns::Controller => {
                let events = association.offered_events();
                let (id, kind) = (association.id(), ControllerKind::Discovery);
                let mut identity =
                    fabrics_controller(id, kind, events, self.nqn, &self.firmware, ENTRIES_MAX);
                identity.limits.transfer = TRANSFER_SHIFT;
                Ok(copy_identity(&identity.encode(), request.into))
            }
            AdminCommand::GetLogPage(get) if get.page == LogPage::Discovery => {
                if !get.retain_event {
                    association.acknowledge();
                }
                let seen = visible(&self.listings, association, reached);
                let page_bytes = DISCOVERY_BYTES * (1 + seen.clone().count());
                put_page(&get, page_bytes, request.into, |part| {
                    put_discovery(self.generation, seen, part);
                })
            }
            AdminCommand::GetLogPage(_) => Err(StatusCode::InvalidLogPage.for_good()),
            _ => Err(StatusCode::InvalidField.for_good()),
        };
        AdminAnswer::Now(answer.unwrap_or_else(Answer::new))
    }

    /// Handles the close of a host's connection.
    pub fn handle_closed(&mut self, queue: &Queue) {
        self.registry.disconnect(queue);
    }

    /// Time at which the next controller expires if its host stays silent.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.registry.deadline()
    }

    /// Removes the controllers whose hosts were silent for too long.
    pub fn handle_deadline(&mut self, now: Instant) {
        while let Some(association) = self.registry.take_expired(now) {
            let controller = association.id();
            self.actions.push_back(Action::CloseController { controller });
        }
    }

    /// The next action.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

/// Records that the host of a controller may see.
fn visible<'a>(
    listings: &'a [Listing],
    association: &Association,
    reached: Option<&'a Reached>,
) -> impl Iterator<Item = DiscoveryRecord> + Clone + use<'a> {
    let host = association.host().host;
    let seen = listings.iter().filter(move |listing| listing.hosts.allows(&host));
    seen.filter_map(move |listing| listing.told(reached))
}
