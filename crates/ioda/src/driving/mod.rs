//! From settings to a drive that hosts attach to over NVMe/TCP.

mod ready;

pub(crate) use ready::Ready;

use crate::attaching::{About, Attaching, TargetAddress};
use clap::Args;
use live::clock::Spin;
use live::drive::{DriveHead, Setup};
use live::nvme_tcp::{BLOCK_SHIFT, COMMAND_MEMORY_BYTES_MIN};
use live::server::default_client_memory_bytes;
use live::storage::DriveLocation;
use nvme::target::Persistence;
use nvme::wire::ioda::IodaCapability;
use sim::Preparation;
use ssd::{Config, Ssd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use study::Failure;
use study::settings::{DriveFlags, DriveSettings, HostSettings};
use study::values::quantity::{Size, Text};
use study::values::words::{Precondition, Wait};
use units::Rng;

/// The drive that is emulated unless another is named.
const DRIVE: &str = "live";
/// Size of a plain drive unless it is said.
const DRIVE_BYTES: u64 = 1 << 30;
const BLOCK_BYTES: u64 = 1 << BLOCK_SHIFT;

/// Options of `ioda drive`.
#[derive(Args, Clone, Debug)]
pub(crate) struct DriveArgs {
    /// Where hosts connect: a host with a port such as 127.0.0.1:4420, a port alone, which is on
    /// the loopback interface, or nvme+tcp://127.0.0.1:4420; repeatable. Port 0 lets the system
    /// choose [default: 127.0.0.1:4420]
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
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
    /// Offer hosts no reservations, as simple drives have none
    #[arg(long)]
    pub(crate) no_reservations: bool,
    /// Make a new drive of a file or device on which something is; that is lost. Known formats,
    /// such as file systems, are refused
    #[arg(long)]
    pub(crate) create: bool,
    /// Most memory for the data of commands of all hosts together, 16m or more [default: an eighth
    /// of the machine's, at least 256m]
    #[arg(long, value_name = "SIZE")]
    pub(crate) client_memory: Option<Text<Size>>,
    /// How moments are waited for: `spin` shortly before them, which is punctual, or `block` until
    /// the kernel wakes the drive, which is right where time is virtual [default: spin]
    #[arg(long, value_name = "HOW")]
    pub(crate) wait: Option<Text<Wait>>,
    /// Who may attach.
    #[command(flatten)]
    pub(crate) hosts: HostSettings,
    /// The drive.
    #[command(flatten)]
    pub(crate) drive: DriveFlags,
    /// State of an emulated drive at the start: aged, steady or fresh [default: aged]
    #[arg(long, value_name = "STATE", help_heading = "Run")]
    pub(crate) precondition: Option<Text<Precondition>>,
    /// Seed of everything that is drawn by chance, any whole number [default: 1]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) seed: Option<Text<u64>>,
    /// Print where the drive is and how it is called as one line of JSON, as soon as hosts can
    /// connect
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
    let usual = [TargetAddress::default()];
    let asked = if args.address.is_empty() { &usual[..] } else { &args.address };
    let attaching = Attaching::new(&args.hosts, asked, "drive")?;
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
    let reservations = match location.path() {
        _ if args.no_reservations => Persistence::Absent,
        None => Persistence::Impossible,
        Some(_) => Persistence::Possible,
    };
    let has_file = location.path().is_some();
    let about = about(&head, model.as_deref().map(Ssd::config), has_file, reservations);
    let attached = attaching.open(&head.uuid, about, memory_bytes)?;
    let ready = Ready::new(&attached, &head, model.as_deref().map(Ssd::config), &location);
    let spin = args.wait.as_ref().map_or(Spin::Adaptive, |wait| wait.value.0);
    let (target, reservations) = (attached.target, opened.reservations);
    let setup = Setup { target, model, storage, reservations, spin };

    let keep = location.path().map(|path| (head, path.to_owned()));
    Ok(Prepared { setup, ready, notes, keep })
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
    let config = study::setup::drive_settings(&args.drive, &usual)?.build()?;
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
    let asked = args.precondition.as_ref().map_or(Precondition::Aged, |text| text.value);
    match asked.without_load()? {
        Preparation::Steady => {
            ssd.precondition(seed);
        }
        Preparation::Aged | Preparation::Load(_) => ssd.age(seed),
        Preparation::Fresh => {}
    }
    Ok(ssd)
}

/// What hosts are told of the drive.
fn about(
    head: &DriveHead,
    model: Option<&Config>,
    write_cache: bool,
    reservations: Persistence,
) -> About {
    let alone = model.map_or(0, |config| {
        let timing = &config.timing;
        (config.read_service() + timing.read_overhead + timing.command).as_nanos() / 100
    });
    About {
        model: model.map_or(String::from("IODA drive"), |config| format!("IODA {}", config.name)),
        bytes: head.bytes,
        write_bytes: model.map_or(BLOCK_BYTES as u32, |config| config.geometry.page_bytes),
        random_read_100ns: alone.min(u64::from(u32::MAX)) as u32,
        write_cache,
        ioda: model.map(|_| IodaCapability { patient: true, all_work: true }),
        reservations,
    }
}
