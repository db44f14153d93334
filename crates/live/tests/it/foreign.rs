//! What other programs make is recognised, and neither truncated nor overwritten. The programs are
//! real ones, which `scripts/install-test-tools` installs.
#![allow(clippy::unwrap_used, reason = "a test")]

use array::Level;
use live::durable::format::{QUIET_FOR, join};
use live::durable::{Geometry, OpenArray, OpenError, create};
use live::storage::DriveLocation;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;
use units::DriveId;

/// Large enough for every format here.
const IMAGE_BYTES: u64 = 512 << 20;
const GEOMETRY: Geometry = Geometry {
    checksums: true,
    level: Level::Raid1,
    width: 2,
    stripe_width: 2,
    chunk_bytes: 4096,
    page_bytes: 4096,
    drive_bytes: 1 << 20,
    journalled: live::durable::Journalled::Degraded,
};

/// A program with its arguments, before the file, what it reads, and what is found.
struct Maker {
    command: &'static [&'static str],
    input: &'static str,
    found: &'static str,
}

const fn maker(
    command: &'static [&'static str],
    input: &'static str,
    found: &'static str,
) -> Maker {
    Maker { command, input, found }
}

const LUKS: &[&str] = &[
    "cryptsetup",
    "luksFormat",
    "--batch-mode",
    "--key-file=-",
    "--pbkdf=pbkdf2",
    "--pbkdf-force-iterations=1000",
    "--type=luks2",
];

const MAKERS: &[Maker] = &[
    maker(&["mkfs.ext4", "-q", "-F"], "", "ext2, ext3 or ext4 file system at byte 1080"),
    maker(&["mkfs.btrfs", "-q"], "", "btrfs file system at byte 65600"),
    maker(&["mkfs.xfs", "-q"], "", "XFS file system at byte 0"),
    maker(&["mkswap"], "", "swap space at byte 4086"),
    maker(&["mkfs.vfat"], "", "FAT file system at byte"),
    maker(&["mkfs.ntfs", "-F", "-Q", "-q"], "", "NTFS file system at byte 3"),
    maker(&["mkfs.exfat"], "", "exFAT file system at byte 3"),
    maker(&["mkfs.f2fs", "-q"], "", "F2FS file system at byte 1024"),
    maker(&["mkfs.nilfs2", "-q"], "", "NILFS2 file system at byte 1030"),
    maker(&["mkfs.jfs", "-q"], "", "JFS file system at byte 32768"),
    maker(&["mkfs.udf"], "", "UDF file system at byte"),
    maker(&["sfdisk", "-q"], "label: gpt\n,,L\n", "GPT partition table at byte 512"),
    maker(&["sfdisk", "-q"], "label: dos\n,,L\n", "MBR partition table or boot sector at byte 510"),
    maker(LUKS, "secret", "LUKS encrypted data at byte 0"),
];

fn image(path: &Path) {
    std::fs::File::create(path).unwrap().set_len(IMAGE_BYTES).unwrap();
}

fn make(maker: &Maker, path: &Path) {
    image(path);
    let (program, arguments) = maker.command.split_first().unwrap();
    let search = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut child = Command::new(program)
        .args(arguments)
        .arg(path)
        .env("PATH", search)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), maker.input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{program}");
}

/// What changes when anything is written to a file, or it is truncated.
fn state(path: &Path) -> (u64, u64, SystemTime) {
    let about = std::fs::metadata(path).unwrap();
    (about.len(), about.blocks(), about.modified().unwrap())
}

fn array_in(folder: &Path) -> OpenArray {
    let places = [0, 1].map(|drive| DriveLocation::File(folder.join(format!("drive-{drive}"))));
    create(&places, &GEOMETRY, QUIET_FOR).unwrap()
}

/// Tries to make a drive of the file, in every way there is.
fn refusals(array: &OpenArray, path: &Path) -> [String; 4] {
    let blank = path.with_extension("blank");
    let places = |place: DriveLocation| [DriveLocation::File(blank.clone()), place];
    let file = || DriveLocation::File(path.into());
    let records = &array.records;
    let join = |place: &DriveLocation| {
        join(place, DriveId(1), &records.superblock, &records.intent, &records.journal)
    };
    let said = |result: Result<(), OpenError>| result.unwrap_err().to_string();
    let refusals = [
        said(create(&places(file()), &GEOMETRY, QUIET_FOR).map(drop)),
        said(create(&places(DriveLocation::Direct(path.into())), &GEOMETRY, QUIET_FOR).map(drop)),
        said(join(&file()).map(drop)),
        said(join(&DriveLocation::Direct(path.into())).map(drop)),
    ];
    assert!(!blank.exists(), "a creation that is refused makes nothing");
    refusals
}

#[test]
fn what_other_programs_make_is_recognised_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let array = array_in(folder.path());
    for maker in MAKERS {
        let what = format!("what {} makes", maker.command[0]);
        if !testing::tools::have(&what, &maker.command[..1]) {
            continue;
        }
        let path: PathBuf = folder.path().join("image");
        make(maker, &path);
        let before = state(&path);
        for said in refusals(&array, &path) {
            // Not every file system can do direct I/O.
            if !said.contains("cannot be opened for direct I/O") {
                let found = format!("is not blank: {}", maker.found);
                assert!(said.contains(&found), "{}: {said}", maker.command[0]);
                assert!(
                    said.contains(&format!("`truncate --size 0 {}`", path.display())),
                    "{said}"
                );
            }
        }
        assert_eq!(state(&path), before, "{}", maker.command[0]);
    }
}

#[test]
fn a_file_with_anything_in_it_is_never_truncated_and_a_hole_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let array = array_in(folder.path());
    let path = folder.path().join("image");
    image(&path);
    // Further inside than anybody looks on a device.
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"letters", 200 << 20).unwrap();
    let before = state(&path);
    for said in refusals(&array, &path) {
        let direct = said.contains("cannot be opened for direct I/O");
        assert!(direct || said.contains("is not blank: data at byte 209715200"), "{said}");
    }
    assert_eq!(state(&path), before);

    std::fs::write(&path, b"a short letter").unwrap();
    for said in refusals(&array, &path) {
        let direct = said.contains("cannot be opened for direct I/O");
        assert!(direct || said.contains("is not blank: data at byte 0"), "{said}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"a short letter");

    // Nothing was ever written to it: it is used, and keeps its size.
    image(&path);
    let records = &array.records;
    let place = DriveLocation::File(path.clone());
    let (superblock, intent) = (&records.superblock, &records.intent);
    join(&place, DriveId(1), superblock, intent, &records.journal).unwrap();
    assert_eq!(state(&path).0, IMAGE_BYTES);
}

/// Who made swap space of a drive that had failed left one of its superblocks.
#[test]
fn a_failed_drive_that_somebody_used_for_something_else_does_not_join() {
    let folder = tempfile::tempdir().unwrap();
    let mut array = array_in(folder.path());
    drop(array.disks[1].take());
    let path = folder.path().join("drive-1");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"SWAPSPACE2", 4086).unwrap();
    let before = state(&path);
    for said in refusals(&array, &path) {
        let direct = said.contains("cannot be opened for direct I/O");
        let member = said.contains("is not blank: it is a drive of array");
        let swap = said.contains("is not blank: swap space at byte 4086");
        assert!(direct || member || swap, "{said}");
    }
    assert_eq!(state(&path), before);
}
