//! Names of hosts in addresses, whatever is served there.

use std::net::{SocketAddr, ToSocketAddrs};

/// Whether it can be the name of a host.
pub(crate) fn is_host_name(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    !text.is_empty() && text.chars().all(is_allowed)
}

/// Where a host with this name or IP address is. A name such as localhost may have addresses of
/// both kinds: the first of IPv4, which clients try at the latest when no other answers.
pub(crate) fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    let found = (host, port).to_socket_addrs();
    let found = found.map_err(|error| format!("{host} is not known here: {error}"))?;
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| format!("{host} has no address"))
}
