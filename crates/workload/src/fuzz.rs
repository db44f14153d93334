//! Entry point of every fuzz target: reads bytes as one format to the end or to the first error.

use crate::{Format, ReadOptions, Statistics, TraceReader};
use std::io::Cursor;

/// Reads `bytes` as `format`; `None` detects the format.
///
/// # Panics
///
/// When requests are out of order, empty or beyond the limits, or when lines are lost: the fuzzer
/// searches for these. Invalid bytes are an error of the reader, and no panic.
pub fn check(format: Option<Format>, bytes: &[u8]) {
    let strict = ReadOptions { format, ..ReadOptions::default() };
    let lenient = ReadOptions {
        reorder_window: Some(3),
        clamp_time: true,
        skip_zero_length: true,
        allow_odd: true,
        ..strict.clone()
    };
    check_with(&strict, bytes);
    check_with(&lenient, bytes);
}

/// Reads `bytes` as a zip archive with a trace in it.
///
/// # Panics
///
/// As [`check`].
pub fn check_zip(bytes: &[u8]) {
    if let Ok(reader) =
        TraceReader::from_zip(Cursor::new(bytes.to_vec()), "fuzz", &ReadOptions::default())
    {
        check_all(reader);
    }
}

fn check_with(options: &ReadOptions, bytes: &[u8]) {
    if let Ok(reader) = TraceReader::from_reader(Cursor::new(bytes.to_vec()), "fuzz", options) {
        check_all(reader);
    }
}

fn check_all(mut reader: TraceReader) {
    let mut last = None;
    let mut statistics = Statistics::new();
    let mut failed = false;
    for item in reader.by_ref() {
        assert!(!failed, "something came after an error");
        match item {
            Ok(request) => {
                assert!(last <= Some(request.at), "time goes backwards");
                assert!((1..=1 << 30).contains(&request.size_bytes), "size out of range");
                assert!(request.offset_bytes <= 1 << 60, "offset out of range");
                assert!(request.end_bytes() <= 1 << 60, "end out of range");
                last = Some(request.at);
                // A thousand requests of 1 GiB would mainly measure the bitmaps.
                if statistics.requests < 64 {
                    statistics.add(&request);
                }
            }
            Err(error) => {
                let text = error.to_string();
                assert!(!text.is_empty() && !text.contains('\n'), "not one sentence: {text}");
                failed = true;
            }
        }
    }
    let counts = reader.counts();
    if !failed {
        assert_eq!(counts.lines, counts.requests + counts.skipped_total(), "lines were lost");
    }
}
