//! How hosts attach to a drive or an array over NVMe/TCP: where, under which name, and who may.
//!
//! Knows: the options that say so, and the subsystem that comes of them. Does not know: what is in
//! it.

mod address;

pub(crate) use address::TargetAddress;

use live::dhchap::{CRYPTOGRAPHY, host_secrets};
use live::durable::Uuid;
use live::nvme_tcp::{
    BLOCK_SHIFT, CAPSULE_BYTES, CONTROLLERS_MAX, IO_QUEUES_MAX, Listener, QUEUE_ENTRIES_MAX,
    SubsystemNames, TRANSFER_SHIFT, TargetSetup, listing,
};
use live::read_secret_file;
use nvme::target::{
    AuthenticationConfig, HostList, Namespace, Persistence, ReservationState, SubsystemConfig,
};
use nvme::wire::ioda::IodaCapability;
use nvme::wire::{Ascii, DhGroup, Nqn};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use study::Failure;
use study::settings::HostSettings;

/// Where hosts connect and who may, before anything is opened.
#[derive(Debug)]
pub(crate) struct Attaching {
    addresses: Vec<SocketAddr>,
    nqn: Option<Nqn>,
    hosts: HostList,
    host_keys: Option<PathBuf>,
}

/// What hosts are told of what they attach to.
#[derive(Debug)]
pub(crate) struct About {
    /// Model number, or as much of it as fits.
    pub(crate) model: String,
    pub(crate) bytes: u64,
    /// Bytes of the best write.
    pub(crate) write_bytes: u32,
    /// Time of a random read alone; 0 if nobody knows.
    pub(crate) random_read_100ns: u32,
    /// Whether flushes matter.
    pub(crate) write_cache: bool,
    pub(crate) ioda: Option<IodaCapability>,
    /// Whether hosts can reserve it.
    pub(crate) reservations: Persistence,
}

/// What hosts can connect to.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) target: TargetSetup,
    pub(crate) names: SubsystemNames,
    /// With the ports that the system chose.
    pub(crate) sockets: Vec<SocketAddr>,
}

impl Attaching {
    /// Works out what is set. `what` is attached to: a drive or an array.
    pub(crate) fn new(
        settings: &HostSettings,
        addresses: &[TargetAddress],
        what: &str,
    ) -> Result<Self, Failure> {
        let found = addresses.iter().map(TargetAddress::resolve).collect::<Result<Vec<_>, _>>();
        let found = found.map_err(|error| Failure::usage(format!("--address: {error}")))?;
        let nqn = settings.nqn.as_deref().map(|name| named("--nqn", name)).transpose()?;
        let nqn = same_name(nqn, addresses)?;
        if nqn.is_some_and(|nqn| nqn.as_str() == Nqn::DISCOVERY) {
            return Err(Failure::usage(format!(
                "{} is the name of every discovery subsystem, so no host could reach the {what} by it; choose another \
                 --nqn, or leave it out",
                Nqn::DISCOVERY
            )));
        }
        let is_known = !settings.host.is_empty() || settings.host_keys.is_some();
        if is_known && settings.any_host
            || !settings.host.is_empty() && settings.host_keys.is_some()
        {
            return Err(Failure::usage("--host, --host-keys and --any-host exclude each other"));
        }
        let hosts = hosts(settings)?;
        check_reach(settings, &found, what)?;
        Ok(Self { addresses: found, nqn, hosts, host_keys: settings.host_keys.clone() })
    }

    /// Whether anyone who reaches an address can read and write what is there: no host has to show
    /// a secret. `None` if not, or the first such address.
    pub(crate) fn open_address(&self) -> Option<SocketAddr> {
        let beyond = self.addresses.iter().find(|address| !address.ip().is_loopback());
        beyond.copied().filter(|_| self.host_keys.is_none())
    }

    /// Listens. What is named `uuid` is called so, and `memory_bytes` is the bound on the data of
    /// commands.
    pub(crate) fn open(
        self,
        uuid: &Uuid,
        about: About,
        memory_bytes: u64,
    ) -> Result<Attached, Failure> {
        let Self { addresses, nqn, mut hosts, host_keys } = self;
        let names = SubsystemNames::new(uuid, nqn);
        let authentication = host_keys.map(|path| authentication(&path, &names.nqn)).transpose()?;
        if let Some(known) = &authentication {
            hosts = HostList::Only(known.hosts.iter().map(|known| known.host).collect());
        }
        let listeners = addresses.iter().map(|address| Listener::open(*address));
        let listeners: Vec<Listener> = listeners
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::usage(format!("--address: {error}")))?;
        let sockets: Vec<SocketAddr> = listeners.iter().map(Listener::address).collect();
        let listings = sockets.iter().map(|at| listing(*at, names.nqn, hosts.clone())).collect();
        let config = subsystem(&names, hosts, authentication, &about);
        let reservations = ReservationState::default();
        let target = TargetSetup { config, listeners, listings, memory_bytes, reservations };
        Ok(Attached { target, names, sockets })
    }
}

impl Attached {
    /// Where it is, as URIs.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = String> {
        self.sockets.iter().map(|at| format!("nvme+tcp://{at}"))
    }
}

/// How a Linux host attaches, for people.
pub(crate) fn connect_commands(at: SocketAddr, nqn: &str) -> String {
    let port = at.port();
    // No host reaches this machine by the address that stands for all.
    let ip = match at.ip().is_unspecified() {
        true => String::from("ADDRESS_OF_THIS_MACHINE"),
        false => at.ip().to_string(),
    };
    format!(
        "  nvme discover -t tcp -a {ip} -s {port}\n  nvme connect -t tcp -a {ip} -s {port} -n {nqn}\n"
    )
}

fn named(option: &str, name: &str) -> Result<Nqn, Failure> {
    Nqn::new(name).ok_or_else(|| {
        Failure::usage(format!(
            "{option} {name} is not a name: it begins with nqn. and has at most 223 bytes"
        ))
    })
}

/// The one name that all say; none if nobody says one.
fn same_name(nqn: Option<Nqn>, addresses: &[TargetAddress]) -> Result<Option<Nqn>, Failure> {
    let named = addresses.iter().filter_map(|address| Some((address, address.nqn()?)));
    let mut chosen = nqn.map(|nqn| (nqn, String::from("--nqn")));
    for (address, nqn) in named {
        match &chosen {
            Some((other, by)) if other != nqn => {
                return Err(Failure::usage(format!(
                    "--address {address} names another subsystem than {by}, which is {other}; there is one"
                )));
            }
            Some(_) => {}
            None => chosen = Some((*nqn, format!("--address {address}"))),
        }
    }
    Ok(chosen.map(|(nqn, _)| nqn))
}

fn hosts(settings: &HostSettings) -> Result<HostList, Failure> {
    if settings.host.is_empty() {
        return Ok(HostList::Any);
    }
    let names = settings.host.iter().map(|name| named("--host", name));
    Ok(HostList::Only(names.collect::<Result<_, _>>()?))
}

/// The secrets of hosts, from a file that others cannot read.
fn authentication(path: &Path, subsystem: &Nqn) -> Result<AuthenticationConfig, Failure> {
    let refused = |what: &dyn std::fmt::Display| {
        Failure::usage(format!("--host-keys {}: {what}", path.display()))
    };
    let text = read_secret_file(path).map_err(|error| refused(&error))?;
    let text = String::from_utf8(text).map_err(|_| refused(&"it is not text"))?;
    let hosts = host_secrets(&text, subsystem).map_err(|error| refused(&error))?;
    if hosts.is_empty() {
        return Err(refused(&"there is no host in it"));
    }
    let groups = vec![DhGroup::Ffdhe3072, DhGroup::Ffdhe2048, DhGroup::Null];
    Ok(AuthenticationConfig { hosts, groups, cryptography: CRYPTOGRAPHY })
}

/// Nobody opens a drive or an array to a network by accident.
fn check_reach(
    settings: &HostSettings,
    addresses: &[SocketAddr],
    what: &str,
) -> Result<(), Failure> {
    let beyond = addresses.iter().find(|address| !address.ip().is_loopback());
    match beyond {
        Some(address)
            if settings.host.is_empty() && settings.host_keys.is_none() && !settings.any_host =>
        {
            Err(Failure::usage(format!(
                "--address {address} can be reached from other machines, and any host that does could read \
                 and write the {what}: give those that may a secret with --host-keys, name them with --host, \
                 or say --any-host"
            )))
        }
        _ => Ok(()),
    }
}

fn subsystem(
    names: &SubsystemNames,
    hosts: HostList,
    authentication: Option<AuthenticationConfig>,
    about: &About,
) -> SubsystemConfig {
    SubsystemConfig {
        nqn: names.nqn,
        hosts,
        authentication,
        serial: names.serial,
        model: ascii(&about.model),
        firmware: ascii(env!("CARGO_PKG_VERSION")),
        namespace: Namespace {
            blocks: about.bytes >> BLOCK_SHIFT,
            block_shift: BLOCK_SHIFT,
            nguid: names.nguid,
            write_bytes: about.write_bytes,
            random_read_100ns: about.random_read_100ns,
            write_cache: about.write_cache,
        },
        ioda: about.ioda,
        reservations: about.reservations,
        controllers_max: CONTROLLERS_MAX,
        io_queues_max: IO_QUEUES_MAX,
        entries_max: QUEUE_ENTRIES_MAX,
        transfer_shift: TRANSFER_SHIFT,
        capsule_bytes: CAPSULE_BYTES,
    }
}

/// As much of a text as fits, without what is not ASCII.
fn ascii<const N: usize>(text: &str) -> Ascii<N> {
    let printable = text.chars().filter(|c| (' '..='~').contains(c)).take(N);
    Ascii::new(&printable.collect::<String>()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attaching(settings: &HostSettings, addresses: &[&str]) -> Result<Attaching, String> {
        let addresses: Vec<_> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        Attaching::new(settings, &addresses, "array").map_err(|error| error.to_string())
    }

    #[test]
    fn all_who_name_the_subsystem_name_one() {
        let nqn = Some(String::from("nqn.a:1"));
        let settings = HostSettings { nqn, ..HostSettings::default() };
        let same = ["nvme+tcp://127.0.0.1:1/nqn.a:1", "nvme+tcp://127.0.0.1:2"];
        assert_eq!(attaching(&settings, &same).unwrap().nqn, Nqn::new("nqn.a:1"));
        let usual = HostSettings::default();
        assert_eq!(attaching(&usual, &same).unwrap().nqn, Nqn::new("nqn.a:1"));
        assert_eq!(attaching(&usual, &["1"]).unwrap().nqn, None);
        let others = ["nvme+tcp://127.0.0.1:1/nqn.a:1", "nvme+tcp://127.0.0.1:2/nqn.a:2"];
        let said = attaching(&usual, &others).unwrap_err();
        assert!(
            said.contains("names another subsystem than --address nvme+tcp://127.0.0.1:1"),
            "{said}"
        );
        assert!(
            attaching(&settings, &others).unwrap_err().contains("than --nqn, which is nqn.a:1")
        );
    }

    #[test]
    fn nothing_is_called_as_the_discovery_subsystem_is() {
        let nqn = Some(Nqn::DISCOVERY.to_owned());
        let settings = HostSettings { nqn, ..HostSettings::default() };
        let by_address = format!("nvme+tcp://127.0.0.1:1/{}", Nqn::DISCOVERY);
        for said in [
            attaching(&settings, &["1"]).unwrap_err(),
            attaching(&HostSettings::default(), &[&by_address]).unwrap_err(),
        ] {
            assert!(said.contains("is the name of every discovery subsystem"), "{said}");
        }
    }

    #[test]
    fn nobody_is_told_to_connect_to_an_address_that_stands_for_all() {
        for at in ["0.0.0.0:4420", "[::]:4420"] {
            let said = connect_commands(at.parse().unwrap(), "nqn.a:1");
            assert!(said.contains("connect -t tcp -a ADDRESS_OF_THIS_MACHINE -s 4420"), "{said}");
        }
        assert!(
            connect_commands("10.0.0.2:4420".parse().unwrap(), "nqn.a:1").contains("-a 10.0.0.2")
        );
    }

    #[test]
    fn nobody_beyond_this_machine_attaches_unless_somebody_said_who() {
        let far = ["nvme+tcp://0.0.0.0:4420"];
        let said = attaching(&HostSettings::default(), &far).unwrap_err();
        assert!(said.contains("could read and write the array: give those that may"), "{said}");
        let host = vec![String::from("nqn.a:host")];
        let named = HostSettings { host, ..HostSettings::default() };
        assert!(attaching(&named, &far).is_ok());
        let both = HostSettings { any_host: true, ..named };
        assert!(attaching(&both, &far).unwrap_err().ends_with("exclude each other"));
    }
}
