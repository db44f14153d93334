//! `ioda plmlc`: the coordinator of an array under PLM-light, as a host of its own.

use crate::coordinating::{CoordinatedSecond, Coordination, Tally};
use crate::exit::Code;
use crate::output::print;
use crate::talk::Talk;
use clap::Args;
use live::operate::signals;
use live::storage::{CoordinatedArray, RemoteAddress};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use study::settings::{NetworkSettings, PolicyOptions};
use study::values::quantity::{Percent, Text};
use study::values::words::Base;
use study::{Failure, Watch};
use units::Duration;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda serve --policy plm-light --plm-coordinator remote --address nvme+tcp://127.0.0.1:4420
      an array that waits for its coordinator; prints its name
  ioda plmlc nvme+tcp://127.0.0.1:4420/NQN
      the coordinator: a line each second, until Ctrl-C
  ioda plmlc nvme+tcp://127.0.0.1:4420/NQN --plm-rule equal --json
      equal bases, lines for machines
  ioda plmlc nvme+tcp://127.0.0.1:4420/NQN --json --each
      each window with what came in it and the counts that followed

Which bytes go over the network is in docs/nvme-tcp.md.";

/// How long a stop may go unnoticed.
const LOOK: Duration = Duration::from_millis(100);
/// From line to line.
const SECOND: std::time::Duration = std::time::Duration::from_secs(1);

/// Options of `ioda plmlc`.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlmlcArgs {
    /// The array by the address that `ioda serve` prints, such as nvme+tcp://127.0.0.1:4420/NQN
    #[arg(value_name = "ARRAY")]
    pub(crate) array: String,
    /// Reads and writes that a deterministic window takes, as a share of those that come in one on
    /// average [default: 80%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) plm_counts: Option<Text<Percent>>,
    /// Reads that classes are sure of, together, as a share of the same [default: 75%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) plm_base: Option<Text<Percent>>,
    /// How those are split among classes: equal or prioritized [default: prioritized]
    #[arg(long, value_name = "RULE")]
    pub(crate) plm_rule: Option<Text<Base>>,
    /// Weight of the last window in the estimate of the next [default: 50%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) plm_smoothing: Option<Text<Percent>>,
    /// NVMe qualified name by which the array knows this host [default: that in /etc/nvme/hostnqn,
    /// or else one that is new at every start]
    #[arg(long, value_name = "NQN")]
    pub(crate) host_nqn: Option<String>,
    /// Print each second as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print each window in these lines
    #[arg(long, requires = "json")]
    pub(crate) each: bool,
}

/// Coordinates an array until it is told to stop.
pub(crate) fn run(args: &PlmlcArgs, talk: Talk) -> Result<Code, Failure> {
    let address: RemoteAddress = args.array.parse().map_err(Failure::usage)?;
    let options = PolicyOptions {
        plm_counts: args.plm_counts.clone(),
        plm_base: args.plm_base.clone(),
        plm_rule: args.plm_rule.clone(),
        plm_smoothing: args.plm_smoothing.clone(),
        ..PolicyOptions::default()
    };
    let config = options.settings()?.plm_light.allocation;
    let network = NetworkSettings { host_nqn: args.host_nqn.clone(), ..NetworkSettings::default() };
    let mut array =
        CoordinatedArray::open(&address, &network.options()?).map_err(Failure::usage)?;
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let signals = signals::watch(move || asked.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::internal(format!("cannot wait for signals: {error}")))?;
    let mut coordination = Coordination::new(address.to_string(), config, args.each);
    let mut all = Tally::new();
    let (begin, mut second) = (Instant::now(), 1_u32);
    while !stop.load(Ordering::Relaxed) {
        let left = (begin + SECOND * second).saturating_duration_since(Instant::now());
        let patience = Duration::from_nanos(left.as_nanos() as u64).min(LOOK);
        let heard = array.hear(patience).map_err(Failure::internal)?;
        for said in &heard {
            if let Some((generation, counts)) = coordination.hear(said)? {
                array.set(generation, counts);
            }
        }
        if begin.elapsed() >= SECOND * second {
            let tally = coordination.take_tally();
            all.add(&tally);
            let counts = coordination.counts();
            let line = CoordinatedSecond::new(second.into(), &tally, counts.as_ref());
            let text = match args.json {
                true => line.to_line().map_err(Failure::internal)?,
                false => line.text(),
            };
            print(&format!("{text}\n"))?;
            second += 1;
        }
    }
    drop(signals);
    all.add(&coordination.take_tally());
    talk.remark(&summary(&all));
    Ok(Code::Ok)
}

/// What was done from the start, for people.
fn summary(all: &Tally) -> String {
    let Tally { windows, reports, answers, .. } = all;
    let us = |percentile| answers.percentile(percentile).as_micros_f64();
    let answer = match answers.count() {
        0 => String::from("no counts"),
        answered => format!(
            "{answered} counts {:.0} us (p50), {:.0} us (p99) after the end of their window",
            us(50.0),
            us(99.0)
        ),
    };
    format!("coordinated {windows} windows, {reports} reports, {answer}")
}
