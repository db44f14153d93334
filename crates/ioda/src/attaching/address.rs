//! The address of a target as people write it.

use crate::host_name::{is_host_name, resolve};
use live::storage::NVME_TCP_PORT;
use nvme::wire::Nqn;
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

const SCHEME: &str = "nvme+tcp://";

/// An address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TargetAddress {
    /// Name or address, an IPv6 address without brackets.
    host: String,
    port: u16,
    /// The subsystem there, if it is named.
    nqn: Option<Nqn>,
}

impl Default for TargetAddress {
    fn default() -> Self {
        Self { host: String::from("127.0.0.1"), port: NVME_TCP_PORT, nqn: None }
    }
}

impl FromStr for TargetAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || {
            format!(
                "{text} is neither a host with a port, such as 127.0.0.1:4420, nor a port, nor a URI, such as \
                 nvme+tcp://127.0.0.1:4420 or nvme+tcp://127.0.0.1:4420/NQN"
            )
        };
        let (rest, nqn) = match text.split_once("://") {
            None => (text, None),
            Some(_) => {
                let rest = text.strip_prefix(SCHEME).ok_or_else(refused)?;
                match rest.split_once('/') {
                    None | Some((_, "")) => (rest.strip_suffix('/').unwrap_or(rest), None),
                    Some((rest, name)) => (rest, Some(Nqn::new(name).ok_or_else(refused)?)),
                }
            }
        };
        if let Ok(port) = rest.parse() {
            return Ok(Self { port, nqn, ..Self::default() });
        }
        if let Ok(address) = rest.parse::<SocketAddr>() {
            return Ok(Self { host: address.ip().to_string(), port: address.port(), nqn });
        }
        let inner = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Ok(ip) = inner.unwrap_or(rest).parse::<std::net::IpAddr>() {
            return Ok(Self { host: ip.to_string(), port: NVME_TCP_PORT, nqn });
        }
        let (host, port) = match rest.split_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| refused())?),
            None => (rest, NVME_TCP_PORT),
        };
        let host = Some(host.to_owned()).filter(|host| is_host_name(host));
        host.map(|host| Self { host, port, nqn }).ok_or_else(refused)
    }
}

impl TargetAddress {
    /// Whether a text is meant as one, where addresses may be others as well.
    pub(crate) fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// The subsystem that it names.
    pub(crate) const fn nqn(&self) -> Option<&Nqn> {
        self.nqn.as_ref()
    }

    /// Where a target listens.
    pub(crate) fn resolve(&self) -> Result<SocketAddr, String> {
        resolve(&self.host, self.port)
    }
}

impl fmt::Display for TargetAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "{SCHEME}[{}]:{}", self.host, self.port)?,
            false => write!(f, "{SCHEME}{}:{}", self.host, self.port)?,
        }
        self.nqn.map_or(Ok(()), |nqn| write!(f, "/{nqn}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_is_understood() {
        for (text, address) in [
            ("4421", "127.0.0.1:4421"),
            ("127.0.0.1", "127.0.0.1:4420"),
            ("10.0.0.1:7", "10.0.0.1:7"),
            ("nvme+tcp://127.0.0.1:0", "127.0.0.1:0"),
            ("nvme+tcp://localhost/", "127.0.0.1:4420"),
            ("[::1]:9", "[::1]:9"),
            ("::1", "[::1]:4420"),
            ("nvme+tcp://[::]:4420", "[::]:4420"),
        ] {
            let found = text.parse::<TargetAddress>().unwrap().resolve();
            assert_eq!(found, Ok(address.parse().unwrap()), "{text}");
        }
        for text in ["nvme+tcp://[::1]:4420", "nvme+tcp://10.0.0.1:4420/nqn.2026-01.example:a"] {
            let back: TargetAddress = text.parse().unwrap();
            assert_eq!(back.to_string(), text);
        }
        assert_eq!(TargetAddress::default().to_string(), "nvme+tcp://127.0.0.1:4420");
    }

    #[test]
    fn what_is_no_address_is_refused_with_examples() {
        for text in
            ["", "nbd://127.0.0.1", "nvme+tcp://127.0.0.1/me", "127.0.0.1:many", "a b:1", ":4420"]
        {
            let error = text.parse::<TargetAddress>().unwrap_err();
            assert!(error.contains("such as 127.0.0.1:4420"), "{text}: {error}");
        }
    }
}
