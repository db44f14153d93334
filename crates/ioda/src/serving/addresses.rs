//! Where an array can be reached.

use crate::address::Address;
use crate::attaching::{Attaching, TargetAddress};
use array::policy::CoordinatorPlace;
use live::SocketAccess;
use live::control::ArrayHandle;
use live::nbd::tls::server_config;
use live::nbd::uri::Uri;
use live::nbd::{Listen, Tls};
use live::operate::{self, Operate, OperateError, ctl::control_socket, ctl::default_socket};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use study::Failure;
use study::settings::{HostSettings, ServeSettings, Settings};

/// Where the live page is, unless it is said.
const HTTP: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9640);

/// Name of the export, unless it is said.
pub(crate) const EXPORT: &str = "ioda";

/// The system's groups.
const GROUPS: &str = "/etc/group";

/// Where the live page is to be.
#[derive(Clone, Copy, Debug)]
enum HttpAt {
    /// Nowhere.
    None,
    /// Where nobody has asked for it: another program there is no error.
    Usual,
    /// Where it was asked for.
    At(SocketAddr),
}

/// Where clients, people and monitors reach an array.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// For NBD clients.
    pub(crate) listen: Vec<Listen>,
    /// For NVMe/TCP hosts.
    pub(crate) hosts: Option<Attaching>,
    pub(crate) tls: Tls,
    /// Of those for hosts, one beyond this machine that asks for no secret.
    open_target: Option<SocketAddr>,
    /// Whether NBD clients beyond this machine have to show a certificate.
    verifies_clients: bool,
    pub(crate) control: PathBuf,
    /// File for the last events.
    pub(crate) trace: PathBuf,
    pub(crate) socket_access: SocketAccess,
    http: HttpAt,
    http_hosts: Vec<String>,
}

/// An address with a port, or a port alone, which is on the loopback interface.
fn address(text: &str) -> Option<SocketAddr> {
    match text.parse::<u16>() {
        Ok(port) => Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        Err(_) => text.parse().ok(),
    }
}

/// Where clients are waited for.
fn listen(text: &str, settings: &ServeSettings) -> Result<Listen, Failure> {
    let export = settings.export.as_deref().unwrap_or(EXPORT);
    let address = text.parse::<Address>();
    let listen = address.and_then(|address| address.listen(export, settings.tls.is_some()));
    listen.map_err(|error| Failure::usage(format!("--address: {error}")))
}

/// Whether another host is to be the coordinator of PLM-light.
fn is_coordinated(settings: &ServeSettings) -> bool {
    let place = settings.plm_coordinator.as_ref().map(|text| text.value.0);
    place == Some(CoordinatorPlace::Remote)
}

/// How NVMe/TCP hosts attach, if they are to.
fn attaching(hosts: &HostSettings, targets: &[&String]) -> Result<Option<Attaching>, Failure> {
    if targets.is_empty() {
        return match *hosts == HostSettings::default() {
            true => Ok(None),
            false => Err(Failure::usage(
                "--nqn, --host, --host-keys and --any-host are for hosts over NVMe/TCP; say where they connect, \
                 such as --address nvme+tcp://127.0.0.1:4420",
            )),
        };
    }
    let addresses = targets.iter().map(|text| text.parse()).collect::<Result<Vec<_>, _>>();
    let addresses = addresses.map_err(|error| Failure::usage(format!("--address: {error}")))?;
    Attaching::new(hosts, &addresses, "array").map(Some)
}

impl Addresses {
    /// Works out what is set.
    pub(crate) fn new(settings: &Settings) -> Result<Self, Failure> {
        let Settings { serve: settings, hosts, .. } = settings;
        let (targets, others): (Vec<&String>, Vec<&String>) =
            settings.address.iter().partition(|text| TargetAddress::is_meant(text));
        if is_coordinated(settings) && targets.is_empty() {
            return Err(Failure::usage(
                "--plm-coordinator remote: the coordinator is a host over NVMe/TCP; say where it connects, such \
                 as --address nvme+tcp://127.0.0.1:4420",
            ));
        }
        let hosts = attaching(hosts, &targets)?;
        let open_target = hosts.as_ref().and_then(Attaching::open_address);
        let mut places: Vec<Listen> =
            others.iter().map(|text| listen(text, settings)).collect::<Result<_, _>>()?;
        if settings.address.is_empty() {
            places.push(Listen::Unix(default_socket()));
        }
        let first_socket = places.iter().find_map(|place| match place {
            Listen::Unix(path) => Some(path.clone()),
            Listen::Tcp(_) => None,
        });
        let usual = control_socket(&first_socket.unwrap_or_else(default_socket));
        let control = settings.control.clone().unwrap_or(usual);
        let trace = settings.trace_file.clone().unwrap_or_else(|| {
            let mut path = control.clone().into_os_string();
            path.push(".trace");
            path.into()
        });
        let http = match settings.http.as_deref() {
            None => HttpAt::Usual,
            Some("none") => HttpAt::None,
            Some(text) => HttpAt::At(address(text).ok_or_else(|| {
                Failure::usage(format!(
                    "--http {text} is neither an address with a port, such as 127.0.0.1:9640, nor \
                     `none`"
                ))
            })?),
        };
        let socket_access = match &settings.socket_group {
            Some(name) => SocketAccess::Group(group(name)?),
            None => SocketAccess::Owner,
        };
        let tls = tls(settings)?;
        let names = settings.http_host.iter().map(|name| http_host(name));
        let http_hosts = names.collect::<Result<_, _>>()?;
        Ok(Self {
            listen: places,
            hosts,
            tls,
            open_target,
            verifies_clients: settings.tls_verify_peer,
            control,
            trace,
            socket_access,
            http,
            http_hosts,
        })
    }

    /// Lets people and their monitors in. Returns where the live page is, if there is one.
    pub(crate) fn operate(
        &self,
        handle: &ArrayHandle,
    ) -> Result<(Operate, Option<SocketAddr>), Failure> {
        let (http, asked) = match self.http {
            HttpAt::None => (None, true),
            HttpAt::Usual => (Some(HTTP), false),
            HttpAt::At(address) => (Some(address), true),
        };
        let settings = operate::Settings {
            http,
            http_hosts: self.http_hosts.clone(),
            control: Some(self.control.clone()),
            socket_access: self.socket_access,
        };
        let operate = match Operate::start(&settings, handle) {
            Err(OperateError::Http { address, source }) if !asked => {
                tracing::warn!("no live page and no metrics at {address}: {source}");
                Operate::start(&operate::Settings { http: None, ..settings }, handle)
            }
            started => started,
        };
        let operate = operate.map_err(Failure::usage)?;
        let page = operate.http_address();
        Ok((operate, page))
    }

    /// The URI of what is served at `at`.
    pub(crate) fn uri(&self, at: &Listen) -> Uri {
        Uri::of(at, !matches!(self.tls, Tls::Off))
    }

    /// An address beyond this machine where anyone can read and write the array, whoever they are.
    /// `listens` are those of NBD clients, with the ports that the system chose.
    pub(crate) fn open_to_anyone(&self, listens: &[Listen]) -> Option<SocketAddr> {
        let beyond = listens.iter().find_map(|at| match at {
            Listen::Tcp(at) if !at.ip().is_loopback() => Some(*at),
            Listen::Tcp(_) | Listen::Unix(_) => None,
        });
        beyond.filter(|_| !self.verifies_clients).or(self.open_target)
    }

    /// What `ioda ctl` must be told to find this array.
    pub(crate) fn control_flag(&self) -> String {
        if self.control == control_socket(&default_socket()) {
            return String::new();
        }
        let sockets = self.listen.iter().filter_map(|place| match place {
            Listen::Unix(path) => Some(path),
            Listen::Tcp(_) => None,
        });
        match sockets.into_iter().find(|path| control_socket(path) == self.control) {
            Some(path) => format!(" --address {}", path.display()),
            None => format!(" --control {}", self.control.display()),
        }
    }
}

/// A name without a port, as it is compared with.
fn http_host(name: &str) -> Result<String, Failure> {
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c));
    if !is_name && name.parse::<IpAddr>().is_err() {
        return Err(Failure::usage(format!(
            "--http-host {name} is neither a name, such as array.example, nor an address; it has no \
             port and no scheme"
        )));
    }
    Ok(name.strip_suffix('.').unwrap_or(name).to_owned())
}

/// The number of a group, from its name or as it is.
fn group(name: &str) -> Result<u32, Failure> {
    let groups = std::fs::read_to_string(GROUPS).map_err(|error| {
        Failure::usage(format!("--socket-group: cannot read {GROUPS}: {error}"))
    })?;
    group_in(&groups, name).or_else(|| name.parse().ok()).ok_or_else(|| {
        Failure::usage(format!(
            "--socket-group: there is no group `{name}` in {GROUPS}; name one that is there, or give \
             the number of one"
        ))
    })
}

/// The number of a group in the text of [`GROUPS`].
fn group_in(groups: &str, name: &str) -> Option<u32> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok())?
    })
}

fn tls(settings: &ServeSettings) -> Result<Tls, Failure> {
    let Some(directory) = &settings.tls else {
        return match demands_tls(settings) {
            false => Ok(Tls::Off),
            true => Err(Failure::usage(
                "--tls-required and --tls-verify-peer need certificates: name their directory with --tls",
            )),
        };
    };
    let config = server_config(Path::new(directory), settings.tls_verify_peer)
        .map_err(|error| Failure::usage(format!("--tls: {error}")))?;
    Ok(if demands_tls(settings) { Tls::Required(config) } else { Tls::Allowed(config) })
}

/// Whether clients without TLS are refused. A client without TLS shows no certificate that could be
/// verified.
const fn demands_tls(settings: &ServeSettings) -> bool {
    settings.tls_required || settings.tls_verify_peer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_verifies_clients_demands_tls_and_certificates() {
        let verified = ServeSettings { tls_verify_peer: true, ..ServeSettings::default() };
        assert!(demands_tls(&verified));
        assert!(!demands_tls(&ServeSettings::default()));
        for settings in [verified, ServeSettings { tls_required: true, ..ServeSettings::default() }]
        {
            let said = tls(&settings).unwrap_err().to_string();
            assert!(said.contains("name their directory with --tls"), "{said}");
        }
    }

    #[test]
    fn an_address_is_open_to_anyone_unless_each_way_in_demands_proof() {
        let plain = Addresses::new(&Settings::default()).unwrap();
        let far = [Listen::Tcp("0.0.0.0:10809".parse().unwrap())];
        assert_eq!(plain.open_to_anyone(&far), "0.0.0.0:10809".parse().ok());
        assert_eq!(plain.open_to_anyone(&[Listen::Tcp("127.0.0.1:1".parse().unwrap())]), None);
        let verified = Addresses { verifies_clients: true, ..plain };
        assert_eq!(verified.open_to_anyone(&far), None);
        let target = "0.0.0.0:4420".parse().ok();
        let both = Addresses { open_target: target, ..verified };
        assert_eq!(both.open_to_anyone(&far), target, "hosts show nothing there");
    }

    #[test]
    fn a_port_alone_is_on_the_loopback_interface() {
        assert_eq!(address("9640"), "127.0.0.1:9640".parse().ok());
        assert_eq!(address("0.0.0.0:1"), "0.0.0.0:1".parse().ok());
        let error = listen("localhost", &ServeSettings::default()).unwrap_err().to_string();
        assert!(error.starts_with("--address: localhost is neither"), "{error}");
    }

    #[test]
    fn a_group_has_a_name_or_a_number() {
        let groups = "root:x:0:\nstorage:x:990:ann,bob\n";
        assert_eq!(group_in(groups, "storage"), Some(990));
        assert_eq!(group_in(groups, "stor"), None);
        assert_eq!(group("4711").unwrap(), 4711);
        let error = group("no-such-group").unwrap_err().to_string();
        assert!(error.contains("there is no group `no-such-group`"), "{error}");
    }

    #[test]
    fn a_host_has_no_port_and_no_scheme() {
        assert_eq!(http_host("array.example.").unwrap(), "array.example");
        assert_eq!(http_host("2001:db8::1").unwrap(), "2001:db8::1");
        for wrong in ["", "array:9640", "http://array", "[::1]"] {
            assert!(http_host(wrong).unwrap_err().to_string().contains("no port"), "{wrong}");
        }
    }

    #[test]
    fn the_control_socket_is_beside_the_first() {
        let of = |serve: &ServeSettings| {
            Addresses::new(&Settings { serve: serve.clone(), ..Settings::default() })
        };
        let settings = ServeSettings {
            address: vec!["10809".into(), "/run/a.sock".into()],
            ..ServeSettings::default()
        };
        let addresses = of(&settings).unwrap();
        assert_eq!(addresses.control, Path::new("/run/a.sock.ctl"));
        assert_eq!(addresses.control_flag(), " --address /run/a.sock");
        let settings = ServeSettings { control: Some("/run/c".into()), ..settings };
        assert_eq!(of(&settings).unwrap().control_flag(), " --control /run/c");
        let usual = of(&ServeSettings::default()).unwrap();
        assert_eq!(usual.control_flag(), "", "`ioda ctl` looks there");
    }
}
