//! `ioda serve`: the array as a block device.

use crate::arguments::{ArrayArgs, SERVED_DRIVE};
use crate::exit::Code;
use crate::output::remark;
use crate::serving::{self, Addresses, Built, EXPORT, Paths, Warning};
use crate::talk::Talk;
use array::Memory;
use clap::Args;
use live::control::{Message, channel};
use live::durable::Claimed;
use live::learnt;
use live::nbd::uri::Uri;
use live::nbd::{Acceptor, Export};
use live::operate;
use live::server::{Server, Watched};
use std::fmt::Write as _;
use std::path::PathBuf;
use study::Failure;
use study::settings::{
    DriveSettings, HostSettings, NetworkSettings, RunSettings, ServeSettings, Settings,
};
use study::values::quantity::{PolicyName, Text};
use study::values::words::Precondition;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda serve
      four emulated drives of 1 GiB in memory, RAID-5, IODA; prints how to connect
  ioda serve --policy base
      the same drives without coordination; `ioda ctl policy ioda` turns it into IODA
  ioda serve --create --storage /srv/array --raid 6 --drives 6
      a new array, a file per drive in a directory
  ioda serve --storage /srv/array
      the same array, from then on
  ioda serve --plain --create --storage /dev/nvme0n1,/dev/nvme1n1,/dev/nvme2n1,/dev/nvme3n1
      your own drives, as they are
  ioda serve --create --storage nvme+tcp://10.0.0.2/nqn.a,nvme+tcp://10.0.0.3/nqn.b,nvme+tcp://10.0.0.4/nqn.c
      drives on the network, over NVMe/TCP
  ioda serve --address 0.0.0.0:10809 --tls /etc/ioda/tls --tls-required --tls-verify-peer
      over the network, with certificates on both sides
  ioda serve --create --storage /srv/array --address nvme+tcp://127.0.0.1:4420,nvme+tcp://127.0.0.1:4421
      for Linux hosts over NVMe/TCP, with two paths
  ioda serve --config array.toml
      a configuration file; flags override it

Clients:
  nbdinfo 'nbd+unix:///?socket=/tmp/ioda.sock'
  fio --name=j --ioengine=nbd --uri='nbd+unix:///?socket=/tmp/ioda.sock' --rw=randread --bs=4k
  nvme connect -t tcp -a 127.0.0.1 -s 4420 -n NQN
  ioda ctl status

The guide is docs/serving.md.";

/// Options of `ioda serve`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServeArgs {
    /// TOML file with the sections serve, hosts, network, array, windows, stage, policies, drive
    /// and run; flags override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How it is served.
    #[command(flatten)]
    pub(crate) serve: ServeSettings,
    /// Who may attach over NVMe/TCP.
    #[command(flatten)]
    pub(crate) hosts: HostSettings,
    /// Its drives, where they are on the network.
    #[command(flatten)]
    pub(crate) network: NetworkSettings,
    /// The array and its drives.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
    /// The policy at the start [default: ioda]
    #[arg(long, value_name = "NAME", help_heading = "Run")]
    pub(crate) policy: Option<Text<PolicyName>>,
    /// State of emulated drives at the start: aged, steady or fresh [default: aged]
    #[arg(long, value_name = "STATE", help_heading = "Run")]
    pub(crate) precondition: Option<Text<Precondition>>,
    /// Seed of everything that is drawn by chance, any whole number [default: 1]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) seed: Option<Text<u64>>,
}

impl ServeArgs {
    /// The settings: the file, if any, with the flags laid over it.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let mut file = match &self.config {
            Some(path) => study::settings::load(path)?,
            None => Settings::default(),
        };
        if file.drive == DriveSettings::default() && self.array.drive.drive.is_none() {
            file.drive = DriveSettings::preset(SERVED_DRIVE);
        }
        let run = RunSettings {
            policy: self.policy.iter().cloned().collect(),
            precondition: self.precondition.clone(),
            seed: self.seed.clone(),
            ..RunSettings::default()
        };
        let (serve, network) = (self.serve.clone(), self.network.clone());
        let hosts = self.hosts.clone();
        let others = Settings { serve, network, hosts, run, ..Settings::default() };
        let mut settings = self.array.overlay(&file, others)?;
        // These are for one start and never stand in a file.
        settings.serve.create = self.serve.create;
        settings.serve.force_assembly = self.serve.force_assembly;
        settings.serve.take_over = self.serve.take_over;
        settings.serve.yes = self.serve.yes;
        Ok(settings)
    }
}

/// Serves until it is shut down.
pub(crate) fn run(args: &ServeArgs, talk: Talk) -> Result<Code, Failure> {
    live::descriptors::allow_most();
    let settings = args.settings()?;
    let mut addresses = Addresses::new(&settings)?;
    // What is declared first is dropped last: drives are given up when they are closed.
    let mut claimed = Claimed::default();
    let mut opened = serving::open(&settings)?;
    claimed.replace(opened.take_claimed());
    for note in &opened.notes {
        tracing::info!("{note}");
    }
    for Warning { slot, place, text } in &opened.warnings {
        tracing::warn!(slot, place, "{text}");
    }
    let degraded: String =
        opened.warnings.iter().map(|warning| format!("{}\n", warning.text)).collect();
    let name = opened.name();
    let built = &opened.built;
    let summary = summary(built, &settings.serve.storage);
    let export = Export {
        name: settings.serve.export.clone().unwrap_or_else(|| EXPORT.into()),
        description: summary.clone(),
        size_bytes: built.config.layout.capacity_pages() * u64::from(built.config.page_bytes),
        preferred_block_bytes: built.config.page_bytes,
    };
    let internal = |error: std::io::Error| Failure::internal(format!("cannot serve: {error}"));
    let (handle, inbox) = channel().map_err(internal)?;
    let has_nbd = !addresses.listen.is_empty();
    let attached = addresses.hosts.take().map(|hosts| opened.attach(hosts, has_nbd)).transpose()?;
    let (paths, target) = attached.unzip();
    let memory = match &settings.serve.learnt {
        Some(path) => learnt::load(path)
            .map_err(|error| Failure::usage(format!("--learnt {}: {error}", path.display())))?,
        None => Memory::default(),
    };
    let watched = Watched {
        trace_path: Some(addresses.trace.clone()),
        learnt_path: settings.serve.learnt.clone(),
        checks_invariants: settings.serve.check_invariants,
    };
    let setup = opened.into_setup(target, memory, watched)?;
    let engine = Server::new(setup, inbox).map_err(Failure::internal)?;
    let open = || {
        let (listen, tls) = (&addresses.listen, addresses.tls.clone());
        let sink = handle.connection_sink();
        Acceptor::open(listen, addresses.socket_access, vec![export], tls, sink)
    };
    let acceptor = has_nbd.then(open).transpose().map_err(Failure::usage)?;
    if let Some(acceptor) = &acceptor {
        let counts = Message::Strangers(acceptor.strangers());
        handle.send(counts).map_err(Failure::internal)?;
    }
    let listens = acceptor.as_ref().map(Acceptor::addresses).unwrap_or_default();
    let uris = listens.iter().map(|at| addresses.uri(at).to_string());
    let uris: Vec<String> = uris.chain(paths.iter().flat_map(Paths::uris)).collect();
    tracing::info!("the array{name} is served at {}: {summary}", uris.join(", "));
    let (operate, page) = addresses.operate(&handle)?;
    let asked = handle.clone();
    let signals = operate::signals::watch(move || asked.shut_down()).map_err(internal)?;
    if !talk.quiet {
        let greeting = greeting(&summary, acceptor.as_ref(), paths.as_ref(), &addresses, page);
        remark((greeting + &degraded).trim_end());
    }
    // The array gives its drives up itself, when it has ended in order.
    claimed.keep();
    // The array's thread is this one.
    let ended = engine.run();
    drop(acceptor);
    operate.close();
    drop(signals);
    ended.map_err(Failure::internal)?;
    Ok(Code::Ok)
}

/// What is served, in one line.
fn summary(built: &Built, storage: &[String]) -> String {
    let plan = &built.plan;
    let drives = match built.plain {
        true => String::from("plain"),
        false => format!("emulated ({})", plan.drive.name),
    };
    let place = match storage {
        [] => String::from("memory"),
        [only] => only.clone(),
        list => format!("{} places", list.len()),
    };
    format!(
        "{} of {} {drives} drives of {:.1} GiB in {place}, policy {}",
        plan.level.name(),
        plan.width,
        built.geometry.drive_bytes as f64 / (1u64 << 30) as f64,
        plan.policy.name()
    )
}

/// How to connect.
fn greeting(
    summary: &str,
    acceptor: Option<&Acceptor>,
    paths: Option<&Paths>,
    addresses: &Addresses,
    page: Option<std::net::SocketAddr>,
) -> String {
    let mut text = format!("{summary}\n");
    let listens = acceptor.map(Acceptor::addresses).unwrap_or_default();
    let uris: Vec<Uri> = listens.iter().map(|at| addresses.uri(at)).collect();
    for uri in &uris {
        let _ = writeln!(text, "  {uri}");
    }
    for uri in paths.iter().flat_map(|paths| paths.uris()) {
        let _ = writeln!(text, "  {uri}");
    }
    text.push_str("try:\n");
    if let Some(uri) = uris.first() {
        let _ = writeln!(
            text,
            "  fio --name=ioda --ioengine=nbd --uri='{uri}' --rw=randrw --rwmixread=70 \
             --bs=4k --iodepth=16 --size=100% --time_based --runtime=30"
        );
    }
    text.extend(paths.map(Paths::commands));
    let _ = writeln!(text, "  ioda ctl status{}", addresses.control_flag());
    if let Some(page) = page {
        let _ = writeln!(text, "live page: http://{page}/   metrics: http://{page}/metrics");
    }
    if let Some(at) = addresses.open_to_anyone(listens) {
        let _ = writeln!(text, "anyone who reaches {at} can read and write the array");
    }
    text
}
