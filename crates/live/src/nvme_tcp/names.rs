//! What a subsystem is called, all of it from one UUID: names have to differ from those of every
//! other subsystem, or Linux takes two for one.

use crate::durable::Uuid;
use nvme::target::{HostList, Listing, Reached};
use nvme::wire::{
    AddressFamily, Ascii, CNTLID_DYNAMIC, DiscoveryRecord, Nqn, SubsystemKind, Transport,
};
use std::net::{IpAddr, SocketAddr};

/// The beginning of a name that is made of a UUID (NVM Express, "NVMe Qualified Names").
const UUID_NQN: &str = "nqn.2014-08.org.nvmexpress:uuid:";

/// Entries of an admin queue that a host is to have: as Linux has.
const ADMIN_QUEUE_ENTRIES: u16 = 32;

/// The names of a subsystem and its namespace.
#[derive(Clone, Copy, Debug)]
pub struct SubsystemNames {
    /// The subsystem.
    pub nqn: Nqn,
    /// Serial number.
    pub serial: Ascii<20>,
    /// The namespace.
    pub nguid: [u8; 16],
}

impl SubsystemNames {
    /// The names that a UUID gives; the subsystem's own, if it has one.
    #[must_use]
    pub fn new(uuid: &Uuid, nqn: Option<Nqn>) -> Self {
        // A prefix and 36 characters always are a name.
        let made = || Nqn::new(&format!("{UUID_NQN}{uuid}"));
        let nqn = nqn.or_else(made).unwrap_or_else(|| unreachable!("{uuid} is a name"));
        Self { nqn, serial: serial_number(uuid), nguid: uuid.0 }
    }
}

/// A serial number of sixteen hexadecimal digits.
fn serial_number(uuid: &Uuid) -> Ascii<20> {
    let digits: String = uuid.0[8..].iter().map(|byte| format!("{byte:02x}")).collect();
    Ascii::new(&digits).unwrap_or_default()
}

/// What the discovery subsystem tells these hosts of a subsystem at an address.
#[must_use]
pub fn listing(address: SocketAddr, subsystem: Nqn, hosts: HostList) -> Listing {
    // An address and a port are short enough.
    let record = DiscoveryRecord {
        transport: Transport::Tcp,
        family: match address {
            SocketAddr::V4(_) => AddressFamily::Ipv4,
            SocketAddr::V6(_) => AddressFamily::Ipv6,
        },
        kind: SubsystemKind::Nvm,
        requirements: 0,
        port: 0,
        controller: CNTLID_DYNAMIC,
        admin_queue: ADMIN_QUEUE_ENTRIES,
        flags: 0,
        service: Ascii::new(&address.port().to_string()).unwrap_or_default(),
        subsystem: Some(subsystem),
        address: Ascii::new(&address.ip().to_string()).unwrap_or_default(),
        security: 0,
    };
    Listing { record, hosts, is_everywhere: address.ip().is_unspecified() }
}

/// A local address in the form of a discovery record.
pub(super) fn reached(ip: IpAddr) -> Reached {
    // A socket for both families has IPv4 addresses in the form of IPv6.
    let ip = ip.to_canonical();
    let family = match ip {
        IpAddr::V4(_) => AddressFamily::Ipv4,
        IpAddr::V6(_) => AddressFamily::Ipv6,
    };
    Reached { family, address: Ascii::new(&ip.to_string()).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_the_address_that_it_has_reached() {
        let at = |text: &str| reached(text.parse().unwrap());
        for (text, family, told) in [
            ("10.0.0.2", AddressFamily::Ipv4, "10.0.0.2"),
            ("::ffff:10.0.0.2", AddressFamily::Ipv4, "10.0.0.2"),
            ("fd00::2", AddressFamily::Ipv6, "fd00::2"),
        ] {
            assert_eq!((at(text).family, at(text).address.as_str()), (family, told));
        }
        let nqn = Nqn::new("nqn.2026-01.example:a").unwrap();
        let of = |text: &str| listing(text.parse().unwrap(), nqn, HostList::Any).is_everywhere;
        assert!(of("0.0.0.0:4420") && of("[::]:4420") && !of("10.0.0.2:4420"));
    }

    #[test]
    fn names_are_made_of_the_uuid_and_chosen_ones_kept() {
        let uuid = Uuid::from_random([0xab; 16]);
        let names = SubsystemNames::new(&uuid, None);
        assert_eq!(
            names.nqn.as_str(),
            "nqn.2014-08.org.nvmexpress:uuid:abababab-abab-4bab-abab-abababababab"
        );
        assert_eq!((names.serial.as_str(), names.nguid), ("abababababababab", uuid.0));
        let own = Nqn::new("nqn.2026-01.example:a");
        assert_eq!(Some(SubsystemNames::new(&uuid, own).nqn), own);
    }
}
