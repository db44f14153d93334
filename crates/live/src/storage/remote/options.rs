//! How a host deals with a drive on the network.

use super::claims::Claims;
use nvme::wire::Nqn;
use nvme::wire::pdu::Digests;
use units::Duration;

/// How a host deals with drives on the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteOptions {
    /// Its own name, which drives may know it by.
    pub host: Nqn,
    /// Its own identifier, a UUID.
    pub host_id: [u8; 16],
    /// Which digests connections have.
    pub digests: Digests,
    /// Commands in flight of a drive, at least one; a drive may take fewer.
    pub commands: u16,
    /// How long a drive may take to be connected and identified, step by step.
    pub connect_timeout: Duration,
    /// How long a command may take. A drive that takes longer has failed.
    pub command_timeout: Duration,
    /// For how long a drive that is gone is tried again; zero is not at all. Only one that cannot
    /// have lost anything is: without writes in flight, and with all that it has done on stable
    /// storage.
    pub reconnect: Duration,
    /// For how long a drive that has failed is waited for, to be given what it missed; zero is not
    /// at all.
    pub return_time: Duration,
    /// After how long a read is given up that may fail fast, so that it is reconstructed from other
    /// drives.
    pub read_patience: Duration,
    /// How long neither side may hear nothing of the other; zero is for ever.
    pub keep_alive: Duration,
    /// The claims of this server, whose identifier is `host_id`; none if drives are used without
    /// being claimed.
    pub claims: Option<Claims>,
}

impl RemoteOptions {
    /// The usual ones of a host with this name and identifier.
    #[must_use]
    pub const fn of(host: Nqn, host_id: [u8; 16]) -> Self {
        Self {
            host,
            host_id,
            digests: Digests { header: false, data: false },
            commands: 127,
            connect_timeout: Duration::from_secs(5),
            command_timeout: Duration::from_secs(10),
            reconnect: Duration::from_secs(10),
            return_time: Duration::from_secs(600),
            read_patience: Duration::from_millis(500),
            keep_alive: Duration::from_secs(10),
            claims: None,
        }
    }
}
