//! Which file has which name, and which of that is on stable storage.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use units::Rng;

/// A name in a folder.
pub(super) type Name = (u64, OsString);

/// A change of names that no sync of their folder has covered yet.
enum Change {
    Link(Name, u64),
    Unlink(Name),
    Rename(Name, Name),
}

/// All names of a file system.
#[derive(Default)]
pub(super) struct Names {
    current: BTreeMap<Name, u64>,
    stable: BTreeMap<Name, u64>,
    unsynced: Vec<Change>,
}

impl Change {
    fn is_in(&self, folder: u64) -> bool {
        match self {
            Self::Link(name, _) | Self::Unlink(name) => name.0 == folder,
            Self::Rename(from, to) => from.0 == folder || to.0 == folder,
        }
    }

    fn apply(&self, names: &mut BTreeMap<Name, u64>) {
        match self {
            Self::Link(name, file) => drop(names.insert(name.clone(), *file)),
            Self::Unlink(name) => drop(names.remove(name)),
            Self::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
        }
    }
}

impl Names {
    pub(super) fn find(&self, folder: u64, name: &OsStr) -> Option<u64> {
        self.current.get(&(folder, name.into())).copied()
    }

    /// Names in a folder, in order.
    pub(super) fn list(&self, folder: u64) -> impl Iterator<Item = (&OsStr, u64)> {
        let inside = self.current.iter().filter(move |((parent, _), _)| *parent == folder);
        inside.map(|((_, name), file)| (name.as_os_str(), *file))
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.unsynced.push(change);
    }

    pub(super) fn link(&mut self, name: Name, file: u64) {
        self.change(Change::Link(name, file));
    }

    pub(super) fn unlink(&mut self, name: Name) {
        self.change(Change::Unlink(name));
    }

    pub(super) fn rename(&mut self, from: Name, to: Name) {
        self.change(Change::Rename(from, to));
    }

    /// A folder is synced: its names, and none of other folders.
    pub(super) fn sync(&mut self, folder: u64) {
        let (covered, rest) =
            std::mem::take(&mut self.unsynced).into_iter().partition(|it| it.is_in(folder));
        self.unsynced = rest;
        let covered: Vec<Change> = covered;
        covered.iter().for_each(|change| change.apply(&mut self.stable));
    }

    /// The power goes: names are as they were at some moment since the last sync. Returns how many
    /// changes were lost.
    pub(super) fn cut(&mut self, random: &mut Rng) -> u64 {
        let changes = std::mem::take(&mut self.unsynced);
        let count = changes.len() as u64;
        let kept = [0, count, random.below(count + 1)][random.below(3) as usize];
        changes.iter().take(kept as usize).for_each(|change| change.apply(&mut self.stable));
        self.current = self.stable.clone();
        count - kept
    }

    /// Every file that has a name, or may have one again.
    pub(super) fn files(&self) -> BTreeSet<u64> {
        self.current.values().chain(self.stable.values()).copied().collect()
    }
}
