//! A drive that is served by a thread of its own.

use super::host::{HOST_NQN, Host, Terms};
use live::clock::Spin;
use live::dhchap::CRYPTOGRAPHY;
use live::drive::{self, DriveHandle, DriveHead, DriveServer, Ended, Setup};
use live::nvme_tcp::{
    BLOCK_SHIFT, CAPSULE_BYTES, IO_QUEUES_MAX, Listener, QUEUE_ENTRIES_MAX, SubsystemNames,
    TRANSFER_SHIFT, TargetSetup, listing,
};
use live::storage::DriveLocation;
use nvme::target::{
    AuthenticationConfig, HostList, HostSecret, Namespace, Persistence, ReservationState, Secret,
    SubsystemConfig,
};
use nvme::wire::ioda::IodaCapability;
use nvme::wire::{Ascii, DhGroup, Nqn};
use ssd::Ssd;
use std::net::SocketAddr;
use std::thread::JoinHandle;
use units::Duration;

/// The secret of a host that has to authenticate.
pub(crate) const SECRET: &[u8] = &[7; 32];

fn authentication() -> AuthenticationConfig {
    let host = HostSecret {
        host: Nqn::new(HOST_NQN).unwrap(),
        secret: Secret(SECRET.to_vec()),
        of_controller: None,
    };
    let groups = vec![DhGroup::Ffdhe3072];
    AuthenticationConfig { hosts: vec![host], groups, cryptography: CRYPTOGRAPHY }
}

/// What is served.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) location: DriveLocation,
    pub(crate) model: Option<Ssd>,
    pub(crate) bytes: u64,
    pub(crate) hosts: HostList,
    /// Whether hosts have to authenticate, as [`HOST_NQN`] with [`SECRET`].
    pub(crate) authenticates: bool,
    pub(crate) memory_bytes: u64,
}

impl Plan {
    /// Storage in memory without a model.
    pub(crate) fn plain() -> Self {
        Self {
            location: DriveLocation::Memory,
            model: None,
            bytes: 64 << 20,
            hosts: HostList::Any,
            authenticates: false,
            memory_bytes: 256 << 20,
        }
    }

    /// A model that is as it leaves the factory.
    pub(crate) fn fresh() -> Self {
        let config = ssd::presets::preset("live").unwrap();
        let bytes = config.logical_bytes();
        Self { model: Some(Ssd::new(config).unwrap()), bytes, ..Self::plain() }
    }

    /// A model that has been written over and over.
    pub(crate) fn aged() -> Self {
        let mut plan = Self::fresh();
        plan.model.as_mut().unwrap().age(7);
        plan
    }
}

/// A target of a drive at an address of its own, for whoever carries out its commands.
pub(crate) fn target_of(plan: &Plan, names: &SubsystemNames) -> (TargetSetup, SocketAddr) {
    let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.address();
    let config = SubsystemConfig {
        nqn: names.nqn,
        hosts: plan.hosts.clone(),
        authentication: plan.authenticates.then(authentication),
        serial: names.serial,
        model: Ascii::new("IODA emulated drive").unwrap(),
        firmware: Ascii::new("1").unwrap(),
        namespace: Namespace {
            blocks: plan.bytes >> BLOCK_SHIFT,
            block_shift: BLOCK_SHIFT,
            nguid: names.nguid,
            write_bytes: 4096,
            random_read_100ns: 1000,
            write_cache: plan.location.path().is_some(),
        },
        reservations: match plan.location.path() {
            None => Persistence::Impossible,
            Some(_) => Persistence::Possible,
        },
        ioda: plan.model.as_ref().map(|_| IodaCapability { patient: true, all_work: true }),
        controllers_max: 1024,
        io_queues_max: IO_QUEUES_MAX,
        entries_max: QUEUE_ENTRIES_MAX,
        transfer_shift: TRANSFER_SHIFT,
        capsule_bytes: CAPSULE_BYTES,
    };
    let setup = TargetSetup {
        listings: vec![listing(address, names.nqn, plan.hosts.clone())],
        config,
        listeners: vec![listener],
        memory_bytes: plan.memory_bytes,
        reservations: ReservationState::default(),
    };
    (setup, address)
}

/// A drive that is served.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) nqn: String,
    pub(crate) head: DriveHead,
    handle: DriveHandle,
    thread: Option<JoinHandle<Ended>>,
}

impl Served {
    pub(crate) fn start(plan: Plan) -> Self {
        let opened = drive::open(&plan.location, Some(plan.bytes), plan.bytes, false).unwrap();
        let names = SubsystemNames::new(&opened.head.uuid, None);
        let (target, address) = target_of(&plan, &names);
        let setup = Setup {
            target,
            model: plan.model.map(Box::new),
            storage: opened.storage,
            reservations: opened.reservations,
            // Many tests run at once: nobody spins.
            spin: Spin::Fixed(Duration::ZERO),
        };
        let (handle, inbox) = drive::channel().unwrap();
        let thread =
            std::thread::spawn(move || DriveServer::new(setup, inbox).unwrap().run().unwrap());
        let nqn = names.nqn.as_str().to_owned();
        Self { address, nqn, head: opened.head, handle, thread: Some(thread) }
    }

    pub(crate) fn terms(&self) -> Terms {
        Terms::new(&self.nqn)
    }

    pub(crate) fn attach(&self) -> Host {
        Host::attach(self.address, &self.terms())
    }

    /// Stops it.
    pub(crate) fn stop(mut self) -> Ended {
        self.handle.stop();
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the drive's thread has panicked");
        }
    }
}
