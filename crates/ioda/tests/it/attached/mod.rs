//! Arrays that hosts attach to over NVMe/TCP: beside NBD clients, over two paths of which one is
//! cut, through kills and restarts.
#![allow(clippy::unwrap_used, reason = "a test")]

mod coordinated;
mod multipath;
mod namespace;

use crate::common::served::Served;
use crate::nvme_host::{Host, Terms};
use live::storage::{DriveLocation, RemoteAddress, RemoteLocation, RemoteOptions, StoredDrive};
use nvme::wire::Nqn;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest that an array may take to say where it is.
const PATIENCE: Duration = Duration::from_secs(60);
const PLAIN: &str = "--plain --drive-size 16m";

/// An array with a Unix socket for NBD and ports for NVMe/TCP.
pub(crate) struct Attachable {
    served: Served,
    ports: Vec<u16>,
    nqn: String,
}

impl Attachable {
    /// Serves at so many ports that the system chooses.
    pub(crate) fn start(folder: &Path, ports: usize, more: &[&str]) -> Self {
        let mut arguments = Vec::new();
        for _ in 0..ports {
            arguments.extend(["--address".to_owned(), "nvme+tcp://127.0.0.1:0".into()]);
        }
        arguments.extend(more.iter().flat_map(|words| words.split(' ')).map(String::from));
        let served = Served::start(folder, &arguments);
        let until = Instant::now() + PATIENCE;
        loop {
            let said = served.said();
            let found: Vec<_> = said.lines().flat_map(told).collect();
            if found.len() == ports {
                let nqn = found[0].1.clone();
                return Self { served, ports: found.iter().map(|(port, _)| *port).collect(), nqn };
            }
            assert!(Instant::now() < until, "it does not start: {said}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn address(&self, path: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports[path]))
    }

    fn terms(&self) -> Terms {
        Terms::new(&self.nqn)
    }

    pub(crate) fn attach(&self) -> Host {
        Host::attach(self.address(0), &self.terms())
    }
}

/// Port and name of each path from the line that tells them.
fn told(line: &str) -> Vec<(u16, String)> {
    let Some((_, rest)) = line.split_once(" is served at ") else { return Vec::new() };
    let (uris, _) = rest.split_once(": ").unwrap_or((rest, ""));
    let path = |uri: &str| {
        let (_, at) = uri.split_once("nvme+tcp://")?;
        let (address, nqn) = at.split_once('/')?;
        let (_, port) = address.rsplit_once(':')?;
        Some((port.parse().ok()?, nqn.to_owned()))
    };
    uris.split(", ").filter_map(path).collect()
}

/// Our own initiator at a port, which does not connect again by itself.
fn initiator(port: u16, nqn: &str) -> Result<StoredDrive, String> {
    let host = Nqn::new("nqn.2026-01.example:initiator").unwrap();
    let options = RemoteOptions {
        reconnect: units::Duration::ZERO,
        connect_timeout: units::Duration::from_secs(20),
        command_timeout: units::Duration::from_secs(60),
        ..RemoteOptions::of(host, [7; 16])
    };
    let subsystem = Nqn::new(nqn).unwrap();
    let address = RemoteAddress { host: "127.0.0.1".into(), port, subsystem, namespace: None };
    let location = DriveLocation::Remote(Box::new(RemoteLocation { address, options }));
    StoredDrive::open_head(&location).map_err(|error| error.to_string())
}
