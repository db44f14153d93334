//! The address of an array as people write it: the same for the command that serves, the one that
//! loads and the one that administers.

use crate::host_name::{is_host_name, resolve};
use live::nbd::Listen;
use live::nbd::uri::{Endpoint, Uri};
use live::operate::ctl::{control_socket, default_socket};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// An address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Address(Uri);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Default for Address {
    /// Where an array is served unless it is said.
    fn default() -> Self {
        Self(Uri::of(&Listen::Unix(default_socket()), false))
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            return text.parse().map(Self).map_err(|error| format!("{error}"));
        }
        if let Ok(port) = text.parse::<u16>() {
            let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
            return Ok(Self(Uri::of(&Listen::Tcp(address), false)));
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self(Uri::of(&Listen::Tcp(address), false)));
        }
        let path = text.strip_prefix("unix:").unwrap_or(text);
        let looks_like_a_path = path.contains('/') || path.ends_with(".sock") || path != text;
        if looks_like_a_path && !path.is_empty() {
            return Ok(Self(Uri::of(&Listen::Unix(PathBuf::from(path)), false)));
        }
        match host_and_port(text) {
            Some((host, port)) => {
                let endpoint = Endpoint::Tcp { host: host.to_owned(), port };
                Ok(Self(Uri { endpoint, export: String::new(), tls: false }))
            }
            None => Err(format!(
                "{text} is neither the path of a socket, such as ./ioda.sock, nor a host with a port, such \
                 as 127.0.0.1:10809, nor a URI, such as nbd://127.0.0.1:10809"
            )),
        }
    }
}

/// The parts of `name:port`.
fn host_and_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.split_once(':')?;
    is_host_name(host).then_some((host, port.parse().ok()?))
}

impl Address {
    /// The export there, for a client.
    pub(crate) fn uri(&self) -> &Uri {
        &self.0
    }

    /// Where a server listens that has an export called `export`, and perhaps TLS.
    pub(crate) fn listen(&self, export: &str, has_tls: bool) -> Result<Listen, String> {
        let Uri { endpoint, export: named, tls } = &self.0;
        if !named.is_empty() && named != export {
            return Err(format!("{self} names the export {named}, but --export is {export}"));
        }
        if *tls && !has_tls {
            return Err(format!("{self} demands TLS, which --tls offers; say that as well"));
        }
        match endpoint {
            Endpoint::Unix(path) => Ok(Listen::Unix(path.clone())),
            Endpoint::Tcp { host, port } => resolve(host, *port).map(Listen::Tcp),
        }
    }

    /// The control socket of the array that is served here, which lies beside its Unix socket.
    pub(crate) fn control_socket(&self) -> Result<PathBuf, String> {
        match &self.0.endpoint {
            Endpoint::Unix(path) => Ok(control_socket(path)),
            Endpoint::Tcp { .. } => Err(format!(
                "{self} is in a network, and an array takes orders at its control socket only; leave \
                 --address out for the usual one, or name the one that `ioda serve` prints with --control"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn listen(text: &str) -> Result<Listen, String> {
        text.parse::<Address>()?.listen("ioda", false)
    }

    #[test]
    fn every_form_of_an_address_is_understood() {
        let loopback = Listen::Tcp("127.0.0.1:10809".parse().unwrap());
        for text in [
            "10809",
            "127.0.0.1:10809",
            "localhost:10809",
            "nbd://localhost",
            "nbd://127.0.0.1/ioda",
        ] {
            assert_eq!(listen(text).as_ref(), Ok(&loopback), "{text}");
        }
        assert_eq!(listen("0.0.0.0:1").unwrap(), Listen::Tcp("0.0.0.0:1".parse().unwrap()));
        assert_eq!(listen("[::1]:1").unwrap(), Listen::Tcp("[::1]:1".parse().unwrap()));
        for text in ["./a.sock", "unix:./a.sock", "nbd+unix:///?socket=./a.sock"] {
            assert_eq!(listen(text).unwrap(), Listen::Unix("./a.sock".into()), "{text}");
        }
        assert_eq!(listen("unix:a").unwrap(), Listen::Unix("a".into()));
        let uri = "storage.example:7".parse::<Address>().unwrap();
        assert_eq!(uri.uri().to_string(), "nbd://storage.example:7/");
    }

    #[test]
    fn what_is_no_address_is_refused_with_examples() {
        for (text, why) in [
            ("localhost", "localhost is neither the path of a socket"),
            ("a b:1", "such as 127.0.0.1:10809"),
            ("http://a", "nbds+unix://"),
            ("nbd://127.0.0.1/other", "names the export other, but --export is ioda"),
            ("nbds://127.0.0.1", "demands TLS"),
        ] {
            let error = listen(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn what_serves_and_what_administers_find_each_other() {
        let control =
            |text: &str| text.parse::<Address>().and_then(|address| address.control_socket());
        for text in ["/run/a.sock", "unix:/run/a.sock", "nbd+unix:///ioda?socket=/run/a.sock"] {
            assert_eq!(control(text).as_deref(), Ok(Path::new("/run/a.sock.ctl")), "{text}");
        }
        assert!(control("10809").unwrap_err().contains("--control"));
        assert_eq!(Address::default().control_socket(), Ok(control_socket(&default_socket())));
    }
}
