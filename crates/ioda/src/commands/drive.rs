//! `ioda drive`: one drive that hosts attach to over NVMe/TCP.

use crate::driving::{self, DriveArgs, Prepared};
use crate::exit::Code;
use crate::output::print;
use crate::talk::Talk;
use live::drive::{DriveServer, Ended, channel};
use live::operate::signals;
use study::Failure;
use study::Watch;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda drive
      an emulated drive in memory that has been written over and over; prints how to connect
  ioda drive --drive femu-artifact --precondition fresh --address 4421
      another preset as it leaves the factory, at another port
  ioda drive --storage /srv/drive
      its bytes in a file: the same drive, by name and content, when it is started again
  ioda drive --plain --storage /dev/nvme0n1 --create
      a real drive as it is, for other machines' sake
  ioda drive --address 10.0.0.1:4420 --host nqn.2014-08.org.nvmexpress:uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427
      over a network, for one host
  ioda drive --address 0 --json
      at a port that the system chooses, and says as JSON

A Linux host attaches with nvme-cli (modprobe nvme-tcp):
  nvme discover -t tcp -a 127.0.0.1 -s 4420
  nvme connect -t tcp -a 127.0.0.1 -s 4420 -n NQN
  nvme list
  nvme predictable-lat-log /dev/nvme0 --nvmset-id 1
  nvme disconnect -n NQN

Which bytes are IODA's is in docs/ioda-on-the-wire.md.";

/// Serves a drive until it is told to stop.
pub(crate) fn run(args: &DriveArgs, talk: Talk) -> Result<Code, Failure> {
    live::descriptors::allow_most();
    let Prepared { setup, ready, notes, keep } = driving::prepare(args)?;
    for note in &notes {
        tracing::info!("{note}");
    }
    let internal = |error: std::io::Error| Failure::internal(format!("cannot serve: {error}"));
    let (handle, inbox) = channel().map_err(internal)?;
    let server = DriveServer::new(setup, inbox).map_err(Failure::internal)?;
    let signals = signals::watch(move || handle.stop()).map_err(internal)?;
    if args.json {
        print(&format!("{}\n", ready.to_line().map_err(Failure::internal)?))?;
    }
    talk.remark(ready.greeting().trim_end());
    let Ended { model, storage_errors } = server.run().map_err(Failure::internal)?;
    drop(signals);
    if storage_errors > 0 {
        tracing::warn!(storage_errors, "the storage could not do some commands");
    }
    if let (Some(ssd), Some((head, path))) = (model, keep) {
        // A drive with parity of its own starts anew.
        match ssd.state() {
            Ok(state) => head.save_state(&path, &state).map_err(Failure::internal)?,
            Err(error) => tracing::info!("the drive will start anew: {error}"),
        }
    }
    tracing::info!("the drive has ended");
    Ok(Code::Ok)
}
