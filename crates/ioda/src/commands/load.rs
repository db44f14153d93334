//! `ioda load`: an open-loop load on any NBD server.

use crate::address::Address;
use crate::arguments::{OutputArgs, SERVED_DRIVE};
use crate::exit::Code;
use crate::loading::{self, LoadOptions, Loaded};
use crate::progress;
use crate::talk::Talk;
use clap::Args;
use live::clock::Spin;
use live::nbd::client::Client;
use report::{Comparison, Manifest};
use std::sync::atomic::AtomicU64;
use study::Failure;
use study::describe;
use study::describe::fio_jobs;
use study::settings::{DriveSettings, RunSettings, Settings, WorkloadSettings};
use study::setup;
use study::values::quantity::Text;
use study::values::words::Wait;
use units::Duration;
use workload::Source;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda load --address /tmp/ioda.sock
      tpcc, as fast as the device has room for, on the array that `ioda serve` serves
  ioda load azure --rerate 0.5 --json=load.json
      another workload at half its rate
  ioda load trace.csv.zst --fit compact --requests 100000
      your own trace, each request sent when it is due
  ioda load synthetic --rw randrw --rwmixread 70 --bs 4k --rate_iops 5000 --runtime 30
      fio's words, but latency counts from the intended moment
  ioda load synthetic --rw randread --bs 4k --iodepth 32 --number_ios 500000
      a closed loop

Writes go to the device: what is on it is lost.";

/// Options of `ioda load`.
#[derive(Args, Clone, Debug)]
pub(crate) struct LoadArgs {
    /// Where the device is served, as in `ioda serve --address`: the path of a Unix socket, a host
    /// with a port, or a URI such as nbd://localhost:10809/NAME or nbd+unix:///NAME?socket=PATH;
    /// without a name the server's default export [default: ioda.sock in $XDG_RUNTIME_DIR, or else
    /// in /tmp]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<Address>,
    /// How the device is called in the results [default: NBD]
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// The workload.
    #[command(flatten)]
    pub(crate) workload: WorkloadSettings,
    /// Seed of everything that is drawn by chance, any whole number [default: 1]
    #[arg(long, alias = "randseed", value_name = "N")]
    pub(crate) seed: Option<Text<u64>>,
    /// How moments are waited for: `spin` shortly before them, which is punctual, or `block` until
    /// the kernel wakes the generator, which is right where time is virtual [default: spin]
    #[arg(long, value_name = "HOW")]
    pub(crate) wait: Option<Text<Wait>>,
    /// The results.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl LoadArgs {
    /// The settings: the file, if any, with the flags laid over it.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let mut file = match &self.output.config {
            Some(path) => study::settings::load(path)?,
            None => Settings::default(),
        };
        if file.drive == DriveSettings::default() {
            file.drive = DriveSettings::preset(SERVED_DRIVE);
        }
        let run = RunSettings { seed: self.seed.clone(), ..RunSettings::default() };
        let flags = Settings { workload: self.workload.clone(), run, ..Settings::default() };
        let drive = file.drive.clone();
        Ok(Settings { drive, ..file.overlaid(&flags)? })
    }
}

/// Loads a device.
pub(crate) fn run(args: &LoadArgs, talk: Talk) -> Result<Code, Failure> {
    super::compare::check_outputs(&args.output)?;
    let settings = args.settings()?;
    let address = args.address.clone().unwrap_or_default();
    let uri = address.uri();
    let mut client = Client::connect(uri).map_err(Failure::usage)?;
    let capacity_bytes = client.size_bytes();
    let (source, seed, notes) = setup::load_source(&settings, capacity_bytes, &talk)?;
    if client.negotiated().is_bounded() {
        loading::permit_all(client.negotiated(), source.open(capacity_bytes)?)?;
    }
    let workload = source.open(capacity_bytes)?;
    let description = workload.description().to_owned();
    let hash = workload.identity().map(|identity| identity.sha256.clone());
    let requests = settings.workload.requests;
    let done = AtomicU64::new(0);
    let spin = args.wait.as_ref().map_or(Spin::Adaptive, |wait| wait.value.0);
    let options = LoadOptions { seed, spin, keep_each: false };
    let loaded = progress::counting(talk.progress, "load", requests, &done, || {
        loading::load(&mut client, workload, options, &done)
    })?;
    let manifest = Manifest {
        ioda_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args().collect::<Vec<_>>().join(" "),
        seed: seed.to_string(),
        workload: description.clone(),
        workload_hash: hash,
        replayed: format!("{} requests sent, {}", done.into_inner(), loaded.errors),
        drive: String::from("as it is behind NBD"),
        array: format!("{uri}, {capacity_bytes} bytes"),
        configuration_toml: settings.to_toml(),
        notes: notes
            .into_iter()
            .chain(durable(&source, &client, &loaded))
            .chain(remarks(&loaded))
            .collect(),
    };
    let label = args.label.clone().unwrap_or_else(|| "NBD".into());
    let run = loading::run_of(&loaded, &label, &label, capacity_bytes);
    let comparison = Comparison {
        title: format!("{description} on {uri}"),
        manifest,
        runs: vec![run],
        ..Comparison::default()
    };
    let mut job = fio_jobs::job(&source, &loaded.read, &loaded.write);
    job.options.extend([("ioengine", "nbd".to_owned()), ("uri", uri.to_string())]);
    super::compare::write(&args.output, &comparison, &[job], talk)?;
    match loaded.errors.total() {
        0 => Ok(Code::Ok),
        _ => Err(Failure::internal(format!("of the requests, {}", loaded.errors))),
    }
}

/// What became of the writes of a trace that ask for stable storage, and of its flushes.
fn durable(source: &Source, client: &Client, loaded: &Loaded) -> Option<String> {
    let Source::Trace(source) = source else { return None };
    let asked = describe::asked(&source.trace)?;
    let forced = match loaded.forced {
        _ if !loading::takes_fua(client.negotiated()) => {
            "the server takes no FUA, so all writes were sent without it".to_owned()
        }
        1 => "1 write was sent with FUA".to_owned(),
        forced => format!("{forced} writes were sent with FUA"),
    };
    let flushes = match loaded.flush.count() {
        _ if source.trace.counts().flushes() == 0 => {
            return Some(format!("of the trace, {asked}; {forced}"));
        }
        _ if !loading::takes_flushes(client.negotiated()) => {
            "the server takes no flushes, so all were left out".to_owned()
        }
        sent => format!(
            "{sent} flushes were sent, each ahead of the request behind it, and took {:.1} us (p50), {:.1} us (p99)",
            loaded.flush.percentile(50.0).as_micros_f64(),
            loaded.flush.percentile(99.0).as_micros_f64(),
        ),
    };
    Some(format!("of the trace, {asked}; {forced}; {flushes}"))
}

/// What a reader should know about the generator itself.
fn remarks(loaded: &Loaded) -> Vec<String> {
    let late = &loaded.sent_late;
    let us = |percentile: f64| late.percentile(percentile).as_micros_f64();
    let mut notes = vec![format!(
        "requests were sent {:.1} us (p50), {:.1} us (p99), {:.1} us (p99.9) after their intended \
         moment; latency counts from that moment",
        us(50.0),
        us(99.0),
        us(99.9)
    )];
    if late.percentile(99.0) > Duration::from_millis(1) {
        notes.push(String::from(
            "the generator itself was late by more than 1 ms at p99: the machine is too slow or too \
             busy for this rate",
        ));
    }
    notes
}
