//! Under which names the page and the metrics may be asked for.
//!
//! A page of a stranger can have its own name lead to this machine (DNS rebinding) and then read
//! what a browser here may read. It cannot choose the `Host` that the browser sends.

use std::net::IpAddr;
use std::sync::Arc;

/// The names that were chosen. Those of the loopback interface, and the address that a client has
/// connected to, need not be among them.
#[derive(Clone, Debug)]
pub(super) struct Hosts(Arc<[String]>);

impl Hosts {
    pub(super) fn new(names: &[String]) -> Self {
        Self(names.into())
    }

    /// Whether a request with this `Host` is meant for a server that was reached at `local`.
    pub(super) fn allow(&self, host: &str, local: Option<IpAddr>) -> bool {
        let Some(name) = without_port(host) else { return false };
        if self.0.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return true;
        }
        match name.parse::<IpAddr>().map(|address| address.to_canonical()) {
            Ok(address) => {
                address.is_loopback() || local.map(|local| local.to_canonical()) == Some(address)
            }
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

/// The name in `name:port`, without the brackets of an IPv6 address and the dot of a whole name.
fn without_port(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.find(':').map_or((host, ""), |colon| host.split_at(colon)),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let sound = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    sound.then(|| name.strip_suffix('.').unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_and_chosen_ones_are_allowed() {
        let hosts = Hosts::new(&["array.example".into(), "192.0.2.7".into()]);
        let local = Some("10.1.2.3".parse().unwrap());
        for host in [
            "localhost",
            "LocalHost:9640",
            "localhost.",
            "127.0.0.1:80",
            "127.1.2.3",
            "[::1]:9640",
            "[::ffff:127.0.0.1]",
            "10.1.2.3:9640",
            "[::ffff:10.1.2.3]",
            "array.example",
            "Array.Example.:1",
            "192.0.2.7:8080",
        ] {
            assert!(hosts.allow(host, local), "{host}");
        }
        for host in [
            "",
            ":80",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.1.2.4",
            "0.0.0.0",
            "[::]",
            "[::1",
            "[::1]x",
            "localhost:80:80",
            "user@localhost",
            "127.0.0.1:evil",
        ] {
            assert!(!hosts.allow(host, local), "{host}");
        }
        assert!(!hosts.allow("10.1.2.3", None));
    }
}
