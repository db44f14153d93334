//! The binary records of VSCSI, of both versions.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use ioda_workload::{Format, Op, ReadOptions, TraceReader};
use std::io::Cursor;

/// Command, sector, length in bytes, time in microseconds.
type Record = (u16, u64, u32, u64);

const RECORDS: [Record; 5] = [
    (0x28, 16, 4_096, 5_000_000),
    (0x2a, 2_056, 16_384, 5_000_250),
    (0x35, 0, 0, 5_000_300),
    (0x8a, 1 << 32, 65_536, 5_001_000),
    (0x1a, 0, 36, 5_001_100),
];

fn file(version: u8, records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, (command, sector, length, time)) in (1_u32..).zip(records) {
        let tag = [command.to_le_bytes(), (u16::from(version) << 8 | 7).to_le_bytes()].concat();
        let numbers = [number, *length, 1].map(u32::to_le_bytes).concat();
        match version {
            1 => bytes.extend([numbers, tag].concat()),
            _ => bytes.extend([tag, numbers].concat()),
        }
        bytes.extend(sector.to_le_bytes());
        bytes.extend(time.to_le_bytes());
        if version == 2 {
            bytes.extend(900_u64.to_le_bytes());
        }
    }
    bytes
}

fn open(bytes: &[u8], options: &ReadOptions) -> Result<TraceReader, String> {
    TraceReader::from_reader(Cursor::new(bytes.to_vec()), "t", options)
        .map_err(|error| error.to_string())
}

/// The first error.
fn error(bytes: &[u8], options: &ReadOptions) -> String {
    match open(bytes, options) {
        Ok(reader) => reader.filter_map(Result::err).next().expect("this is wrong").to_string(),
        Err(sentence) => sentence,
    }
}

#[test]
fn both_versions_are_told_and_read() {
    let given = ReadOptions { format: Some(Format::Vscsi), ..ReadOptions::default() };
    for (version, bytes) in [(1, 32), (2, 40)] {
        let plain = file(version, &RECORDS);
        assert_eq!(plain.len(), RECORDS.len() * bytes);
        let packed = zstd::encode_all(plain.as_slice(), 1).unwrap();
        for (file, options) in
            [(&plain, ReadOptions::default()), (&plain, given.clone()), (&packed, given.clone())]
        {
            let mut reader = open(file, &options).unwrap();
            let requests: Vec<_> = reader
                .by_ref()
                .map(|request| request.unwrap())
                .map(|r| (r.at.as_nanos(), r.op, r.offset_bytes, r.size_bytes, r.device))
                .collect();
            assert_eq!(
                requests,
                [
                    (0, Op::Read, 8_192, 4_096, 0),
                    (250_000, Op::Write, 1_052_672, 16_384, 0),
                    (1_000_000, Op::Write, 2 << 40, 65_536, 0),
                ]
            );
            assert_eq!(reader.counts().skipped_text(), "flush 1, SCSI command 0x1a 1");
            let said = reader.detected().to_string();
            assert!(said.starts_with("format vscsi, times in us, sectors of 512 B"), "{said}");
            let records =
                format!("the first records are of {bytes} bytes and of version {version} of vscsi");
            assert!(said.contains(&records), "{said}");
        }
    }
}

#[test]
fn damage_is_named_with_its_record() {
    let options = ReadOptions::default();
    let bytes = file(2, &RECORDS);
    assert_eq!(
        error(&bytes[..bytes.len() - 3], &options),
        "trace t, record 5: the file ends after 37 of the 40 bytes of the record; fetch the file \
         again"
    );
    let many: Vec<Record> = (0..200).map(|i| (0x28, i, 512, i)).collect();
    let joined = [file(1, &many), file(2, &many)].concat();
    let sentence = error(&joined, &options);
    assert!(
        sentence.starts_with("trace t, record 201: the version of the record is 0x"),
        "{sentence}"
    );
    let long = file(1, &[(0x28, 0, 512, 0), (0x28, 0, u32::MAX, 1)]);
    assert_eq!(
        error(&long, &options),
        "trace t, record 2: the request is 4294967295 bytes long, over the limit of 1 GiB; check \
         the sector size and the column order"
    );
    let given = ReadOptions { format: Some(Format::Vscsi), ..ReadOptions::default() };
    assert_eq!(
        error(b"t_us,op,offset_bytes,size_bytes\n0,R,0,512\n", &given),
        "trace t: it does not begin with records of vscsi, of 32 bytes in version 1 or 40 bytes in \
         version 2; choose another format or another file"
    );
    assert_eq!(
        error(b"", &given),
        "trace t holds no request: 0 lines read, skipped: nothing; the file is empty"
    );
}
