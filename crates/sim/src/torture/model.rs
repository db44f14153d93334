//! The model: allowed contents of every sector, derived from the answers to clients.
//!
//! A write is *begun* when it is requested and *ended* when it is answered. Two concurrent writes
//! may take effect in either order. Write B has certainly replaced write A for a read if B began
//! after A had ended, and B ended before the read began. A read may find any version that is not
//! certainly replaced. A version is *stable* when a flush, or its own forced answer, guarantees it.
//! After a power cut, any version may be found that no stable one has replaced. The version that is
//! found first after a power cut stays.

use super::disk::SECTOR_BYTES;
use std::collections::{BTreeMap, BTreeSet};

/// Sectors of a page.
pub(super) const PAGE_SECTORS: u64 = 8;

/// Content of a sector: the number of the write, or zeros.
pub(super) type Version = u32;
/// Zeros.
pub(super) const ZEROS: Version = 0;

/// Fills a sector with a version: every byte depends on the version and the sector.
pub(super) fn fill(version: Version, sector: u64, into: &mut [u8]) {
    if version == ZEROS {
        into.fill(0);
        return;
    }
    let head = u64::from(version) << 32 | sector;
    for (index, bytes) in (0..).zip(into.chunks_exact_mut(8)) {
        bytes.copy_from_slice(&word(head, index).to_le_bytes());
    }
}

/// A word of a sector: the first is its head, and the others depend on all bits of it. No sum of
/// sectors is a valid sector.
const fn word(head: u64, index: u64) -> u64 {
    let mixed = (head ^ index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    if index == 0 { head } else { mixed ^ mixed >> 29 }
}

/// Returns the version that fills a sector; `None` if it is a mixture, or belongs elsewhere.
pub(super) fn version_of(sector: u64, bytes: &[u8]) -> Option<Version> {
    let (words, _) = bytes.as_chunks::<8>();
    let head = u64::from_le_bytes(*words.first()?);
    if head == 0 {
        return bytes.iter().all(|&byte| byte == 0).then_some(ZEROS);
    }
    let fits =
        (0..).zip(words).all(|(index, bytes)| u64::from_le_bytes(*bytes) == word(head, index));
    (fits && head & u64::from(u32::MAX) == sector).then_some((head >> 32) as Version)
}

/// Versions of the sectors of a page; `None` for mixtures, and for content of other places.
pub(super) type Versions = [Option<Version>; PAGE_SECTORS as usize];

/// Returns the versions of a page whose first sector is `first`; zeros without bytes.
pub(super) fn versions_of(first: u64, bytes: Option<&[u8]>) -> Versions {
    let Some(bytes) = bytes else { return [Some(ZEROS); PAGE_SECTORS as usize] };
    let mut versions = [None; PAGE_SECTORS as usize];
    let sectors = (first..).zip(bytes.chunks_exact(SECTOR_BYTES));
    for (version, (sector, bytes)) in versions.iter_mut().zip(sectors) {
        *version = version_of(sector, bytes);
    }
    versions
}

/// A version that a sector may hold.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The request.
    id: u64,
    version: Version,
    /// Event with which it began.
    begun: u64,
    /// Event with which it ended; `None` while under way.
    ended: Option<u64>,
    /// True if its survival is guaranteed.
    stable: bool,
}

/// Possible versions of a sector.
#[derive(Clone, Debug)]
struct Sector {
    entries: Vec<Entry>,
    /// Versions that might have been found, after a power cut, instead of the one that was.
    alternatives: Vec<Entry>,
}

/// Condition of a check without the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Moment {
    /// True to check as if the power had just failed.
    pub(super) after_cut: bool,
    /// True to check as if drives were lost, or a copy that reads do not use: the alternatives of
    /// the last power cut are allowed.
    pub(super) other_copies: bool,
}

/// A wrong sector that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wrong {
    pub(super) sector: u64,
    /// Version that was found; `None` if it is no version of this sector.
    pub(super) found: Option<Version>,
    /// Allowed versions.
    pub(super) allowed: Vec<Version>,
}

impl Sector {
    /// A sector of zeros, as in an array that was never written.
    fn blank() -> Self {
        let zeros = Entry { id: 0, version: ZEROS, begun: 0, ended: Some(0), stable: true };
        Self { entries: vec![zeros], alternatives: Vec::new() }
    }
}

/// The model of an array.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Number of sectors.
    count: u64,
    /// Sectors that were ever written. All others are zeros.
    sectors: BTreeMap<u64, Sector>,
    /// Sectors with entries that are not stable.
    unstable: BTreeSet<u64>,
    /// Reads under way, by the event with which each began.
    reads: BTreeSet<u64>,
    clock: u64,
}

impl Model {
    /// An array of zeros.
    pub(super) fn new(sectors: u64) -> Self {
        Self {
            count: sectors,
            sectors: BTreeMap::new(),
            unstable: BTreeSet::new(),
            reads: BTreeSet::new(),
            clock: 1,
        }
    }

    pub(super) fn sectors(&self) -> u64 {
        self.count
    }

    /// Sectors that were ever written, in order.
    pub(super) fn written(&self) -> impl Iterator<Item = u64> + '_ {
        self.sectors.keys().copied()
    }

    /// Returns the number of a new event.
    pub(super) fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Begins a write of these sectors. Returns its number.
    pub(super) fn begin(&mut self, sectors: std::ops::Range<u64>, version: Version) -> u64 {
        let begun = self.tick();
        for sector in sectors {
            let entry = Entry { id: begun, version, begun, ended: None, stable: false };
            self.sectors.entry(sector).or_insert_with(Sector::blank).entries.push(entry);
            self.unstable.insert(sector);
        }
        begun
    }

    /// Ends the write of these sectors with this number; `stable` is true if the answer guarantees
    /// its survival.
    pub(super) fn end(&mut self, sectors: std::ops::Range<u64>, id: u64, stable: bool) {
        let ended = self.tick();
        let oldest_read = self.oldest_read();
        for (_, sector) in self.sectors.range_mut(sectors) {
            let Sector { entries, alternatives } = sector;
            for entry in entries.iter_mut().filter(|entry| entry.id == id) {
                entry.ended = Some(ended);
                entry.stable |= stable;
            }
            if stable {
                alternatives.clear();
            }
            prune(entries, oldest_read);
        }
    }

    /// Fails a write of these sectors: it may or may not have happened.
    pub(super) fn fail(&mut self, sectors: std::ops::Range<u64>, id: u64) {
        let now = self.tick();
        for (_, sector) in self.sectors.range_mut(sectors) {
            for entry in &mut sector.entries {
                if entry.id == id {
                    // The write certainly replaces no other: as if it had begun before all others.
                    entry.begun = 0;
                    entry.ended = Some(now);
                }
            }
        }
    }

    /// Ends a flush that was asked for at `asked`: writes that had ended before are stable.
    pub(super) fn flushed(&mut self, asked: u64) {
        let oldest_read = self.oldest_read();
        let sectors = &mut self.sectors;
        self.unstable.retain(|&sector| {
            let Some(Sector { entries, alternatives }) = sectors.get_mut(&sector) else {
                return false;
            };
            for entry in entries.iter_mut() {
                let stable = entry.ended.is_some_and(|ended| ended < asked);
                if stable && !entry.stable {
                    alternatives.clear();
                }
                entry.stable |= stable;
            }
            prune(entries, oldest_read);
            entries.iter().any(|entry| !entry.stable)
        });
    }

    /// Makes all ended writes stable.
    pub(super) fn flushed_everything(&mut self) {
        let now = self.tick();
        self.flushed(now);
    }

    /// Begins a read. Returns the event for [`Model::check`].
    pub(super) fn begin_read(&mut self) -> u64 {
        let begun = self.tick();
        self.reads.insert(begun);
        begun
    }

    /// Ends the read that began with this event, whatever its data.
    pub(super) fn end_read(&mut self, begun: u64) {
        self.reads.remove(&begun);
    }

    /// Event with which the oldest read under way began.
    fn oldest_read(&self) -> u64 {
        self.reads.first().copied().unwrap_or(u64::MAX)
    }

    /// Cuts the power: any version that no stable one has replaced may be found.
    pub(super) fn cut(&mut self) {
        let now = self.tick();
        self.reads.clear();
        for sector in std::mem::take(&mut self.unstable) {
            let Some(Sector { entries, .. }) = self.sectors.get_mut(&sector) else { continue };
            let replaced = last_begun(entries, |entry| entry.stable);
            entries.retain(|entry| entry.ended.is_none_or(|ended| ended >= replaced));
            // One of the versions is there and stable; which one is unknown.
            for entry in entries {
                *entry = Entry { begun: 0, ended: Some(now), stable: true, ..*entry };
            }
        }
    }

    /// Notes a start without some former drives. A sector that was half written on several of them
    /// may be found in another version, unless a later write is stable.
    pub(super) fn drives_lost(&mut self) {
        for Sector { entries, alternatives } in self.sectors.values_mut() {
            // A write that is under way, or answered and not stable, may be lost too.
            let replaced = entries.iter().any(|entry| entry.begun > 0 && entry.stable);
            let known = |entry: &Entry, entries: &[Entry]| {
                entries.iter().any(|other| other.version == entry.version)
            };
            if !alternatives.is_empty() && !replaced {
                alternatives.retain(|entry| !known(entry, entries));
                entries.append(alternatives);
            }
        }
    }

    /// Checks the bytes that a read, which began at `begun`, found in these sectors.
    pub(super) fn check(&mut self, first: u64, bytes: &[u8], begun: u64) -> Result<(), Wrong> {
        for (sector, bytes) in (first..).zip(bytes.chunks_exact(SECTOR_BYTES)) {
            let found = version_of(sector, bytes);
            let Some(Sector { entries, alternatives }) = self.sectors.get_mut(&sector) else {
                match found {
                    Some(ZEROS) => continue,
                    _ => return Err(Wrong { sector, found, allowed: vec![ZEROS] }),
                }
            };
            let replaced =
                last_begun(entries, |entry| entry.ended.is_some_and(|ended| ended < begun));
            let is_allowed = |entry: &Entry| entry.ended.is_none_or(|ended| ended >= replaced);
            let is_found = |entry: &Entry| Some(entry.version) == found;
            if !entries.iter().any(|entry| is_allowed(entry) && is_found(entry)) {
                let allowed = entries.iter().filter(|entry| is_allowed(entry));
                let allowed = allowed.map(|entry| entry.version).collect();
                return Err(Wrong { sector, found, allowed });
            }
            // Nothing was written since the power cut, so the found version is the content of the
            // sector. A write that failed during the read may have happened after it.
            let is_settled = |entry: &Entry| {
                entry.begun == 0 && entry.stable && entry.ended.is_some_and(|ended| ended < begun)
            };
            let settled = entries.iter().all(is_settled);
            if settled && entries.len() > 1 {
                // Alternatives of an earlier power cut stay: no stable write has replaced them, so
                // a copy may still have them.
                let is_new = |entry: &&Entry| {
                    !alternatives.iter().any(|other| other.version == entry.version)
                };
                let new: Vec<Entry> = entries.iter().filter(is_new).copied().collect();
                alternatives.extend(new);
                entries.retain(|entry| Some(entry.version) == found);
                entries.truncate(1);
            }
        }
        Ok(())
    }
}

/// Checks without the array.
impl Model {
    /// Checks that these versions may be on the disks from this sector on.
    pub(super) fn peek(&self, first: u64, page: &Versions, moment: Moment) -> Result<(), Wrong> {
        let mut written = self.sectors.range(first..first + PAGE_SECTORS).peekable();
        for (sector, &found) in (first..).zip(page) {
            let Some((_, Sector { entries, alternatives })) =
                written.next_if(|(written, _)| **written == sector)
            else {
                match found {
                    Some(ZEROS) => continue,
                    _ => return Err(Wrong { sector, found, allowed: vec![ZEROS] }),
                }
            };
            if let [only] = &entries[..]
                && Some(only.version) == found
            {
                continue;
            }
            let replaced = last_begun(entries, |entry| match moment.after_cut {
                true => entry.stable,
                false => entry.ended.is_some(),
            });
            let is_allowed = |entry: &&Entry| entry.ended.is_none_or(|ended| ended >= replaced);
            let others = alternatives.iter().filter(|_| moment.other_copies);
            let mut allowed: Vec<Version> =
                entries.iter().filter(is_allowed).map(|entry| entry.version).collect();
            allowed.extend(others.map(|entry| entry.version));
            if !allowed.iter().any(|version| Some(*version) == found) {
                return Err(Wrong { sector, found, allowed });
            }
        }
        Ok(())
    }
}

/// Latest beginning of an entry that certainly replaces others.
fn last_begun(entries: &[Entry], counts: impl Fn(&Entry) -> bool) -> u64 {
    entries.iter().filter(|entry| counts(entry)).map(|entry| entry.begun).max().unwrap_or(0)
}

/// Drops versions that neither a read nor a power cut can find. The oldest read under way may still
/// find versions that were replaced after it began.
fn prune(entries: &mut Vec<Entry>, oldest_read: u64) {
    let replaced = last_begun(entries, |entry| {
        entry.stable && entry.ended.is_some_and(|ended| ended < oldest_read)
    });
    entries.retain(|entry| entry.ended.is_none_or(|ended| ended >= replaced));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(model: &mut Model, version: Version) -> bool {
        let begun = model.begin_read();
        finds(model, version, begun)
    }

    /// Ends the read that began at `begun`, with this version.
    fn finds(model: &mut Model, version: Version, begun: u64) -> bool {
        let mut bytes = [0; SECTOR_BYTES];
        fill(version, 3, &mut bytes);
        model.end_read(begun);
        model.check(3, &bytes, begun).is_ok()
    }

    #[test]
    fn a_sector_tells_its_version_and_nothing_else_does() {
        let mut bytes = [0; SECTOR_BYTES];
        for version in [0, 1, 77] {
            fill(version, 9, &mut bytes);
            assert_eq!(version_of(9, &bytes), Some(version));
            if version > 0 {
                assert_eq!(version_of(8, &bytes), None, "it belongs to another sector");
            }
        }
        bytes[511] ^= 1;
        assert_eq!(version_of(9, &bytes), None);
    }

    #[test]
    fn what_was_answered_is_read_and_what_was_not_may_be() {
        let mut model = Model::new(8);
        let write_1 = model.begin(3..4, 1);
        assert!(read(&mut model, 0) && read(&mut model, 1));
        model.end(3..4, write_1, false);
        assert!(!read(&mut model, 0) && read(&mut model, 1));
        // Two concurrent writes take effect in either order.
        let write_2 = model.begin(3..4, 2);
        let write_3 = model.begin(3..4, 3);
        model.end(3..4, write_3, false);
        model.end(3..4, write_2, false);
        assert!(!read(&mut model, 1) && read(&mut model, 2) && read(&mut model, 3));
    }

    #[test]
    fn a_cut_takes_what_was_not_flushed_and_nothing_else() {
        let mut model = Model::new(8);
        let write_1 = model.begin(3..4, 1);
        model.end(3..4, write_1, false);
        let asked = model.tick();
        let write_2 = model.begin(3..4, 2);
        model.end(3..4, write_2, false);
        model.flushed(asked);
        model.begin(3..4, 3);
        model.cut();
        assert!(!read(&mut model.clone(), 0));
        for kept in [1, 2, 3] {
            let mut model = model.clone();
            assert!(read(&mut model, kept));
            let others = [1, 2, 3].into_iter().filter(|other| *other != kept);
            for other in others {
                assert!(!read(&mut model.clone(), other), "{kept} was found, so it stays");
            }
            model.cut();
            assert!(read(&mut model, kept));
        }
    }

    #[test]
    fn another_copy_may_be_found_when_a_drive_is_lost_until_something_newer_is_promised() {
        let mut model = Model::new(8);
        let write_1 = model.begin(3..4, 1);
        model.end(3..4, write_1, false);
        model.cut();
        assert!(read(&mut model, 0) && !read(&mut model, 1), "what was found stays");
        let write_2 = model.begin(3..4, 2);
        let mut lost = model.clone();
        lost.drives_lost();
        assert!([0, 1, 2].into_iter().all(|version| read(&mut lost, version)), "2 is under way");
        lost.end(3..4, write_2, false);
        assert!(read(&mut lost, 2) && !read(&mut lost, 1), "2 is answered");
        model.end(3..4, write_2, true);
        model.drives_lost();
        model.cut();
        model.drives_lost();
        assert!(
            !read(&mut model, 1) && !read(&mut model, 0) && read(&mut model, 2),
            "2 was promised"
        );
    }

    /// Nothing is stable since the first power cut, so another copy may still have its content of
    /// that time.
    #[test]
    fn another_copy_may_have_what_an_earlier_cut_has_left() {
        let mut model = Model::new(8);
        let write_1 = model.begin(3..4, 1);
        model.end(3..4, write_1, false);
        model.cut();
        assert!(read(&mut model, 0));
        model.begin(3..4, 2);
        model.cut();
        assert!(read(&mut model, 2) && !read(&mut model.clone(), 1));
        let mut lost = model.clone();
        lost.drives_lost();
        assert!([0, 1, 2].into_iter().all(|version| read(&mut lost.clone(), version)));
        let write_3 = model.begin(3..4, 3);
        model.end(3..4, write_3, true);
        model.drives_lost();
        assert!(![0, 1, 2].into_iter().any(|version| read(&mut model.clone(), version)));
    }

    #[test]
    fn a_forced_write_survives() {
        let mut model = Model::new(8);
        let write_1 = model.begin(3..4, 1);
        model.end(3..4, write_1, true);
        model.cut();
        assert!(read(&mut model.clone(), 1) && !read(&mut model, 0));
    }

    /// A page whose fourth sector has this version, and zeros elsewhere.
    fn page(version: Version) -> Versions {
        let mut page = [Some(ZEROS); PAGE_SECTORS as usize];
        page[3] = Some(version);
        page
    }

    #[test]
    fn a_look_at_the_disks_changes_nothing() {
        let mut model = Model::new(8);
        let write_1 = model.begin(3..4, 1);
        model.end(3..4, write_1, true);
        let write_2 = model.begin(3..4, 2);
        model.end(3..4, write_2, false);
        let now = Moment { after_cut: false, other_copies: false };
        let cut = Moment { after_cut: true, ..now };
        let finds = |model: &Model, version, moment| model.peek(0, &page(version), moment).is_ok();
        for _ in 0..2 {
            assert_eq!([0, 1, 2].map(|version| finds(&model, version, now)), [false, false, true]);
            assert_eq!([0, 1, 2].map(|version| finds(&model, version, cut)), [false, true, true]);
        }
        let mut nothing = page(2);
        nothing[4] = None;
        assert_eq!(
            model.peek(0, &nothing, now),
            Err(Wrong { sector: 4, found: None, allowed: vec![ZEROS] })
        );
        // An alternative version is still on another copy.
        model.cut();
        assert!(read(&mut model, 2) && !finds(&model, 1, now));
        assert!(finds(&model, 1, Moment { other_copies: true, ..now }));
    }

    #[test]
    fn a_write_that_failed_may_be_there_or_not() {
        let mut model = Model::new(8);
        let write_1 = model.begin(3..4, 1);
        model.end(3..4, write_1, true);
        let write_2 = model.begin(3..4, 2);
        model.fail(3..4, write_2);
        assert!(read(&mut model, 1) && read(&mut model, 2));
    }

    #[test]
    fn a_write_that_failed_behind_a_read_may_be_there_whatever_the_read_found() {
        let mut model = Model::new(8);
        let write_1 = model.begin(3..4, 1);
        model.end(3..4, write_1, true);
        model.cut();
        let write_2 = model.begin(3..4, 2);
        let begun = model.begin_read();
        model.fail(3..4, write_2);
        model.flushed_everything();
        assert!(finds(&mut model, 1, begun));
        assert!(read(&mut model.clone(), 2), "it happened after the read");
        assert!(read(&mut model, 1) && !read(&mut model, 2), "a later read finds what is there");
    }
}
