//! How an array is served: `[serve]`.

use crate::values::quantity::{JournalUse, OnOff, Size, Text};
use crate::values::words::{Coordinating, Wait};
use clap::Args;
use live::durable::Uuid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Serving: `[serve]`.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Serving")]
pub struct ServeSettings {
    /// Where clients connect: the path of a Unix socket, a host with a port such as
    /// 127.0.0.1:10809, or a URI such as nbd://127.0.0.1:10809 or nbd+unix:///?socket=PATH for NBD,
    /// or nvme+tcp://127.0.0.1:4420 or nvme+tcp://127.0.0.1:4420/NQN for NVMe/TCP; repeatable, and
    /// two for NVMe/TCP are two paths. A port alone is for NBD on the loopback interface [default:
    /// ioda.sock in $XDG_RUNTIME_DIR, or else in /tmp]
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub address: Vec<String>,
    /// Where the drives keep their bytes: `memory`, a directory that has a file per drive, or a
    /// list with the file, the block device or the address of each, such as
    /// nvme+tcp://127.0.0.1:4420/nqn.2014-08.org.nvmexpress:uuid:… for a drive on the network
    /// [default: memory]
    #[arg(long, value_name = "WHERE", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<String>,
    /// Take drives as they are, without emulated timing
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
    /// Read and write files past the page cache (O_DIRECT); block devices always are
    #[arg(long, requires = "plain")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// Size of each plain drive in memory or in a new file [default: 1g]
    #[arg(long, value_name = "SIZE", requires = "plain")]
    pub drive_size: Option<Text<Size>>,
    /// Take memory of drives in memory only when it is first written, which is slower then
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_prefill: bool,
    /// Make a new array in a directory or on the drives of a list; without it an array is only
    /// served that is there. Not read from a file
    #[arg(long)]
    #[serde(skip)]
    pub create: bool,
    /// UUID of the array that is to be served, such as 1b4e28ba-2fa1-11d2-883f-0016d3cca427; `ioda
    /// ctl status` shows it, and another array is refused
    #[arg(long, value_name = "UUID", conflicts_with = "create")]
    pub uuid: Option<Text<Uuid>>,
    /// When a new array with parity writes what it is about to change into a journal first:
    /// `always`, so that as many drives as there are parities may be lost in the moment of a crash,
    /// or `degraded`, only while drives are missing: writes are faster, and data beside a write may
    /// be lost with a drive in the moment of a crash (the write hole) [default: always]
    #[arg(long, value_name = "WHEN")]
    pub journal: Option<Text<JournalUse>>,
    /// Whether data of a new array have checksums: each read is compared with them, and what a
    /// drive returns wrong is repaired from the others; `on` or `off` [default: on, off for drives
    /// in memory]
    #[arg(long, value_name = "WHETHER")]
    pub checksums: Option<Text<OnOff>>,
    /// Serve without drives that are missing also where these could be served without the others,
    /// as a half of a mirror, or where a crash has left a write hole
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub degraded: bool,
    /// Go on from drives that disagree or missed changes, where a start is refused: says what it
    /// would do and may lose, and asks
    #[arg(long, conflicts_with = "create")]
    #[serde(skip)]
    pub force_assembly: bool,
    /// Take drives on the network from the server or host that has them, even if that one lives: it
    /// stops
    #[arg(long)]
    #[serde(skip)]
    pub take_over: bool,
    /// Do not ask
    #[arg(long, requires = "force_assembly")]
    #[serde(skip)]
    pub yes: bool,
    /// Name under which clients find the array; the empty name finds it as well [default: ioda]
    #[arg(long, value_name = "NAME")]
    pub export: Option<String>,
    /// Directory with server-cert.pem and server-key.pem, which nobody but its owner may read:
    /// offer TLS. With ca-cert.pem in it clients can be checked
    #[arg(long, value_name = "DIR")]
    pub tls: Option<PathBuf>,
    /// Refuse clients that do not use TLS
    #[arg(long, requires = "tls")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tls_required: bool,
    /// Refuse clients without a certificate that ca-cert.pem vouches for, and so those without TLS
    #[arg(long, requires = "tls")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tls_verify_peer: bool,
    /// Where the live page and /metrics are, or `none`; a port alone is on the loopback interface
    /// [default: 127.0.0.1:9640]
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<String>,
    /// Name under which the live page and /metrics may be asked for, besides that of the address
    /// and localhost; repeatable
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub http_host: Vec<String>,
    /// The control socket, for `ioda ctl` [default: the path of the first Unix socket with .ctl at
    /// its end, or else that of the usual one]
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// File that gets the last events of the array and its drives when the array stops for fear of
    /// writing or believing something wrong; `ioda ctl trace` shows them before that [default: the
    /// control socket with .trace at its end]
    #[arg(long, value_name = "FILE")]
    pub trace_file: Option<PathBuf>,
    /// File in which policies keep what they have learnt of the drives over a restart: read at the
    /// start, if it exists, and written at the end [default: none]
    #[arg(long, value_name = "FILE")]
    pub learnt: Option<PathBuf>,
    /// Check the whole state of the array and its durability again and again while serving, and end
    /// at once if it contradicts itself: slow, for tests
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub check_invariants: bool,
    /// Group whose members may connect to the Unix sockets as well, by its name or number [default:
    /// none; only the user who serves]
    #[arg(long, value_name = "GROUP")]
    pub socket_group: Option<String>,
    /// Most memory for requests and unsent replies of all clients together [default: an eighth of
    /// the machine's, at least 256m]
    #[arg(long, value_name = "SIZE")]
    pub client_memory: Option<Text<Size>>,
    /// Most memory for checksums of drives in files and on devices, 1m or more; it is enough for a
    /// thousand times as much data [default: a quarter of --client-memory]
    #[arg(long, value_name = "SIZE")]
    pub checksum_cache: Option<Text<Size>>,
    /// How moments are waited for: `spin` shortly before them, which is punctual, or `block` until
    /// the kernel wakes the server, which takes less of a processor and is right where time is
    /// virtual [default: spin]
    #[arg(long, value_name = "HOW")]
    pub wait: Option<Text<Wait>>,
    /// plm-light: where the coordinator is: `own`, in this server, or `remote`, another host that
    /// attaches over NVMe/TCP (ioda plmlc) [default: own]
    #[arg(long, value_name = "WHERE")]
    pub plm_coordinator: Option<Text<Coordinating>>,
    /// Stripes that a rebuild works on at once, 1 or more [default: 16]
    #[arg(long, value_name = "N")]
    pub restore_depth: Option<u32>,
}
