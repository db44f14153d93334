//! Every error of a trace is one clear sentence, and never a panic.

use crate::samples;
use ioda_workload::{BlkparseEvent, Format, ReadOptions, TraceReader};
use std::io::Cursor;

/// The first error, which must exist and end the reading.
fn error_of(bytes: &[u8], options: &ReadOptions) -> String {
    let mut reader = match TraceReader::from_reader(Cursor::new(bytes.to_vec()), "t", options) {
        Ok(reader) => reader,
        Err(error) => return error.to_string(),
    };
    let error = reader.by_ref().find_map(Result::err).expect("this input is wrong");
    assert!(reader.next().is_none(), "something came after the error");
    error.to_string()
}

fn error(text: &str) -> String {
    error_of(text.as_bytes(), &ReadOptions::default())
}

fn error_as(format: Format, text: &str) -> String {
    error_of(text.as_bytes(), &ReadOptions { format: Some(format), ..ReadOptions::default() })
}

/// Error of a trace in the common form with this third line.
fn third_line(line: &str) -> String {
    error(&format!("t_us,op,offset_bytes,size_bytes\n0,R,0,512\n{line}\n9,R,0,512\n"))
}

#[test]
fn wrong_lines_are_named() {
    let cases = [
        (
            "1,R,0",
            "found 3 columns in \"1,R,0\" where csv has 4 or 5; correct the line or the format",
        ),
        (
            "1,R,0,512,0,7",
            "found 6 columns in \"1,R,0,512,0,7\" where csv has 4 or 5; correct the line or the \
             format",
        ),
        (
            "1,X,0,512",
            "the operation \"X\" is not one of R, W, Read, Write; correct it or the format",
        ),
        ("1,R,zero,512", "the offset \"zero\" is not a whole number; correct it or the format"),
        ("1,R,-5,512", "the offset \"-5\" is not a whole number; correct it or the format"),
        ("1,R,0,5.5", "the size \"5.5\" is not a whole number; correct it or the format"),
        ("one,R,0,512", "the time \"one\" is not a time of zero or more; correct it or the format"),
        ("inf,R,0,512", "the time \"inf\" is not a time of zero or more; correct it or the format"),
        (
            "1,R,99999999999999999999,512",
            "the offset \"99999999999999999999\" is larger than 64 bits hold; check the unit and \
             the column order",
        ),
        (
            "99999999999999999,R,0,512",
            "the time \"99999999999999999\" is larger than 584 years; check the unit and the \
             column order",
        ),
        ("1,R,0,0", "the request has zero length; correct it, or choose to skip such requests"),
        (
            "1,R,0,1073741825",
            "the request is 1073741825 bytes long, over the limit of 1 GiB; check the sector size \
             and the column order",
        ),
        (
            "1,R,1152921504606846976,512",
            "the request at byte 1152921504606846976 ends beyond 2^60 bytes; check the sector \
             size and the column order",
        ),
        (
            "1,R,18446744073709551615,512",
            "the request at byte 18446744073709551615 ends beyond 2^60 bytes; check the sector \
             size and the column order",
        ),
    ];
    for (line, sentence) in cases {
        assert_eq!(third_line(line), format!("trace t, line 3: {sentence}"));
    }
}

#[test]
fn requests_before_the_wrong_line_are_delivered() {
    let text = "t_us,op,offset_bytes,size_bytes\n0,R,0,512\n1,R,0,512\n2,R,0\n";
    let reader = TraceReader::from_reader(Cursor::new(text), "t", &ReadOptions::default()).unwrap();
    let items: Vec<bool> = reader.map(|item| item.is_ok()).collect();
    assert_eq!(items, [true, true, false]);
}

#[test]
fn each_format_names_what_it_expects() {
    let cases = [
        (
            Format::Msr,
            "1,h,0,Read,0,512\n",
            "found 6 columns in \"1,h,0,Read,0,512\" where msr has 7; correct the line or the \
             format",
        ),
        (
            Format::Msr,
            "1,h,0,Erased,0,512,9\n",
            "the operation \"Erased\" is not one of R, W, Read, Write; correct it or the format",
        ),
        (
            Format::DiskSim,
            "0 0 0 8 2\n",
            "the operation \"2\" is not one of 1 (read), 0 (write); correct it or the format",
        ),
        (
            Format::DiskSim,
            "0 0 0 8\n",
            "found 4 columns in \"0 0 0 8\" where disksim has 5; correct the line or the format",
        ),
        (
            Format::DiskSim,
            "0 0 0 4194308 1\n",
            "the request is 2147485696 bytes long, over the limit of 1 GiB; check the sector size \
             and the column order",
        ),
        (
            Format::DiskSim,
            "0 0 18446744073709551615 8 1\n",
            "the request at byte 9444732965739290426880 ends beyond 2^60 bytes; check the sector \
             size and the column order",
        ),
        (
            Format::Systor,
            "1.5,0,R,0,0\n",
            "found 5 columns in \"1.5,0,R,0,0\" where systor has 6; correct the line or the format",
        ),
        (
            Format::Tencent,
            "1,0,8,R,1\n",
            "the operation \"R\" is not one of 0 (read), 1 (write); correct it or the format",
        ),
        (
            Format::Alibaba,
            "1,R,0,512,\n",
            "the time \"\" is not a time of zero or more; correct it or the format",
        ),
        (
            Format::Spc,
            "0,1,512,r\n",
            "found 4 columns in \"0,1,512,r\" where spc has 5 or more; correct the line or the \
             format",
        ),
        (
            Format::Blkparse,
            "8,16 0 1 0.1 5 D r@ 0 + 8 [x]\n",
            "the operation \"r@\" is not one of an RWBS word such as R, WS, RA, D, FN; correct it \
             or the format",
        ),
        (
            Format::Blkparse,
            "8,16 0 1 0.1 5 D R 0\n",
            "found 8 columns in \"8,16 0 1 0.1 5 D R 0\" where blkparse has 10 or more; correct \
             the line or the format",
        ),
        (
            Format::Blkparse,
            "nonsense\n",
            "found 1 columns in \"nonsense\" where blkparse has 7 or more; correct the line or \
             the format",
        ),
        (
            Format::FioIologV2,
            "file read 0\n",
            "found 3 columns in \"file read 0\" where fio-iolog-v2 has 2 or 4; correct the line \
             or the format",
        ),
        (
            Format::FioIologV3,
            "5 file erase 0 512\n",
            "the operation \"erase\" is not one of read, write, trim, wait, sync, datasync, \
             sync_file_range, syncfs, add, open, close; correct it or the format",
        ),
        (
            Format::Blkreplay,
            "0.5 ; 0 ; 8 ; x ; 0.0 ; 0.0\n",
            "the operation \"x\" is not one of R, W and their blktrace flags; correct it or the \
             format",
        ),
    ];
    for (format, text, sentence) in cases {
        let found = error_as(format, text);
        assert_eq!(found, format!("trace t, line 1: {sentence}"), "{format}");
    }
}

#[test]
fn time_that_goes_back_too_far_is_refused() {
    let options = ReadOptions { reorder_window: Some(1), ..ReadOptions::default() };
    let text = "t_us,op,offset_bytes,size_bytes\n0,R,0,512\n60,R,0,512\n70,R,0,512\n20,R,0,512\n";
    assert_eq!(
        error_of(text.as_bytes(), &options),
        "trace t, line 5: time goes back by 40 us, behind a request that has already left the \
         reorder window of 1 requests; sort the file, enlarge the window, or choose to clamp time"
    );
}

#[test]
fn a_clock_that_begins_again_is_another_log() {
    let options = ReadOptions { reorder_window: Some(1), ..ReadOptions::default() };
    let text = "t_us,op,offset_bytes,size_bytes\n50,R,0,512\n60,R,0,512\n70,R,0,512\n50,R,0,512\n";
    let advice = "as where the log of another job begins; give each job or device a log of its own \
                  and put them together with `ioda trace merge`";
    let error = error_of(text.as_bytes(), &options);
    assert!(
        error.starts_with("trace t, line 5: at line 5 the clock goes back from 70.0us"),
        "{error}"
    );
    assert!(error.contains(advice), "{error}");
    // Within the window they would all be one trace.
    let jobs: String =
        (0..120).map(|i| format!("{},R,{},4096\n", i % 40 * 500, i * 4_096)).collect();
    let text = format!("t_us,op,offset_bytes,size_bytes\n{jobs}");
    let error = error_of(text.as_bytes(), &ReadOptions::default());
    assert!(
        error.starts_with("trace t: at line 42 the clock goes back from 19.5ms to 0ns"),
        "{error}"
    );
    assert!(error.contains(advice), "{error}");
    let allowed = ReadOptions { allow_odd: true, ..ReadOptions::default() };
    let reader = TraceReader::from_reader(Cursor::new(text), "t", &allowed).unwrap();
    assert_eq!(reader.map(Result::unwrap).count(), 120);
}

#[test]
fn the_log_of_a_second_job_of_fio_is_refused() {
    for version in [2, 3] {
        let time = if version == 3 { "7 " } else { "" };
        let job = format!(
            "fio version {version} iolog\n{time}/dev/sdb add\n{time}/dev/sdb open\n\
             {time}/dev/sdb read 0 4096\n{time}/dev/sdb close\n"
        );
        let error = error(&format!("{job}{job}{job}"));
        assert!(
            error.starts_with("trace t, line 6: the header of another log begins here"),
            "{error}"
        );
        assert!(error.contains("give each job or device a log of its own"), "{error}");
        assert!(error.contains("ioda trace merge"), "{error}");
    }
}

#[test]
fn a_log_of_fio_without_times_is_refused_as_an_open_loop() {
    let requests: String = (0..30).map(|i| format!("/dev/sdb read {} 4096\n", i * 4_096)).collect();
    let text = format!("fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n{requests}");
    assert_eq!(
        error(&text),
        "trace t: its 30 requests all come at the same time, because this log has no times; fio \
         replays it as fast as its depth allows, and --allow-odd sends all at once"
    );
}

#[test]
fn a_column_is_not_two_things() {
    let columns = Some("time=0:us,op=1,offset=2:bytes,size=2:bytes".parse().unwrap());
    assert_eq!(
        error_of(b"0,R,0,512\n", &ReadOptions { columns, ..ReadOptions::default() }),
        "trace t: the column map has the same column for offset and size; give each its own"
    );
}

#[test]
fn damaged_compression_is_said() {
    let text: String = (0..3_000)
        .map(|i| format!("12816637200000{i:04},h,0,Read,{},512,{}\n", i * 512, i * 7 % 97))
        .collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    std::io::Write::write_all(&mut bzip2, text.as_bytes()).unwrap();
    let compressed = [
        ("gzip", gzip.finish().unwrap()),
        ("zstd", zstd::encode_all(text.as_bytes(), 1).unwrap()),
        ("bzip2", bzip2.finish().unwrap()),
    ];
    for (name, bytes) in compressed {
        let message = error_of(&bytes[..bytes.len() * 3 / 4], &ReadOptions::default());
        let start = format!("trace t is damaged: its {name} data is broken or cut off after line ");
        assert!(message.starts_with(&start), "{message}");
        assert!(message.ends_with("; fetch or compress the file again"), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    // Only the header of the compressed data.
    let message = error_of(&[0x1f, 0x8b, 0x08], &ReadOptions::default());
    assert!(message.starts_with("trace t is damaged: its gzip data"), "{message}");
}

#[test]
fn what_is_no_text_trace_is_said() {
    assert_eq!(
        error(""),
        "trace t holds no request: 0 lines read, skipped: nothing; the file is empty"
    );
    assert_eq!(
        error("hello world\nthis is no trace\n"),
        "trace t has no format that is known here: its first line is \"hello world\"; name the \
         format, or describe the columns, with COLUMN and UNIT filled in: --columns \
         time=COLUMN:UNIT,op=COLUMN,offset=COLUMN:UNIT,size=COLUMN:UNIT"
    );
    assert_eq!(
        error_of(b"\xff\xfd\x00rubbish\n", &ReadOptions::default()),
        "trace t, line 1: the line is not UTF-8 text; this is not a text trace, or it is \
         compressed in an unknown way"
    );
    assert_eq!(
        error_of(&[b'7'; 70_000], &ReadOptions::default()),
        "trace t, line 1: the line is longer than 64 KiB; this is not a text trace, or its line \
         ends are lost"
    );
    assert_eq!(
        error_of(b"\x04\x22\x4d\x18\x64\x40", &ReadOptions::default()),
        "trace t is lz4 data, which is not read here; print what is in it: lz4 -dc t | ioda trace \
         inspect -"
    );
    assert_eq!(
        error("t_us,op,offset_bytes,size_bytes\n"),
        "trace t holds no request: 1 lines read, skipped: header 1; check the format or choose \
         another file"
    );
    let issues =
        ReadOptions { blkparse_event: Some(BlkparseEvent::Issue), ..ReadOptions::default() };
    assert_eq!(
        error_of(b"  8,16   0        4     0.000017985  5314  Q   R 16 + 8 [java]\n", &issues),
        "trace t holds no request: 1 lines read, skipped: event Q 1; choose another blkparse event \
         or another file"
    );
    let missing = TraceReader::open("/no/such/trace", &ReadOptions::default()).err().unwrap();
    assert!(missing.to_string().starts_with("cannot read trace /no/such/trace: "), "{missing}");
    let folder = TraceReader::open("/", &ReadOptions::default()).err().unwrap();
    assert_eq!(folder.to_string(), "trace /: it is a folder; name a file in it");
}

#[test]
fn text_far_into_the_file_is_checked_as_well() {
    let mut bytes = b"t_us,op,offset_bytes,size_bytes\n".to_vec();
    for i in 0..5_000 {
        bytes.extend_from_slice(format!("{i},R,0,512\n").as_bytes());
    }
    bytes.extend_from_slice(b"5000,R,\xff,512\n");
    assert!(
        error_of(&bytes, &ReadOptions::default())
            .starts_with("trace t, line 5002: the offset \"\u{fffd}\" is not a whole number")
    );
}

#[test]
fn wrong_options_are_refused() {
    let refused =
        |options: ReadOptions| error_of(samples::sample(Format::Msr).as_bytes(), &options);
    assert_eq!(
        refused(ReadOptions { sector_bytes: Some(0), ..ReadOptions::default() }),
        "sector size is 0, but must be between 1 and 1048576 bytes"
    );
    assert_eq!(
        refused(ReadOptions { sector_bytes: Some(512), ..ReadOptions::default() }),
        "sector size cannot be used here: the format msr counts in bytes; leave it out"
    );
    let columns = Some("time=0,op=3,offset=4,size=5".parse().unwrap());
    assert_eq!(
        refused(ReadOptions { columns, format: Some(Format::Msr), ..ReadOptions::default() }),
        "column map cannot be used here: it describes the csv format, but another format is given; \
         give one of the two"
    );
    let columns = Some("time=when,op=3,offset=4,size=5".parse().unwrap());
    assert_eq!(
        refused(ReadOptions { columns, ..ReadOptions::default() }),
        "trace t, line 1: the header \"128166372003061629,host,0,Read,8192,4096,1331\" has no \
         column \"when\" that the column map names"
    );
    let columns = Some("time=0:100ns,op=3,offset=4,size=15".parse().unwrap());
    assert_eq!(
        refused(ReadOptions { columns, ..ReadOptions::default() }),
        "trace t, line 1: found 7 columns in \"128166372003061629,host,0,Read,8192,4096,1331\" \
         where the column map has more; correct the line or the format"
    );
    for map in
        ["", "time=0", "time=0,op=1,offset=2,size=3:pages", "time=0:min,op=1,offset=2,size=3"]
    {
        let message = map.parse::<ioda_workload::ColumnMap>().unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("column map \"{map}\" is not a column map of the form"))
        );
    }
}
