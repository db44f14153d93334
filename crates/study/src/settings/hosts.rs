//! Which hosts may attach over NVMe/TCP: `[hosts]`.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Hosts over NVMe/TCP: `[hosts]`.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Hosts over NVMe/TCP")]
pub struct HostSettings {
    /// Name under which hosts find what is served, such as nqn.2026-01.org.example:drive-1
    /// [default: one made of a UUID, which stays the same for files and devices]
    #[arg(long, value_name = "NQN")]
    pub nqn: Option<String>,
    /// Host that may connect, by its name in /etc/nvme/hostnqn, such as
    /// nqn.2014-08.org.nvmexpress:uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427; repeatable [default:
    /// any host, on the loopback interface]
    #[arg(long, value_name = "NQN", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<String>,
    /// File of hosts that may connect when they show that they know their secret (DH-HMAC-CHAP),
    /// such as host-keys; a line for each has its name, its secret as `nvme gen-dhchap-key` makes
    /// it, and if hosts are to ask for it, the secret of what they attach to. Nobody but its owner
    /// may read it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["host", "any_host"])]
    pub host_keys: Option<PathBuf>,
    /// Let any host connect that reaches an address, also from other machines
    #[arg(long, conflicts_with = "host")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub any_host: bool,
}
