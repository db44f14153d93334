//! Signatures of known formats: magic bytes and their places.
//!
//! Every tool that names file systems has such a table. Any match only refuses the drive, so a rule
//! may be too broad, but must not be missing. Specific rules come first; rules that match other
//! formats too (a boot sector) come last.

/// Place of the magic bytes of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spot {
    /// Offset from the start, in bytes.
    Start(u64),
    /// Near the end: `back_bytes` before the size, rounded down to `granule_bytes`.
    End {
        /// Granule to which the size is rounded down.
        granule_bytes: u64,
        /// Distance from there back to the magic.
        back_bytes: u64,
    },
}

impl Spot {
    /// Offset of `length_bytes` bytes at this place of a drive of `size_bytes`; `None` if they do
    /// not fit.
    pub(super) fn on(self, size_bytes: u64, length_bytes: u64) -> Option<u64> {
        let at_bytes = match self {
            Self::Start(at_bytes) => at_bytes,
            Self::End { granule_bytes, back_bytes } => {
                (size_bytes / granule_bytes * granule_bytes).checked_sub(back_bytes)?
            }
        };
        let end = at_bytes.checked_add(length_bytes)?;
        (end <= size_bytes).then_some(at_bytes)
    }
}

/// A format: its magic bytes (any of them) and their places (any of them).
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) magics: &'static [&'static [u8]],
    pub(super) spots: &'static [Spot],
}

const fn rule(
    name: &'static str,
    magics: &'static [&'static [u8]],
    spots: &'static [Spot],
) -> Rule {
    Rule { name, magics, spots }
}

const fn at(at_bytes: u64) -> Spot {
    Spot::Start(at_bytes)
}

const fn end(granule_bytes: u64, back_bytes: u64) -> Spot {
    Spot::End { granule_bytes, back_bytes }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Bytes of a ZFS label: two are at the start and two at the end, with their names 16 KiB inside.
const ZFS_LABEL: u64 = 256 * KIB;
/// Offset of the magic of UFS within a superblock.
const UFS_MAGIC: u64 = 1372;
const BCACHE: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
const BCACHEFS: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef,
];

/// All known formats, in the order of the search.
pub(super) const RULES: &[Rule] = &[
    // Parts of arrays, volumes and encrypted data: their content has signatures of its own, which
    // say less.
    rule("LUKS encrypted data", &[b"LUKS\xba\xbe"], &[at(0)]),
    rule(
        "second header of LUKS encrypted data",
        &[b"SKUL\xba\xbe"],
        &[
            at(16 * KIB),
            at(32 * KIB),
            at(64 * KIB),
            at(128 * KIB),
            at(256 * KIB),
            at(512 * KIB),
            at(MIB),
            at(2 * MIB),
            at(4 * MIB),
        ],
    ),
    rule("BitLocker encrypted data", &[b"-FVE-FS-"], &[at(3)]),
    rule("LVM physical volume", &[b"LVM2 001"], &[at(0x18), at(0x218), at(0x418), at(0x618)]),
    rule("Linux md member (metadata 1.1)", &[b"\xfc\x4e\x2b\xa9"], &[at(0)]),
    rule("Linux md member (metadata 1.2)", &[b"\xfc\x4e\x2b\xa9"], &[at(4 * KIB)]),
    rule("Linux md member (metadata 1.0)", &[b"\xfc\x4e\x2b\xa9"], &[end(4 * KIB, 8 * KIB)]),
    rule(
        "Linux md member (metadata 0.90)",
        &[b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc"],
        &[end(64 * KIB, 64 * KIB)],
    ),
    rule("Intel RAID member", &[b"Intel Raid ISM Cfg Sig. "], &[end(512, 1024)]),
    rule("LSI RAID member", &[b"$XIDE$"], &[end(512, 512)]),
    rule("NVIDIA RAID member", &[b"NVIDIA  "], &[end(512, 1024)]),
    rule(
        "DDF RAID member",
        &[b"\xde\x11\xde\x11", b"\x11\xde\x11\xde"],
        &[end(512, 512), end(512, 257 * 512)],
    ),
    rule(
        "DRBD device",
        &[b"\x83\x74\x02\x6b", b"\x83\x74\x02\x6c", b"\x83\x74\x02\x6d"],
        &[end(4 * KIB, 4 * KIB - 60)],
    ),
    rule(
        "ZFS pool member",
        &[
            b"\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01",
            b"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01",
        ],
        &[
            at(16 * KIB),
            at(ZFS_LABEL + 16 * KIB),
            end(ZFS_LABEL, 2 * ZFS_LABEL - 16 * KIB),
            end(ZFS_LABEL, ZFS_LABEL - 16 * KIB),
        ],
    ),
    rule("bcache device", &[BCACHE], &[at(4 * KIB + 24)]),
    rule("Ceph BlueStore", &[b"bluestore block device"], &[at(0)]),
    rule("VDO volume", &[b"dmvdo001"], &[at(0)]),
    rule("Stratis device", &[b"!Stra0tis\x86\xff\x02^\x41rh"], &[at(516), at(9 * 512 + 4)]),
    rule("Oracle ASM disk", &[b"ORCLDISK"], &[at(32)]),
    rule("dm-integrity device", &[b"integrt\0"], &[at(0)]),
    rule("dm-verity hashes", &[b"verity\0\0"], &[at(0)]),
    rule("device mapper snapshot", &[b"SnAp"], &[at(0)]),
    rule("VMFS volume", &[b"\x0d\xd0\x01\xc0"], &[at(MIB)]),
    // File systems.
    rule(
        "btrfs file system",
        &[b"_BHRfS_M"],
        &[at(64 * KIB + 64), at(64 * MIB + 64), at((256 << 30) + 64)],
    ),
    rule("XFS file system", &[b"XFSB"], &[at(0)]),
    rule("XFS external log", &[b"\xfe\xed\xba\xbe"], &[at(0)]),
    rule(
        "bcachefs file system",
        &[BCACHEFS, BCACHE],
        &[at(4 * KIB + 24), at(2 * MIB + 24), end(512, MIB - 24)],
    ),
    rule("F2FS file system", &[b"\x10\x20\xf5\xf2"], &[at(KIB), at(5 * KIB)]),
    rule("NTFS file system", &[b"NTFS    "], &[at(3)]),
    rule("ReFS file system", &[b"ReFS\0"], &[at(3)]),
    rule("exFAT file system", &[b"EXFAT   "], &[at(3)]),
    rule("FAT file system", &[b"FAT32   ", b"MSWIN"], &[at(82)]),
    rule("FAT file system", &[b"FAT12   ", b"FAT16   ", b"FAT     ", b"MSDOS"], &[at(54)]),
    rule("UDF file system", &[b"BEA01", b"NSR02", b"NSR03"], &[at(32 * KIB + 1)]),
    rule("UDF file system", &[b"NSR02", b"NSR03"], &[at(34 * KIB + 1), at(36 * KIB + 1)]),
    rule("ISO 9660 file system", &[b"CD001"], &[at(32 * KIB + 1)]),
    rule("ISO 9660 file system (High Sierra)", &[b"CDROM"], &[at(32 * KIB + 9)]),
    rule("OCFS2 file system", &[b"OCFSV2"], &[at(KIB), at(2 * KIB), at(4 * KIB), at(8 * KIB)]),
    rule("OCFS file system", &[b"OracleCFS"], &[at(8 * KIB)]),
    rule("GFS2 file system", &[b"\x01\x16\x19\x70"], &[at(64 * KIB)]),
    rule(
        "ReiserFS file system",
        &[b"ReIsErFs", b"ReIsEr2Fs", b"ReIsEr3Fs"],
        &[at(64 * KIB + 0x34), at(8 * KIB + 0x34), at(8 * KIB + 20)],
    ),
    rule("Reiser4 file system", &[b"ReIsEr4"], &[at(64 * KIB)]),
    rule("JFS file system", &[b"JFS1"], &[at(32 * KIB)]),
    rule("APFS container", &[b"NXSB"], &[at(32)]),
    rule("SquashFS file system", &[b"hsqs", b"sqsh"], &[at(0)]),
    rule("EROFS file system", &[b"\xe2\xe1\xf5\xe0"], &[at(KIB)]),
    rule("cramfs file system", &[b"\x45\x3d\xcd\x28", b"\x28\xcd\x3d\x45"], &[at(0)]),
    rule("romfs file system", &[b"-rom1fs-"], &[at(0)]),
    rule("VxFS file system", &[b"\xf5\xfc\x01\xa5"], &[at(KIB)]),
    rule("VxFS file system", &[b"\xa5\x01\xfc\xf5"], &[at(8 * KIB)]),
    rule("VMFS file system", &[b"\x5e\xf1\xab\x2f"], &[at(2 * MIB)]),
    rule("HPFS file system", &[b"\x49\xe8\x95\xf9"], &[at(8 * KIB)]),
    rule(
        "UFS file system",
        &[b"\x54\x19\x01\x00", b"\x00\x01\x19\x54", b"\x19\x01\x54\x19", b"\x19\x54\x01\x19"],
        &[
            at(UFS_MAGIC),
            at(8 * KIB + UFS_MAGIC),
            at(64 * KIB + UFS_MAGIC),
            at(256 * KIB + UFS_MAGIC),
        ],
    ),
    rule(
        "swap space",
        &[b"SWAPSPACE2", b"SWAP-SPACE"],
        &[
            at(4 * KIB - 10),
            at(8 * KIB - 10),
            at(16 * KIB - 10),
            at(32 * KIB - 10),
            at(64 * KIB - 10),
        ],
    ),
    rule(
        "suspended system",
        &[b"S1SUSPEND", b"S2SUSPEND", b"ULSUSPEND", b"LINHIB0001"],
        &[
            at(4 * KIB - 10),
            at(8 * KIB - 10),
            at(16 * KIB - 10),
            at(32 * KIB - 10),
            at(64 * KIB - 10),
        ],
    ),
    // Magics of two bytes.
    rule("ext2, ext3 or ext4 file system", &[b"\x53\xef"], &[at(KIB + 56)]),
    rule("NILFS2 file system", &[b"\x34\x34"], &[at(KIB + 6), end(512, 8 * 512 - 6)]),
    rule("HFS or HFS+ file system", &[b"H+", b"HX", b"BD"], &[at(KIB)]),
    rule(
        "Minix file system",
        &[b"\x7f\x13", b"\x8f\x13", b"\x68\x24", b"\x78\x24"],
        &[at(KIB + 16)],
    ),
    rule("Minix file system", &[b"\x5a\x4d"], &[at(KIB + 24)]),
    // Partition tables: a protective MBR stands before a GPT, and boot sectors look like an MBR.
    rule("GPT partition table", &[b"EFI PART"], &[at(512), at(4 * KIB)]),
    rule(
        "backup of a GPT partition table",
        &[b"EFI PART"],
        &[end(512, 512), end(4 * KIB, 4 * KIB)],
    ),
    rule("Apple partition map", &[b"PM\0\0"], &[at(512)]),
    rule("BSD disk label", &[b"\x57\x45\x56\x82"], &[at(64), at(128), at(512)]),
    rule("SGI disk label", &[b"\x0b\xe5\xa9\x41"], &[at(0)]),
    rule("Sun disk label", &[b"\xda\xbe"], &[at(508)]),
    rule("MBR partition table or boot sector", &[b"\x55\xaa"], &[at(510)]),
];
