//! Meaning of a column's name: the contents and the unit.

use super::columns::AddressUnit;
use crate::trace::TimeUnit;
use units::{GIB, KIB, MIB};

/// Contents of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Time,
    Op,
    Offset,
    Size,
    Device,
    /// Event of a request, as in a blkparse log: a request may have several lines.
    Event,
}

/// Meaning of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Named {
    pub(super) role: Role,
    /// Whether the name is so common that a clearer one is preferred.
    pub(super) vague: bool,
}

/// Words in names of columns that are never the time, though `time` may occur in them.
const OTHER_TIMES: [&str; 40] = [
    "response",
    "resp",
    "responsetime",
    "latency",
    "lat",
    "clat",
    "slat",
    "rt",
    "service",
    "svc",
    "duration",
    "dur",
    "wait",
    "queue",
    "queued",
    "qtime",
    "delay",
    "complete",
    "completed",
    "completion",
    "finish",
    "finished",
    "end",
    "ended",
    "done",
    "delta",
    "diff",
    "inter",
    "interarrival",
    "interval",
    "gap",
    "think",
    "idle",
    "cost",
    "took",
    "error",
    "status",
    "elapsedtime",
    "servicetime",
    "await",
];
const TIMES: [&str; 22] = [
    "time",
    "timestamp",
    "timestamps",
    "tstamp",
    "ts",
    "datetime",
    "date",
    "arrival",
    "arrivaltime",
    "starttime",
    "issuetime",
    "submittime",
    "requesttime",
    "clock",
    "epoch",
    "unixtime",
    "filetime",
    "eventtime",
    "when",
    "t",
    "timeus",
    "timens",
];
const OPS: [&str; 19] = [
    "op",
    "ops",
    "operation",
    "operations",
    "opcode",
    "optype",
    "opname",
    "iotype",
    "rw",
    "rwbs",
    "readwrite",
    "rorw",
    "cmd",
    "command",
    "direction",
    "dir",
    "reqtype",
    "requesttype",
    "accesstype",
];
/// Names of operations, if all values are operations.
const VAGUE_OPS: [&str; 6] = ["type", "kind", "io", "flag", "flags", "access"];
const EVENTS: [&str; 3] = ["action", "event", "act"];
const DEVICES: [&str; 30] = [
    "dev",
    "device",
    "disk",
    "drive",
    "volume",
    "vol",
    "lun",
    "asu",
    "host",
    "hostname",
    "server",
    "vm",
    "vmid",
    "vdisk",
    "file",
    "filename",
    "path",
    "inode",
    "deviceid",
    "diskid",
    "disknumber",
    "volumeid",
    "devid",
    "devname",
    "nsid",
    "namespace",
    "target",
    "major",
    "minor",
    "lunid",
];
const OFFSETS: [&str; 25] = [
    "offset",
    "off",
    "byteoffset",
    "lba",
    "lbn",
    "slba",
    "startlba",
    "sector",
    "startsector",
    "sectornumber",
    "lsn",
    "block",
    "blk",
    "blkno",
    "blockno",
    "blocknumber",
    "address",
    "addr",
    "position",
    "pos",
    "start",
    "startoffset",
    "startingoffset",
    "diskoffset",
    "startaddress",
];
const SIZES: [&str; 24] = [
    "size",
    "length",
    "len",
    "sz",
    "bs",
    "nbytes",
    "bytes",
    "iosize",
    "reqsize",
    "requestsize",
    "blocksize",
    "iolength",
    "xferlen",
    "transferlength",
    "transfersize",
    "nlb",
    "nsectors",
    "nsector",
    "numsectors",
    "sectorcount",
    "sectors",
    "nblocks",
    "numblocks",
    "blockcount",
];
/// Words that make a name with a sector or a block a number of these.
const COUNTS: [&str; 6] = ["count", "cnt", "num", "nr", "n", "number"];
/// Words for sizes of other things than requests.
const OTHER_SIZES: [&str; 10] =
    ["total", "file", "disk", "device", "volume", "lun", "page", "queue", "sector", "cache"];

/// Words of a name, in lower case, split at signs and where a capital follows a small letter.
pub(super) fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let before = at.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(at + 1);
        // `OffsetBytes` has two words, and so has `IOType`.
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_uppercase() && after.is_some_and(|after| after.is_lowercase())
            });
        if begins {
            words.push(String::new());
        }
        // Both characters in use for micro.
        let letter = if matches!(letter, 'µ' | 'μ') { 'u' } else { *letter };
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    // `KiB` and `kB` count as one word.
    let mut at = 1;
    while at < words.len() {
        if words[at] == "b" && ["k", "m", "g", "ki", "mi", "gi"].contains(&words[at - 1].as_str()) {
            words.remove(at);
            words[at - 1].push('b');
        }
        at += 1;
    }
    words
}

/// Contents of the column with this name; `None` if the name has no known meaning.
pub(super) fn role(name: &str) -> Option<Named> {
    let words = words(name);
    let joined = words.concat();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let is = |known: &[&str]| known.contains(&joined.as_str());
    let clear = |role| Some(Named { role, vague: false });
    let vague = |role| Some(Named { role, vague: true });
    if has(&OTHER_TIMES) || is(&OTHER_TIMES) {
        return None;
    }
    if is(&EVENTS) {
        return vague(Role::Event);
    }
    if has(&TIMES) || is(&TIMES) {
        return match has(&["zone"]) {
            true => None,
            // A column with the time of day may stand beside it.
            false if is(&["date"]) => vague(Role::Time),
            false => clear(Role::Time),
        };
    }
    if is(&["elapsed", "elapseds", "elapsedms", "elapsedus", "elapsedns"]) {
        return vague(Role::Time);
    }
    if has(&OPS) || is(&OPS) || flag_of(name).is_some() || joined == "readorwrite" {
        return clear(Role::Op);
    }
    if is(&VAGUE_OPS) {
        return vague(Role::Op);
    }
    if is(&["blockdevice", "blockdev"]) {
        return clear(Role::Device);
    }
    let sectors = has(&["sector", "block", "blk", "lba", "page"]);
    let counts = has(&["sectors", "blocks", "lbas", "blks", "pages"]) || sectors && has(&COUNTS);
    let begins = has(&["start", "starting", "first", "offset", "off"]);
    // `sector_number` is an address, `number_of_sectors` a size.
    let which = sectors && joined.ends_with("number");
    if has(&["offset", "off", "address", "addr"]) || begins && (sectors || counts) {
        return clear(Role::Offset);
    }
    if has(&["size", "length", "len", "sz"]) {
        let other = has(&OTHER_SIZES) || is(&OTHER_SIZES);
        return if other { None } else { clear(Role::Size) };
    }
    if is(&SIZES) || (counts && !which) || has(&["nbytes", "bytes"]) {
        return clear(Role::Size);
    }
    if has(&OFFSETS) || is(&OFFSETS) {
        return clear(Role::Offset);
    }
    (has(&DEVICES) || is(&DEVICES)).then_some(Named { role: Role::Device, vague: false })
}

/// For a column such as `is_write`, whether true means a write; `None` for other names.
pub(super) fn flag_of(name: &str) -> Option<bool> {
    match words(name).concat().as_str() {
        "iswrite" | "writeflag" => Some(true),
        "isread" | "readflag" => Some(false),
        _ => None,
    }
}

/// Unit of time in a name, such as `time_us` or `Timestamp (ms)`.
pub(super) fn time_unit(name: &str) -> Option<TimeUnit> {
    let mut found = None;
    for word in words(name) {
        let unit = match word.as_str() {
            "s" | "sec" | "secs" | "second" | "seconds" => TimeUnit::Seconds,
            "ms" | "msec" | "msecs" | "millis" | "millisec" | "millisecond" | "milliseconds" => {
                TimeUnit::Milliseconds
            }
            "us" | "usec" | "usecs" | "micros" | "microsec" | "microsecond" | "microseconds"
            | "timeus" => TimeUnit::Microseconds,
            "100ns" | "filetime" => TimeUnit::HundredNanoseconds,
            "ns" | "nsec" | "nsecs" | "nanos" | "nanosec" | "nanosecond" | "nanoseconds"
            | "timens" => TimeUnit::Nanoseconds,
            _ => continue,
        };
        if found.is_some_and(|other| other != unit) {
            return None;
        }
        found = Some(unit);
    }
    found
}

/// Unit of addresses or sizes in a name.
pub(super) fn address_unit(name: &str) -> Option<AddressUnit> {
    let words = words(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    if has(&["bytes", "byte", "nbytes", "b", "byteoffset"]) {
        return Some(AddressUnit::Bytes);
    }
    if has(&["kb", "kib", "kbytes", "kbyte", "k"]) {
        return Some(AddressUnit::Each(KIB));
    }
    if has(&["mb", "mib", "mbytes", "mbyte"]) {
        return Some(AddressUnit::Each(MIB));
    }
    if has(&["gb", "gib", "gbytes", "gbyte"]) {
        return Some(AddressUnit::Each(GIB));
    }
    let sectors = [
        "sector",
        "sectors",
        "lba",
        "lbas",
        "lbn",
        "slba",
        "startlba",
        "startsector",
        "lsn",
        "sectornumber",
        "sectorcount",
        "nsectors",
        "nsector",
        "numsectors",
        "nlb",
    ];
    has(&sectors).then_some(AddressUnit::Sectors)
}

/// Whether a name counts blocks or pages of unknown size.
pub(super) fn is_blocks(name: &str) -> bool {
    let blocks = [
        "block",
        "blocks",
        "blk",
        "blkno",
        "blockno",
        "blocknumber",
        "nblocks",
        "numblocks",
        "blockcount",
        "page",
        "pages",
    ];
    words(name).iter().any(|word| blocks.contains(&word.as_str()))
}

/// Whether a name says that its numbers are hexadecimal.
pub(super) fn is_hexadecimal(name: &str) -> bool {
    words(name).iter().any(|word| word == "hex")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_columns_hold() {
        let cases = [
            ("time", Role::Time),
            ("Timestamp", Role::Time),
            ("t", Role::Time),
            ("t_ns", Role::Time),
            ("ts (ms)", Role::Time),
            ("ArrivalTime", Role::Time),
            ("Date", Role::Time),
            ("IssueTimeUs", Role::Time),
            ("op", Role::Op),
            ("IOType", Role::Op),
            ("R/W", Role::Op),
            ("Opcode", Role::Op),
            ("is_write", Role::Op),
            ("rwbs", Role::Op),
            ("offset_bytes", Role::Offset),
            ("Byte Offset", Role::Offset),
            ("LBA", Role::Offset),
            ("start_sector", Role::Offset),
            ("sector", Role::Offset),
            ("sector_number", Role::Offset),
            ("host_lba", Role::Offset),
            ("size", Role::Size),
            ("io_size_kb", Role::Size),
            ("Length (bytes)", Role::Size),
            ("nr_sector", Role::Size),
            ("number_of_sectors", Role::Size),
            ("sectors", Role::Size),
            ("bytes", Role::Size),
            ("block_size", Role::Size),
            ("DiskNumber", Role::Device),
            ("hostname", Role::Device),
            ("dev", Role::Device),
            ("action", Role::Event),
        ];
        for (name, expected) in cases {
            assert_eq!(role(name).map(|named| named.role), Some(expected), "{name}");
        }
        for name in [
            "latency_us",
            "ResponseTime",
            "completion_time",
            "end_lba",
            "pid",
            "Unnamed: 0",
            "",
            "inter_arrival_time",
            "comm",
            "cpu",
            "file_size",
            "queue_size",
            "timezone_zone",
        ] {
            assert_eq!(role(name), None, "{name}");
        }
    }

    #[test]
    fn names_give_units() {
        let times = [
            ("time_us", Some(TimeUnit::Microseconds)),
            ("Timestamp [µs]", Some(TimeUnit::Microseconds)),
            ("t(ms)", Some(TimeUnit::Milliseconds)),
            ("TimeSec", Some(TimeUnit::Seconds)),
            ("ts_ns", Some(TimeUnit::Nanoseconds)),
            ("filetime", Some(TimeUnit::HundredNanoseconds)),
            ("timestamp", None),
            ("time_s_ms", None),
        ];
        for (name, unit) in times {
            assert_eq!(time_unit(name), unit, "{name}");
        }
        let addresses = [
            ("offset_bytes", Some(AddressUnit::Bytes)),
            ("ByteOffset", Some(AddressUnit::Bytes)),
            ("LBA", Some(AddressUnit::Sectors)),
            ("nr_sectors", Some(AddressUnit::Sectors)),
            ("size_kb", Some(AddressUnit::Each(1 << 10))),
            ("Size (kB)", Some(AddressUnit::Each(1 << 10))),
            ("sizeKiB", Some(AddressUnit::Each(1 << 10))),
            ("Length (MiB)", Some(AddressUnit::Each(1 << 20))),
            ("offset", None),
            ("block", None),
        ];
        for (name, unit) in addresses {
            assert_eq!(address_unit(name), unit, "{name}");
        }
    }
}
