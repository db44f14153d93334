//! What is said when hosts can connect.

use crate::attaching::{Attached, connect_commands};
use live::drive::DriveHead;
use live::storage::DriveLocation;
use report::schema::Document;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::Config;
use std::fmt::Write as _;
use std::net::SocketAddr;

/// A drive that hosts can connect to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Ready {
    /// Where it listens, each as `nvme+tcp://HOST:PORT` with the port that the system chose.
    addresses: Vec<String>,
    /// Name of the subsystem.
    nqn: String,
    /// Serial number.
    serial: String,
    /// NGUID of the namespace, 32 hexadecimal digits.
    nguid: String,
    /// Size in bytes.
    bytes: u64,
    /// The preset or name of the emulated drive; none of a plain one.
    drive: Option<String>,
    /// Where its bytes are: `memory`, or the path of a file or device.
    storage: String,
    #[serde(skip)]
    sockets: Vec<SocketAddr>,
}

impl Document for Ready {
    const SCHEMA: &'static str = "ioda.drive/1";
}

impl Ready {
    pub(super) fn new(
        attached: &Attached,
        head: &DriveHead,
        model: Option<&Config>,
        location: &DriveLocation,
    ) -> Self {
        let Attached { names, sockets, .. } = attached;
        Self {
            addresses: attached.addresses().collect(),
            nqn: names.nqn.to_string(),
            serial: names.serial.as_str().to_owned(),
            nguid: names.nguid.iter().map(|byte| format!("{byte:02x}")).collect(),
            bytes: head.bytes,
            drive: model.map(|config| config.name.clone()),
            storage: location.to_string(),
            sockets: sockets.clone(),
        }
    }

    /// The same as one line of JSON.
    pub(crate) fn to_line(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&report::schema::marked(self))
    }

    /// How to connect, for people.
    pub(crate) fn greeting(&self) -> String {
        let size = self.bytes as f64 / (1u64 << 30) as f64;
        let mut text = match &self.drive {
            Some(name) => format!("emulated drive ({name}) of {size:.1} GiB in {}\n", self.storage),
            None => format!("plain drive of {size:.1} GiB in {}\n", self.storage),
        };
        for address in &self.addresses {
            let _ = writeln!(text, "  {address} {}", self.nqn);
        }
        if let Some(at) = self.sockets.first() {
            let _ = write!(text, "try:\n{}", connect_commands(*at, &self.nqn));
        }
        text
    }
}
