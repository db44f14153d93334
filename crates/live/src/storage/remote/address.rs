//! Where a drive on the network is: `nvme+tcp://HOST[:PORT]/NQN[?ns=NAMESPACE]`.

use nvme::wire::Nqn;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The port of NVMe/TCP drives unless another is named.
pub const NVME_TCP_PORT: u16 = 4420;

const SCHEME: &str = "nvme+tcp://";

/// A drive on the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteAddress {
    /// Name or address of its host, an IPv6 address without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Its subsystem.
    pub subsystem: Nqn,
    /// Its namespace; none is the first.
    pub namespace: Option<u32>,
}

/// Why a text is not the address of a drive on the network.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "\"{text}\" is not the address of a drive: {why}; it looks like nvme+tcp://127.0.0.1:4420/nqn.2014-08.org.nvmexpress:uuid:…"
)]
pub struct AddressError {
    text: String,
    why: &'static str,
}

impl RemoteAddress {
    /// Whether a text is meant as one.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }
}

impl FromStr for RemoteAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let bad = |why| AddressError { text: text.into(), why };
        let rest = text.strip_prefix(SCHEME).ok_or(bad("it does not begin with nvme+tcp://"))?;
        let (authority, path) =
            rest.split_once('/').ok_or(bad("the name of the subsystem is missing"))?;
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, behind) = rest.split_once(']').ok_or(bad("a bracket is missing"))?;
                let port = match behind {
                    "" => None,
                    _ => Some(behind.strip_prefix(':').ok_or(bad("its port is not a number"))?),
                };
                (host, port)
            }
            None => match authority.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        if host.is_empty() || host.contains(char::is_whitespace) {
            return Err(bad("it has no host"));
        }
        let port = match port {
            None => NVME_TCP_PORT,
            Some(port) => match port.parse() {
                Ok(port) if port > 0 => port,
                _ => return Err(bad("its port is not a number from 1 to 65535")),
            },
        };
        let subsystem = Nqn::new(path)
            .ok_or(bad("the name of the subsystem begins with nqn. and has at most 223 bytes"))?;
        if subsystem.as_str() == Nqn::DISCOVERY {
            return Err(bad("the discovery subsystem has no namespace; name that of the drive"));
        }
        let namespace = match query.map(|query| query.strip_prefix("ns=").map(str::parse)) {
            None => None,
            Some(Some(Ok(namespace @ 1..))) => Some(namespace),
            Some(_) => return Err(bad("behind ? there can be ns=1 or another namespace only")),
        };
        Ok(Self { host: host.into(), port, subsystem, namespace })
    }
}

impl fmt::Display for RemoteAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, subsystem, namespace } = self;
        match host.contains(':') {
            true => write!(f, "{SCHEME}[{host}]:{port}/{subsystem}")?,
            false => write!(f, "{SCHEME}{host}:{port}/{subsystem}")?,
        }
        namespace.map_or(Ok(()), |namespace| write!(f, "?ns={namespace}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for (text, host, port, namespace) in [
            ("nvme+tcp://127.0.0.1:4421/nqn.a", "127.0.0.1", 4421, None),
            ("nvme+tcp://drive-0.lan/nqn.a?ns=7", "drive-0.lan", NVME_TCP_PORT, Some(7)),
            ("nvme+tcp://[::1]:9/nqn.a", "::1", 9, None),
            ("nvme+tcp://[::1]/nqn.a", "::1", NVME_TCP_PORT, None),
        ] {
            let address: RemoteAddress = text.parse().unwrap();
            assert_eq!((address.host.as_str(), address.port), (host, port));
            assert_eq!((address.subsystem.as_str(), address.namespace), ("nqn.a", namespace));
            assert_eq!(address.to_string().parse(), Ok(address));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_a_reason() {
        for (text, why) in [
            ("tcp://a/nqn.a", "it does not begin with nvme+tcp://"),
            ("nvme+tcp://a:1", "the name of the subsystem is missing"),
            (
                "nvme+tcp://a:1/b",
                "the name of the subsystem begins with nqn. and has at most 223 bytes",
            ),
            ("nvme+tcp://:1/nqn.a", "it has no host"),
            ("nvme+tcp:///nqn.a", "it has no host"),
            ("nvme+tcp://a:0/nqn.a", "its port is not a number from 1 to 65535"),
            ("nvme+tcp://a:65536/nqn.a", "its port is not a number from 1 to 65535"),
            ("nvme+tcp://[::1/nqn.a", "a bracket is missing"),
            ("nvme+tcp://a/nqn.a?ns=0", "behind ? there can be ns=1 or another namespace only"),
            ("nvme+tcp://a/nqn.a?x", "behind ? there can be ns=1 or another namespace only"),
        ] {
            let error = text.parse::<RemoteAddress>().unwrap_err();
            assert_eq!(error.why, why, "{text}");
        }
    }
}
