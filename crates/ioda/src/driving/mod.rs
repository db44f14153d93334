//! From settings to a drive that hosts attach to over NVMe/TCP.

mod address;
mod ready;

pub(crate) use address::TargetAddress;
pub(crate) use ready::Ready;

use crate::exit::Failure;
use crate::quantity::{Size, Text};
use crate::settings::{DriveFlags, DriveSettings};
use crate::words::Precondition;
use clap::Args;
use live::clock::Spin;
use live::dhchap::{CRYPTOGRAPHY, host_secrets};
use live::drive::{DriveHead, Setup};
use live::nvme_tcp::{
    BLOCK_SHIFT, CAPSULE_BYTES, COMMAND_MEMORY_BYTES_MIN, CONNECTIONS_MAX, IO_QUEUES_MAX, Listener,
    QUEUE_ENTRIES_MAX, SubsystemNames, TRANSFER_SHIFT, listing,
};
use live::server::default_client_memory_bytes;
use live::storage::DriveLocation;
use nvme::target::{AuthenticationConfig, HostList, Namespace, SubsystemConfig};
use nvme::wire::ioda::IodaCapability;
use nvme::wire::{Ascii, DhGroup, Nqn};
use sim::Preparation;
use ssd::{Config, Ssd};
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use units::Rng;

/// The drive that is emulated unless another is named.
const DRIVE: &str = "live";
/// Size of a plain drive unless it is said.
const DRIVE_BYTES: u64 = 1 << 30;
const BLOCK_BYTES: u64 = 1 << BLOCK_SHIFT;

/// Options of `ioda drive`.
#[derive(Args, Clone, Debug)]
pub(crate) struct DriveArgs {
    /// Where hosts connect: a host with a port such as 127.0.0.1:4420, a port alone, which is on the loopback
    /// interface, or nvme+tcp://127.0.0.1:4420; repeatable. Port 0 lets the system choose [default:
    /// 127.0.0.1:4420]
    #[arg(long, alias = "listen", value_name = "ADDRESS", value_delimiter = ',')]
    pub(crate) address: Vec<TargetAddress>,
    /// Where the drive keeps its bytes: `memory`, or a file or block device [default: memory]
    #[arg(long, value_name = "WHERE")]
    pub(crate) storage: Option<PathBuf>,
    /// Take the storage as it is, without emulated timing, collections and windows
    #[arg(long)]
    pub(crate) plain: bool,
    /// Read and write a file past the page cache (O_DIRECT); block devices always are
    #[arg(long, requires = "plain")]
    pub(crate) direct: bool,
    /// Size of a plain drive in memory or in a new file, such as 16g [default: 1g]
    #[arg(long, value_name = "SIZE", requires = "plain")]
    pub(crate) drive_size: Option<Text<Size>>,
    /// Take memory of a drive in memory only when it is first written, which is slower then
    #[arg(long)]
    pub(crate) no_prefill: bool,
    /// Make a new drive of a file or device on which something is; that is lost
    #[arg(long)]
    pub(crate) create: bool,
    /// Name of the drive, such as nqn.2026-01.org.example:drive-1 [default: one made of a UUID, which stays the
    /// same for a file]
    #[arg(long, value_name = "NQN")]
    pub(crate) nqn: Option<String>,
    /// Host that may connect, by its name in /etc/nvme/hostnqn, such as
    /// nqn.2014-08.org.nvmexpress:uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427; repeatable [default: any host, on the
    /// loopback interface]
    #[arg(long, value_name = "NQN", value_delimiter = ',')]
    pub(crate) host: Vec<String>,
    /// File of hosts that may connect when they show that they know their secret (DH-HMAC-CHAP), such as
    /// host-keys; a line for each has its name, its secret as `nvme gen-dhchap-key` makes it, and if hosts
    /// are to ask for it, the secret of the drive. Nobody but its owner may read it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["host", "any_host"])]
    pub(crate) host_keys: Option<PathBuf>,
    /// Let any host connect that reaches an address, also from other machines
    #[arg(long, conflicts_with = "host")]
    pub(crate) any_host: bool,
    /// Most memory for the data of commands of all hosts together, 16m or more [default: an eighth of the
    /// machine's, at least 256m]
    #[arg(long, value_name = "SIZE")]
    pub(crate) client_memory: Option<Text<Size>>,
    /// The drive.
    #[command(flatten)]
    pub(crate) drive: DriveFlags,
    /// State of an emulated drive at the start: aged, steady or fresh [default: aged]
    #[arg(long, value_name = "STATE", help_heading = "Run")]
    pub(crate) precondition: Option<Text<Precondition>>,
    /// Seed of everything that is drawn by chance, any whole number [default: 1]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) seed: Option<Text<u64>>,
    /// Print where the drive is and how it is called as one line of JSON, as soon as hosts can connect
    #[arg(long, help_heading = "Run")]
    pub(crate) json: bool,
}

/// A drive that can be served.
pub(crate) struct Prepared {
    pub(crate) setup: Setup,
    pub(crate) ready: Ready,
    /// What people should know.
    pub(crate) notes: Vec<String>,
    /// Where the state of the model is kept at the end.
    pub(crate) keep: Option<(DriveHead, PathBuf)>,
}

/// Opens the drive that is asked for.
pub(crate) fn prepare(args: &DriveArgs) -> Result<Prepared, Failure> {
    let addresses = addresses(args)?;
    let nqn = args.nqn.as_deref().map(|name| named("--nqn", name)).transpose()?;
    let mut hosts = hosts(args)?;
    check_reach(args, &addresses)?;
    let memory_bytes = client_memory_bytes(args)?;
    let config = model_config(args)?;
    let location = location(args)?;
    if args.create && location.path().is_none() {
        return Err(Failure::usage(
            "--create is for files and devices; a drive in memory is always new",
        ));
    }
    let asked = args.drive_size.as_ref().map(|size| size.value.0);
    let bytes = config.as_ref().map_or(asked, |config| Some(config.logical_bytes()));
    check_size(bytes)?;
    let opened = live::drive::open(&location, bytes, DRIVE_BYTES, args.create);
    let opened = opened.map_err(Failure::usage)?;
    let (head, mut storage, mut notes) = (opened.head, opened.storage, opened.notes);
    if location.path().is_none() && !args.no_prefill {
        storage.start_prefill().map_err(Failure::internal)?;
    }
    let model = match config {
        Some(config) => Some(Box::new(model(args, config, opened.state, &mut notes)?)),
        None => None,
    };
    let listeners = addresses.iter().map(|address| Listener::open(*address));
    let listeners: Vec<Listener> = listeners
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::usage(format!("--address: {error}")))?;
    let bound: Vec<SocketAddr> = listeners.iter().map(Listener::address).collect();
    let names = SubsystemNames::new(&head.uuid, nqn);
    let is_cached = location.path().is_some();
    let authentication = args.host_keys.as_deref();
    let authentication = authentication.map(|path| host_keys(path, &names.nqn)).transpose()?;
    if let Some(known) = &authentication {
        hosts = HostList::Only(known.hosts.iter().map(|known| known.host).collect());
    }
    let mut subsystem =
        subsystem(&names, hosts.clone(), head.bytes, model.as_deref().map(Ssd::config), is_cached);
    subsystem.authentication = authentication;
    let ready = Ready::new(&bound, &names, &head, model.as_deref().map(Ssd::config), &location);
    let setup = Setup {
        listings: bound.iter().map(|at| listing(*at, names.nqn, hosts.clone())).collect(),
        config: subsystem,
        model,
        storage,
        listeners,
        memory_bytes,
        spin: Spin::Adaptive,
    };
    let keep = location.path().map(|path| (head, path.to_owned()));
    Ok(Prepared { setup, ready, notes, keep })
}

fn addresses(args: &DriveArgs) -> Result<Vec<SocketAddr>, Failure> {
    let usual = [TargetAddress::default()];
    let asked = if args.address.is_empty() { &usual[..] } else { &args.address };
    let found = asked.iter().map(TargetAddress::resolve);
    found.collect::<Result<_, _>>().map_err(|error| Failure::usage(format!("--address: {error}")))
}

fn named(option: &str, name: &str) -> Result<Nqn, Failure> {
    Nqn::new(name).ok_or_else(|| {
        Failure::usage(format!(
            "{option} {name} is not a name: it begins with nqn. and has at most 223 bytes"
        ))
    })
}

fn hosts(args: &DriveArgs) -> Result<HostList, Failure> {
    if args.host.is_empty() {
        return Ok(HostList::Any);
    }
    let names = args.host.iter().map(|name| named("--host", name));
    Ok(HostList::Only(names.collect::<Result<_, _>>()?))
}

/// The secrets of hosts, from a file that others cannot read.
fn host_keys(path: &Path, subsystem: &Nqn) -> Result<AuthenticationConfig, Failure> {
    let refused = |what: &dyn std::fmt::Display| {
        Failure::usage(format!("--host-keys {}: {what}", path.display()))
    };
    let about = std::fs::metadata(path).map_err(|error| refused(&error))?;
    let mode = about.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let what = format!("others may read or write it (mode {mode:03o}); chmod 600 ends that");
        return Err(refused(&what));
    }
    let text = std::fs::read_to_string(path).map_err(|error| refused(&error))?;
    let hosts = host_secrets(&text, subsystem).map_err(|error| refused(&error))?;
    if hosts.is_empty() {
        return Err(refused(&"there is no host in it"));
    }
    let groups = vec![DhGroup::Ffdhe3072, DhGroup::Ffdhe2048, DhGroup::Null];
    Ok(AuthenticationConfig { hosts, groups, cryptography: CRYPTOGRAPHY })
}

/// Nobody opens a drive to a network by accident.
fn check_reach(args: &DriveArgs, addresses: &[SocketAddr]) -> Result<(), Failure> {
    let beyond = addresses.iter().find(|address| !address.ip().is_loopback());
    match beyond {
        Some(address) if args.host.is_empty() && args.host_keys.is_none() && !args.any_host => {
            Err(Failure::usage(format!(
                "--address {address} can be reached from other machines, and any host that does could read \
                 and write the drive: give those that may a secret with --host-keys, name them with --host, \
                 or say --any-host"
            )))
        }
        _ => Ok(()),
    }
}

fn client_memory_bytes(args: &DriveArgs) -> Result<u64, Failure> {
    let Some(size) = &args.client_memory else { return Ok(default_client_memory_bytes()) };
    let bytes = size.value.0;
    if bytes < COMMAND_MEMORY_BYTES_MIN {
        return Err(Failure::usage(format!(
            "--client-memory is {bytes} bytes; it must be at least 16m, so that some hosts can connect"
        )));
    }
    Ok(bytes)
}

/// What is emulated; none of a plain drive.
fn model_config(args: &DriveArgs) -> Result<Option<Config>, Failure> {
    if args.plain {
        return Ok(None);
    }
    let usual = match args.drive.drive {
        None => DriveSettings::preset(DRIVE),
        Some(_) => DriveSettings::default(),
    };
    let config = crate::setup::drive_settings(&args.drive, &usual)?.build()?;
    let page_bytes = u64::from(config.geometry.page_bytes);
    if !page_bytes.is_multiple_of(BLOCK_BYTES) {
        return Err(Failure::usage(format!(
            "--drive {}: its pages of {page_bytes} bytes are no multiple of the {BLOCK_BYTES} that hosts \
             read and write",
            config.name
        )));
    }
    Ok(Some(config))
}

fn location(args: &DriveArgs) -> Result<DriveLocation, Failure> {
    let Some(path) = args.storage.clone().filter(|path| path != Path::new("memory")) else {
        if args.direct {
            return Err(Failure::usage("--direct is for files; memory has no page cache"));
        }
        return Ok(DriveLocation::Memory);
    };
    let is_device = std::fs::metadata(&path).is_ok_and(|about| about.file_type().is_block_device());
    if is_device && !args.plain {
        return Err(Failure::usage(format!(
            "--storage {} is a block device: real drives are taken as they are, with --plain",
            path.display()
        )));
    }
    match is_device || args.direct {
        true => Ok(DriveLocation::Direct(path)),
        false => Ok(DriveLocation::File(path)),
    }
}

fn check_size(bytes: Option<u64>) -> Result<(), Failure> {
    match bytes {
        Some(bytes) if bytes == 0 || !bytes.is_multiple_of(BLOCK_BYTES) => {
            Err(Failure::usage(format!(
                "--drive-size is {bytes} bytes; it must be a multiple of {BLOCK_BYTES} above 0"
            )))
        }
        _ => Ok(()),
    }
}

/// The model: as it was at the last clean end, or else prepared as is asked for.
fn model(
    args: &DriveArgs,
    config: Config,
    state: Option<Vec<u8>>,
    notes: &mut Vec<String>,
) -> Result<Ssd, Failure> {
    if let Some(state) = state {
        match Ssd::restore(config.clone(), &state) {
            Ok(ssd) => return Ok(ssd),
            Err(error) => notes.push(format!("the drive starts anew: {error}")),
        }
    }
    let mut ssd = Ssd::new(config).map_err(Failure::usage)?;
    let seed = args.seed.as_ref().map_or(1, |seed| seed.value);
    let seed = Rng::stream(seed, "drive 0").next_u64();
    match args.precondition.as_ref().map_or(Preparation::Aged, |text| text.value.0) {
        Preparation::Steady => {
            ssd.precondition(seed);
        }
        Preparation::Aged => ssd.age(seed),
        Preparation::Fresh => {}
    }
    Ok(ssd)
}

fn subsystem(
    names: &SubsystemNames,
    hosts: HostList,
    bytes: u64,
    model: Option<&Config>,
    write_cache: bool,
) -> SubsystemConfig {
    let name = model.map_or(String::from("IODA drive"), |config| format!("IODA {}", config.name));
    let alone = model.map_or(0, |config| {
        let timing = &config.timing;
        (config.read_service() + timing.read_overhead + timing.command).as_nanos() / 100
    });
    SubsystemConfig {
        nqn: names.nqn,
        hosts,
        authentication: None,
        serial: names.serial,
        model: ascii(&name),
        firmware: ascii(env!("CARGO_PKG_VERSION")),
        namespace: Namespace {
            blocks: bytes >> BLOCK_SHIFT,
            block_shift: BLOCK_SHIFT,
            nguid: names.nguid,
            write_bytes: model.map_or(BLOCK_BYTES as u32, |config| config.geometry.page_bytes),
            random_read_100ns: alone.min(u64::from(u32::MAX)) as u32,
            write_cache,
        },
        ioda: model.map(|_| IodaCapability { patient: true, all_work: true }),
        controllers_max: CONNECTIONS_MAX as u16,
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
