//! An array as NVMe/TCP hosts see it: one namespace, with as many paths to it as there are
//! addresses.

use super::Opened;
use crate::attaching::{About, Attached, Attaching, connect_commands};
use live::nvme_tcp::TargetSetup;
use live::server::split_client_memory;
use nvme::target::Persistence;
use std::net::SocketAddr;
use study::Failure;

/// Where hosts attach, for people.
#[derive(Debug)]
pub(crate) struct Paths {
    sockets: Vec<SocketAddr>,
    addresses: Vec<String>,
    nqn: String,
}

impl Paths {
    fn new(attached: &Attached) -> Self {
        let nqn = attached.names.nqn.to_string();
        Self { sockets: attached.sockets.clone(), addresses: attached.addresses().collect(), nqn }
    }

    /// Each as a URI that names the array.
    pub(crate) fn uris(&self) -> impl Iterator<Item = String> {
        self.addresses.iter().map(|address| format!("{address}/{}", self.nqn))
    }

    /// How a Linux host attaches over all of them.
    pub(crate) fn commands(&self) -> String {
        self.sockets.iter().map(|at| connect_commands(*at, &self.nqn)).collect()
    }
}

impl Opened {
    /// Listens for hosts. Where there are NBD clients as well, both have a part of the memory for
    /// clients.
    pub(crate) fn attach(
        &self,
        hosts: Attaching,
        has_nbd: bool,
    ) -> Result<(Paths, TargetSetup), Failure> {
        let all_bytes = self.built.client_memory_bytes;
        let (_, for_hosts_bytes) = split_client_memory(all_bytes);
        let memory_bytes = if has_nbd { for_hosts_bytes } else { all_bytes };
        let attached = hosts.open(&self.uuid()?, self.about(has_nbd), memory_bytes)?;
        Ok((Paths::new(&attached), attached.target))
    }

    /// What hosts are told of the array.
    fn about(&self, has_nbd: bool) -> About {
        let (plan, config) = (&self.built.plan, &self.built.config);
        let page_bytes = config.page_bytes;
        About {
            model: format!("IODA array, {} of {}", plan.level.name(), plan.width),
            bytes: config.layout.capacity_pages() * u64::from(page_bytes),
            write_bytes: page_bytes,
            random_read_100ns: 0,
            // What is in memory is lost with the memory, flushed or not.
            write_cache: self.is_durable(),
            ioda: None,
            // A client over NBD would not heed them.
            reservations: if has_nbd { Persistence::Absent } else { Persistence::Impossible },
        }
    }
}
