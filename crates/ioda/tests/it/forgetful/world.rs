//! The files of the file system, and whether it has power.

use super::Counts;
use super::contents::Contents;
use super::image::PAGE;
use super::names::{Name, Names};
use fuser::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use units::Rng;

/// The root of the file system.
pub(super) const ROOT: u64 = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Power {
    #[default]
    On,
    /// Nothing is answered.
    Off,
    /// Everything is answered with an error.
    Refused,
}

pub(super) enum Kind {
    Folder,
    File(Contents),
}

pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// Everything there is.
pub(super) struct World {
    pub(super) power: Power,
    /// How often the power has gone: files that were opened before are of no use.
    pub(super) age: u64,
    /// After how many more changes and syncs the power goes, and with which seed.
    pub(super) fuse: Option<(u64, u64)>,
    pub(super) limit_bytes: u64,
    pub(super) sync_time: Duration,
    /// Syncs of files are not answered.
    pub(super) holds_syncs: bool,
    pub(super) counts: Counts,
    pub(super) nodes: BTreeMap<u64, Node>,
    pub(super) names: Names,
    next: u64,
    /// Threads whose last request was a write with `O_DSYNC`: the sync that the kernel sends after
    /// it covers nothing else.
    pub(super) stable_writers: BTreeSet<u32>,
}

impl Default for World {
    fn default() -> Self {
        let root = Node { kind: Kind::Folder, mode: 0o755, uid: 0, gid: 0 };
        Self {
            power: Power::On,
            age: 0,
            fuse: None,
            limit_bytes: u64::MAX,
            sync_time: Duration::ZERO,
            holds_syncs: false,
            counts: Counts::default(),
            nodes: [(ROOT, root)].into(),
            names: Names::default(),
            next: ROOT + 1,
            stable_writers: BTreeSet::new(),
        }
    }
}

impl World {
    pub(super) fn cut(&mut self, seed: u64) {
        let mut random = Rng::new(seed);
        let mut lost = self.names.cut(&mut random);
        let named = self.names.files();
        self.nodes.retain(|number, _| *number == ROOT || named.contains(number));
        for node in self.nodes.values_mut() {
            if let Kind::File(contents) = &mut node.kind {
                lost += contents.cut(&mut random);
            }
        }
        self.counts.cuts += 1;
        self.counts.lost += lost;
        self.age += 1;
        self.fuse = None;
        self.power = Power::Off;
        self.stable_writers.clear();
    }

    /// Before each change or sync: whether the power goes instead.
    pub(super) fn burn(&mut self) -> bool {
        match &mut self.fuse {
            None => false,
            Some((0, seed)) => {
                let seed = *seed;
                self.cut(seed);
                true
            }
            Some((left, _)) => {
                *left -= 1;
                false
            }
        }
    }

    pub(super) fn used_bytes(&self) -> u64 {
        let files = self.nodes.values().filter_map(|node| match &node.kind {
            Kind::File(contents) => Some(contents.current.pages() as u64),
            Kind::Folder => None,
        });
        files.sum::<u64>() * PAGE as u64
    }

    /// The file with a number.
    pub(super) fn file(&mut self, number: u64) -> Result<&mut Contents, Errno> {
        match self.nodes.get_mut(&number).map(|node| &mut node.kind) {
            Some(Kind::File(contents)) => Ok(contents),
            Some(Kind::Folder) => Err(Errno::EISDIR),
            None => Err(Errno::ESTALE),
        }
    }

    /// Whether there is room for a write.
    pub(super) fn make_room(
        &mut self,
        number: u64,
        offset: u64,
        length: usize,
    ) -> Result<(), Errno> {
        let new = self.file(number)?.current.new_pages(offset, length) as u64 * PAGE as u64;
        if self.limit_bytes != u64::MAX && new > 0 && self.used_bytes() + new > self.limit_bytes {
            self.counts.full += 1;
            return Err(Errno::ENOSPC);
        }
        Ok(())
    }

    /// Adds a file or folder.
    pub(super) fn make(&mut self, name: Name, node: Node) -> Result<u64, Errno> {
        if self.names.find(name.0, &name.1).is_some() {
            return Err(Errno::EEXIST);
        }
        let number = self.next;
        self.next += 1;
        self.nodes.insert(number, node);
        self.names.link(name, number);
        Ok(number)
    }
}
