//! Where the bytes of the drives are: made or found, and put together.

use super::degraded::{self, Warning};
use super::{Built, build, drives, forced, network, switch_table};
use engine::durability;
use engine::volume::Repairs;
use live::durable::{self, Assembly, Claimed, Geometry, OpenArray, Refusal, Uuid};
use live::nvme_tcp::TargetSetup;
use live::server::{Durable, Setup, Watched};
use live::storage::{
    AddressError, Backing, DriveLocation, IoMethod, Memory, RemoteAddress, RemoteLocation, Storage,
    StoredDrive,
};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::path::{Path, PathBuf};
use study::Failure;
use study::settings::Settings;
use units::{DriveId, Duration};

/// How long a region of the drives is quiet before it counts as in order.
pub(super) const QUIET_FOR: Duration = Duration::from_secs(5);

/// An array whose drives are open.
pub(crate) struct Opened {
    pub(crate) built: Built,
    /// What people should know.
    pub(crate) notes: Vec<String>,
    /// Drives that it does without.
    pub(crate) warnings: Vec<Warning>,
    storage: Storage,
    durable: Option<Durable>,
    /// Drives on the network that are given up if the array is not served.
    claimed: Claimed,
    absent: u64,
    repairs: Repairs,
    /// Of each drive what its map was at the last clean end.
    states: Vec<Option<Vec<u8>>>,
}

/// Makes or finds the drives that `settings` name.
pub(crate) fn open(settings: &Settings) -> Result<Opened, Failure> {
    let names = &settings.serve.storage;
    match names.as_slice() {
        [] => in_memory(settings),
        [only] if only == "memory" => in_memory(settings),
        [only] if !RemoteAddress::is_meant(only) && is_folder(Path::new(only)) => {
            in_folder(settings, Path::new(only))
        }
        list => {
            if list.iter().any(|name| name == "memory") {
                return Err(Failure::usage(
                    "--storage mixes memory with files; all drives of an array are of one kind",
                ));
            }
            let create = settings.serve.create;
            let is_remote = |name: &String| RemoteAddress::is_meant(name);
            match list.iter().any(is_remote) {
                false => on_places(settings, places(settings, list)?, create),
                true => {
                    // What is on the network is taken as it is.
                    let mut settings = settings.clone();
                    settings.serve.plain = true;
                    on_places(&settings, places(&settings, list)?, create)
                }
            }
        }
    }
}

/// A directory, or nothing yet that could be one.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || !path.exists()
}

fn in_memory(settings: &Settings) -> Result<Opened, Failure> {
    if settings.serve.create {
        return Err(Failure::usage(
            "--create is for files and devices; an array in memory is always new",
        ));
    }
    if settings.serve.uuid.is_some() {
        return Err(Failure::usage(
            "--uuid is for files and devices; an array in memory has another uuid at each start",
        ));
    }
    if settings.serve.checksum_cache.is_some() {
        return Err(Failure::usage(
            "--checksum-cache is for files and devices; all checksums of drives in memory are in memory",
        ));
    }
    let mut built = build(settings, None)?;
    // What is in memory anyway would be guarded by memory alone.
    built.geometry.checksums &= settings.serve.checksums.is_some();
    let mut storage = Storage::new(IoMethod::Best);
    for drive in 0..built.geometry.width {
        let memory = Memory::new(built.geometry.drive_bytes).map_err(|error| {
            Failure::usage(format!(
                "cannot map {} bytes for a drive in memory: {error}",
                built.geometry.drive_bytes
            ))
        })?;
        storage.add(DriveId(drive), Backing::Memory(memory)).map_err(Failure::internal)?;
    }
    if !settings.serve.no_prefill {
        storage.start_prefill().map_err(Failure::internal)?;
    }
    Ok(Opened {
        states: vec![None; usize::from(built.geometry.width)],
        built,
        notes: Vec::new(),
        warnings: Vec::new(),
        storage,
        durable: None,
        claimed: Claimed::default(),
        absent: 0,
        repairs: Repairs::default(),
    })
}

fn in_folder(settings: &Settings, folder: &Path) -> Result<Opened, Failure> {
    let path = |drive: u32| folder.join(format!("drive-{drive}"));
    for path in (0..64).map(path) {
        check_unused(&DriveLocation::File(path))?;
    }
    // What a creation left that was cut short is no array.
    let counts =
        |path: &PathBuf| path.exists() && !durable::is_remains(&DriveLocation::File(path.clone()));
    let is_there = (0..64).map(path).any(|path| counts(&path));
    let create = settings.serve.create;
    let width = match (is_there, create) {
        (false, false) => {
            let remains = (0..64).map(path).any(|path| path.exists());
            return Err(nothing_in(
                folder,
                remains,
                settings.serve.uuid.as_ref().map(|uuid| uuid.value),
            ));
        }
        (true, true) => {
            return Err(Failure::usage(format!(
                "--create: there is an array in {} already; leave --create out to serve it, or remove its files \
                 first, if nothing on them is wanted",
                folder.display()
            )));
        }
        (false, true) => {
            make_folder(folder).map_err(|error| {
                Failure::usage(format!("--storage: cannot make {}: {error}", folder.display()))
            })?;
            settings.array.drives.unwrap_or(4)
        }
        (true, false) => {
            let there = (0..64).map(path).filter(|path| path.exists());
            let geometry = there.filter_map(|path| geometry_at(&DriveLocation::File(path))).next();
            match geometry {
                Some(geometry) => u32::from(geometry.width),
                None => settings.array.drives.unwrap_or(4),
            }
        }
    };
    let places = (0..width).map(|drive| place(settings, path(drive)));
    on_places(settings, places.collect::<Result<_, _>>()?, create)
}

/// Why nothing is served from a directory without an array. Creation is not proposed where a uuid
/// says that an array exists.
fn nothing_in(folder: &Path, remains: bool, uuid: Option<Uuid>) -> Failure {
    let at = folder.display();
    let what = match (folder.exists(), remains) {
        (false, _) => format!("there is no directory {at}"),
        (true, false) => format!("there is no array in {at}"),
        (true, true) => {
            format!("the creation of the array in {at} was cut short, and it holds nothing")
        }
    };
    Failure::usage(match uuid {
        Some(uuid) => {
            format!("--storage: {what}, where array {uuid} is to be: mount it or correct the path")
        }
        None => format!(
            "--storage: {what}: mount it or correct the path, or say --create to make a new array there"
        ),
    })
}

/// Makes a directory and those above it that are missing, on stable storage: without their names
/// nothing in them survives.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|at| *at != Path::new("") && !at.exists()).collect();
    let mut builder = std::fs::DirBuilder::new();
    // What is on the drives is for their owner alone.
    builder.recursive(true).mode(0o700).create(folder)?;
    for made in missing {
        let above = made.parent().filter(|above| *above != Path::new(""));
        std::fs::File::open(above.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// Refuses a file or device that something else has, at once and before anything is done to the
/// others.
fn check_unused(place: &DriveLocation) -> Result<(), Failure> {
    if place.path().is_none() {
        return Ok(());
    }
    match StoredDrive::open_head(place) {
        Err(error) if error.is_in_use() => Err(Failure::usage(format!("--storage: {error}"))),
        _ => Ok(()),
    }
}

/// Refuses two names for the bytes of one drive: links to a file, or a loop device and its file.
fn check_different(places: &[DriveLocation]) -> Result<(), Failure> {
    for (number, place) in places.iter().enumerate() {
        let Some(same) = places[..number].iter().find(|other| place.has_bytes_of(other)) else {
            continue;
        };
        return Err(Failure::usage(match place == same {
            true => format!("--storage names {place} twice; name each drive once"),
            false => format!(
                "--storage names one drive twice, as {same} and as {place}; name each drive once"
            ),
        }));
    }
    Ok(())
}

/// What the drive at a place says about its array, if it says anything.
fn geometry_at(place: &DriveLocation) -> Option<Geometry> {
    let mut drive = StoredDrive::open_head(place).ok()?;
    durable::read_superblock(&mut drive).ok().map(|superblock| superblock.geometry)
}

/// The places of a list.
fn places(settings: &Settings, list: &[String]) -> Result<Vec<DriveLocation>, Failure> {
    let options = settings.network.options()?;
    let mut places = Vec::with_capacity(list.len());
    for name in list {
        let place = match RemoteAddress::is_meant(name) {
            true => {
                let address = name
                    .parse()
                    .map_err(|error: AddressError| Failure::usage(format!("--storage: {error}")))?;
                let options = options.clone();
                DriveLocation::Remote(Box::new(RemoteLocation { address, options }))
            }
            false => place(settings, name.into())?,
        };
        places.push(place);
    }
    Ok(places)
}

fn place(settings: &Settings, path: PathBuf) -> Result<DriveLocation, Failure> {
    let device = std::fs::metadata(&path).is_ok_and(|about| about.file_type().is_block_device());
    if device && !settings.serve.plain {
        return Err(Failure::usage(format!(
            "{} is a block device: real drives are taken as they are, with --plain",
            path.display()
        )));
    }
    Ok(if device || settings.serve.direct {
        DriveLocation::Direct(path)
    } else {
        DriveLocation::File(path)
    })
}

fn on_places(
    settings: &Settings,
    places: Vec<DriveLocation>,
    create: bool,
) -> Result<Opened, Failure> {
    if let Some(uuid) = settings.serve.uuid.as_ref().filter(|_| create) {
        return Err(Failure::usage(format!(
            "--create makes an array with a uuid of its own, and the configuration asks for {}; leave `uuid` out",
            uuid.value
        )));
    }
    check_different(&places)?;
    places.iter().try_for_each(check_unused)?;
    // Claims come before reads of what another server may be changing.
    let claimed = durable::claim(&places, settings.serve.take_over).map_err(Failure::usage)?;
    let opened = put_together(settings, places, create)?;
    Ok(Opened { claimed, ..opened })
}

fn put_together(
    settings: &Settings,
    places: Vec<DriveLocation>,
    create: bool,
) -> Result<Opened, Failure> {
    let there = if create { None } else { places.iter().find_map(geometry_at) };
    let mut settings = settings.clone();
    if there.is_none() {
        settings.array.drives.get_or_insert(places.len() as u32);
    }
    let mut built = build(&settings, there.as_ref())?;
    let asked = built.geometry;
    if create && built.plain && settings.serve.drive_size.is_none() {
        built = smallest(&settings, &places, built)?;
    }
    let opened = match create {
        true => durable::create(&places, &built.geometry, QUIET_FOR),
        false => open_or_force(&settings, &places, &asked)?,
    };
    let opened = opened.map_err(|error| Failure::usage(hint(&error, create, &settings)))?;
    let doubtful = opened.doubtful_regions().len() as u64;
    let OpenArray { assembly, mut disks, mut records, replayed, .. } = opened;
    let mut notes = degraded::other_notes(&assembly);
    let warnings = degraded::warnings(&assembly, &places);
    let built = network::agree(&settings, built, &mut disks, &mut notes)?;
    if let Some(checksums) = &mut records.checksums {
        checksums.cache_bytes = built.checksum_cache_bytes;
    }
    let intent = &mut records.intent;
    if doubtful > 0 {
        notes.push(format!(
            "a drive was lost while the array was being written: what it held in {doubtful} regions \
             of {} bytes may be rebuilt wrong",
            intent.region_bytes()
        ));
    }
    if replayed > 0 {
        notes.push(format!("{replayed} records of the journal were written again"));
    }
    let mut order_of_places = Vec::new();
    let mut storage = Storage::new(IoMethod::Best);
    let mut states = vec![None; disks.len()];
    for (position, disk) in disks.into_iter().enumerate() {
        let drive = DriveId(position as u8);
        let place = match assembly.order[position] {
            Some(place) => places[place].clone(),
            None => places[position].clone(),
        };
        if let Some(disk) = disk {
            if let Some(path) = place.path().filter(|_| !built.plain) {
                states[position] = drives::state_of(path, &assembly, drive, &mut notes);
            }
            storage.add(drive, disk.into()).map_err(Failure::internal)?;
        }
        order_of_places.push(place);
    }
    let repairs = Repairs::new(&assembly, intent, &built.config.layout);
    if !repairs.resync.is_empty() {
        let stripes = repairs.resync_stripes();
        notes.push(format!(
            "the array was not shut down: the parity of about {stripes} stripes is computed again \
             while it serves"
        ));
    }
    Ok(Opened {
        notes,
        warnings,
        storage,
        durable: Some(Durable { records, places: order_of_places }),
        claimed: Claimed::default(),
        absent: assembly.absent,
        repairs,
        states,
        built,
    })
}

/// Opens the array, and asks people if it is refused and they have said that it may be forced.
fn open_or_force(
    settings: &Settings,
    places: &[DriveLocation],
    asked: &Geometry,
) -> Result<Result<OpenArray, durable::OpenError>, Failure> {
    let opened = match durable::find(places, Some(asked)) {
        Err(error) => Err(error),
        Ok(found) => {
            check_uuid(settings, found.assembly())?;
            // Before the superblocks say that those which are missing have failed.
            degraded::check(settings, found, places)?.start(QUIET_FOR)
        }
    };
    match opened {
        Err(error) if error.may_be_forced() => match settings.serve.force_assembly {
            true => forced::open(settings, places, asked, &error).map(Ok),
            false => Err(Failure::usage(forced::hint(&error, places, asked))),
        },
        other => Ok(other),
    }
}

/// Refuses an array that is not the one that was asked for.
pub(super) fn check_uuid(settings: &Settings, assembly: &Assembly) -> Result<(), Failure> {
    let asked = settings.serve.uuid.as_ref().map(|uuid| uuid.value);
    match asked.filter(|asked| *asked != assembly.uuid) {
        None => Ok(()),
        Some(asked) => Err(Failure::usage(format!(
            "the array on the drives has uuid {}, and `uuid` asks for {asked}; correct --storage, or `uuid`",
            assembly.uuid
        ))),
    }
}

/// Plain drives that are there already: the smallest says how large all are.
fn smallest(settings: &Settings, places: &[DriveLocation], built: Built) -> Result<Built, Failure> {
    let mut least: Option<u64> = None;
    for place in places.iter().filter(|place| place.exists()) {
        let disk = StoredDrive::open_head(place).map_err(Failure::usage)?;
        let bytes = disk.room_bytes().map_err(Failure::usage)?;
        least = Some(least.map_or(bytes, |least| least.min(bytes)));
    }
    let Some(mut bytes) = least else { return Ok(built) };
    let chunk = built.geometry.chunk_bytes;
    if built.geometry.checksums {
        // The table is a little larger than needed for so much less data.
        bytes = bytes.saturating_sub(engine::checksums::table_bytes(bytes));
    }
    let mut settings = settings.clone();
    let size = study::values::quantity::exact_size(bytes / chunk * chunk);
    settings.serve.drive_size = Some(size.parse().map_err(Failure::usage)?);
    build(&settings, None)
}

/// What is wrong, and what to do about drives that nothing is on, or that an array is on already.
fn hint(error: &durable::OpenError, create: bool, settings: &Settings) -> String {
    let is_blank = matches!(
        error,
        durable::OpenError::Array(durability::OpenError::Refused(
            Refusal::Nothing { missing: 0, .. } | Refusal::BeingCreated
        ))
    );
    let is_member = matches!(
        error,
        durable::OpenError::NotBlank { found: durability::Contents::Member(_), .. }
    );
    match (is_blank && settings.serve.uuid.is_none(), create, is_member) {
        (true, false, _) => format!("{error}; to make a new array on these drives say --create"),
        (_, true, true) => format!("{error}; leave --create out to serve that array"),
        _ => error.to_string(),
    }
}

impl Opened {
    /// The name of the array: one that is in memory is another at every start.
    pub(crate) fn uuid(&self) -> Result<Uuid, Failure> {
        match &self.durable {
            Some(durable) => Ok(durable.records.superblock.uuid),
            None => durable::random_uuid().map_err(Failure::internal),
        }
    }

    /// Its uuid with a blank before, for a line of the log; empty if it is in memory.
    pub(crate) fn name(&self) -> String {
        let durable = self.durable.as_ref();
        durable.map_or_else(String::new, |durable| format!(" {}", durable.records.superblock.uuid))
    }

    /// Whether it outlives its process.
    pub(crate) fn is_durable(&self) -> bool {
        self.durable.is_some()
    }

    /// The drives that are given up when this is dropped.
    pub(crate) fn take_claimed(&mut self) -> Claimed {
        std::mem::take(&mut self.claimed)
    }

    /// Everything that the array's thread needs. Hosts attach over NVMe/TCP if there is a target;
    /// of the memory for clients those over NBD get what it leaves.
    pub(crate) fn into_setup(
        self,
        hosts: Option<TargetSetup>,
        memory: array::Memory,
        watched: Watched,
    ) -> Result<Setup, Failure> {
        let for_hosts_bytes = hosts.as_ref().map_or(0, |target| target.memory_bytes);
        let Self { built, storage, durable, absent, repairs, states, .. } = self;
        let in_memory = durable.is_none();
        let switch = switch_table(&built);
        let drives = drives::models(&built, states)?;
        Ok(Setup {
            array: array::Config { absent, read_repair: true, ..built.config },
            drives,
            storage,
            durable,
            drive_bytes: built.geometry.drive_bytes,
            checksums_in_memory: in_memory && built.geometry.checksums,
            repairs,
            spin: built.spin,
            client_memory_bytes: built.client_memory_bytes - for_hosts_bytes,
            hosts,
            switch,
            memory,
            watched,
        })
    }
}
