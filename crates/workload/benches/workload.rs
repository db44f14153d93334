//! Nanoseconds per request: for each kind of generator, and for reading and describing a trace.

#![allow(clippy::print_stdout)]

use ioda_workload::{
    Generator, ReadOptions, Statistics, Synthetic, TraceError, TraceReader, TraceWriter,
    WriteFormat, preset, presets,
};
use std::hint::black_box;
use std::time::Instant;

fn measure(name: &str, generator: Generator) {
    let started = Instant::now();
    let mut drawn: u64 = 0;
    for request in generator {
        black_box(request);
        drawn += 1;
    }
    let nanos = started.elapsed().as_nanos() as f64 / drawn as f64;
    println!("{name:<30} {nanos:>7.1} ns per request");
}

/// Writes a trace of `tpcc` to memory, reads it back and describes it. `header`, if given, replaces
/// the header of the CSV.
fn measure_reading(format: WriteFormat, header: Option<&str>) -> Result<(), TraceError> {
    let requests = 500_000;
    let Some(Ok(generator)) =
        preset("tpcc").map(|tpcc| tpcc.generator(1, 1 << 36, Some(requests), 1.0))
    else {
        return Ok(());
    };
    let written = TraceWriter::new(Vec::new(), format).and_then(|mut writer| {
        generator.into_iter().try_for_each(|request| writer.write(&request))?;
        writer.finish()
    });
    let mut bytes =
        written.map_err(|source| TraceError::Read { name: "memory".to_owned(), source })?;
    if let Some(header) = header {
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        bytes.splice(..end, header.bytes());
    }
    let started = Instant::now();
    let reader =
        TraceReader::from_reader(std::io::Cursor::new(bytes), "memory", &ReadOptions::default())?;
    let mut statistics = Statistics::new();
    for request in reader {
        statistics.add(&request?);
    }
    let nanos = started.elapsed().as_nanos() as f64 / statistics.requests as f64;
    let kind = if header.is_some() { " by header" } else { "" };
    println!("{:<30} {nanos:>7.1} ns per request", format!("read and describe {format}{kind}"));
    Ok(())
}

fn main() {
    let other = "time_us,rw,offset,length,host";
    for (format, header) in [
        (WriteFormat::Csv, None),
        (WriteFormat::Csv, Some(other)),
        (WriteFormat::FioIologV3, None),
        (WriteFormat::Msr, None),
    ] {
        if let Err(error) = measure_reading(format, header) {
            println!("{format}: {error}");
        }
    }
    let capacity = 1 << 40;
    for preset in presets() {
        match preset.generator(1, capacity, Some(2_000_000), 1.0) {
            Ok(generator) => measure(preset.name, generator),
            Err(error) => println!("{}: {error}", preset.name),
        }
    }
    for distribution in ["random", "zipf:0.9", "zipf:1.2", "pareto:0.2"] {
        for rate in [None, Some("100000")] {
            let mut synthetic = Synthetic { size: 1 << 38, ..Synthetic::default() };
            let options = [
                ("rw", "randrw"),
                ("random_distribution", distribution),
                ("number_ios", "2000000"),
            ];
            let all = options.into_iter().chain(rate.map(|rate| ("rate_iops", rate)));
            let set: Result<(), _> = all.into_iter().try_for_each(|(o, v)| synthetic.set(o, v));
            let generator = set.and_then(|()| synthetic.generator(capacity));
            let kind = if rate.is_some() { "open" } else { "closed" };
            match generator {
                Ok(generator) => measure(&format!("{distribution} {kind}"), generator),
                Err(error) => println!("{distribution}: {error}"),
            }
        }
    }
}
