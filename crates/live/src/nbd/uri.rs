//! Where a server is, in the form that all NBD clients understand: `nbd://host:port/name`,
//! `nbd+unix:///name?socket=path`, and with `nbds` for TLS.
//!
//! Source: `doc/uri.md` of the project NetworkBlockDevice.

use super::listener::Listen;
use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::str::FromStr;
use thiserror::Error;

/// The port that is assigned to NBD.
pub const DEFAULT_PORT: u16 = 10809;

/// An export of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Uri {
    /// Where the server is.
    pub endpoint: Endpoint,
    /// Name of the export; empty for the default one.
    pub export: String,
    /// Whether TLS is required.
    pub tls: bool,
}

/// Where a server is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Endpoint {
    /// At a path of this machine.
    Unix(PathBuf),
    /// In a network.
    Tcp {
        /// Name or address, an IPv6 address without brackets.
        host: String,
        /// Port.
        port: u16,
    },
}

/// Why something is not a URI of an NBD server.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{uri}` is not the address of an NBD server: {reason}")]
pub struct UriError {
    uri: String,
    reason: &'static str,
}

impl Uri {
    /// The default export of a server that listens there.
    #[must_use]
    pub fn of(listen: &Listen, tls: bool) -> Self {
        let endpoint = match listen {
            Listen::Unix(path) => Endpoint::Unix(path.clone()),
            Listen::Tcp(address) => {
                Endpoint::Tcp { host: address.ip().to_string(), port: address.port() }
            }
        };
        Self { endpoint, export: String::new(), tls }
    }
}

impl FromStr for Uri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, UriError> {
        parse(text).map_err(|reason| UriError { uri: text.to_string(), reason })
    }
}

fn parse(text: &str) -> Result<Uri, &'static str> {
    let (scheme, rest) = text.split_once("://").ok_or("it does not begin with nbd://")?;
    let (tls, unix) = match scheme {
        "nbd" => (false, false),
        "nbds" => (true, false),
        "nbd+unix" => (false, true),
        "nbds+unix" => (true, true),
        _ => return Err("it begins with none of nbd://, nbds://, nbd+unix://, nbds+unix://"),
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, name) = rest.split_once('/').unwrap_or((rest, ""));
    let export = String::from_utf8(decode(name)?).map_err(|_| "the export's name is not UTF-8")?;
    let endpoint = if unix {
        if !authority.is_empty() {
            return Err("a path of this machine has no host; write nbd+unix:///");
        }
        let socket = query.split('&').find_map(|pair| pair.strip_prefix("socket="));
        let path = decode(socket.ok_or("?socket=PATH is missing")?)?;
        if path.is_empty() {
            return Err("the path after ?socket= is empty");
        }
        Endpoint::Unix(PathBuf::from(OsString::from_vec(path)))
    } else {
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = split_port(host)?;
        let host = if host.is_empty() { "localhost" } else { host };
        Endpoint::Tcp { host: host.to_string(), port }
    };
    Ok(Uri { endpoint, export, tls })
}

fn split_port(text: &str) -> Result<(&str, u16), &'static str> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inner) => inner.split_once(']').ok_or("the bracket of an address is not closed")?,
        None => text.find(':').map_or((text, ""), |at| text.split_at(at)),
    };
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => DEFAULT_PORT,
        None => return Err("after the bracket of an address comes a colon"),
        Some("") => DEFAULT_PORT,
        Some(port) => port.parse().map_err(|_| "the port is not a number from 0 to 65535")?,
    };
    Ok((host, port))
}

fn decode(text: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = rest.split_at_checked(2).ok_or("a percent sign needs two digits")?;
        let value = std::str::from_utf8(digits.0).ok().filter(|text| !text.starts_with('+'));
        let value = value.and_then(|text| u8::from_str_radix(text, 16).ok());
        bytes.push(value.ok_or("a percent sign needs two hexadecimal digits")?);
        rest = digits.1;
    }
    Ok(bytes)
}

fn encode(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            write!(f, "{}", char::from(byte))?;
        } else {
            write!(f, "%{byte:02X}")?;
        }
    }
    Ok(())
}

impl Display for Uri {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.tls { "nbds" } else { "nbd" })?;
        match &self.endpoint {
            Endpoint::Unix(path) => {
                f.write_str("+unix:///")?;
                encode(f, self.export.as_bytes())?;
                f.write_str("?socket=")?;
                encode(f, path.as_os_str().as_bytes())
            }
            Endpoint::Tcp { host, port } => {
                if host.contains(':') {
                    write!(f, "://[{host}]:{port}/")?;
                } else {
                    write!(f, "://{host}:{port}/")?;
                }
                encode(f, self.export.as_bytes())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tcp(host: &str, port: u16, export: &str, tls: bool) -> Uri {
        let endpoint = Endpoint::Tcp { host: host.into(), port };
        Uri { endpoint, export: export.into(), tls }
    }

    #[test]
    fn the_usual_forms_are_understood() {
        assert_eq!("nbd://localhost".parse(), Ok(tcp("localhost", 10809, "", false)));
        assert_eq!("nbd://".parse(), Ok(tcp("localhost", 10809, "", false)));
        assert_eq!("nbds://me@a.b:7/x%20y".parse(), Ok(tcp("a.b", 7, "x y", true)));
        assert_eq!("nbd://[::1]:9/".parse(), Ok(tcp("::1", 9, "", false)));
        let unix =
            Uri { endpoint: Endpoint::Unix("/tmp/a b".into()), export: "e".into(), tls: false };
        assert_eq!("nbd+unix:///e?socket=/tmp/a%20b".parse(), Ok(unix));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (uri, reason) in [
            ("/tmp/socket", "nbd://"),
            ("http://x", "nbds+unix://"),
            ("nbd://x:65536", "65535"),
            ("nbd://[::1", "bracket"),
            ("nbd+unix:///", "?socket=PATH"),
            ("nbd+unix:///?socket=", "empty"),
            ("nbd+unix://host/?socket=/x", "no host"),
            ("nbd://x/%4", "two digits"),
            ("nbd://x/%+4", "hexadecimal"),
        ] {
            let error = uri.parse::<Uri>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(uri), "{error}");
        }
    }

    proptest! {
        #![proptest_config(testing::cases(256))]

        #[test]
        fn every_endpoint_can_be_written_and_read(
            unix: bool, tls: bool, port: u16, export in ".*", path in "/.+",
        ) {
            let endpoint = if unix {
                Endpoint::Unix(path.into())
            } else {
                Endpoint::Tcp { host: "fe80::1".into(), port }
            };
            let uri = Uri { endpoint, export, tls };
            prop_assert_eq!(uri.to_string().parse(), Ok(uri));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*", rest in ".*") {
            let _ = text.parse::<Uri>();
            let _ = format!("nbd+unix://{rest}?socket={text}").parse::<Uri>();
            let _ = format!("nbd://{rest}{text}").parse::<Uri>();
        }
    }
}
