//! Pages that drives could not read and parities that did not fit: what is told and counted of
//! them.
//!
//! A damaged page causes an error of its drive, a wrong checksum and a repair. A damaged region has
//! thousands of them. They are gathered, and the log has a line for all that came together.

use crate::control::{DamagedPage, IntegrityStatus};
use array::{MemberSet, PageRepair, RepairCounters};
use engine::checksums::ChecksumCounters;
use std::collections::VecDeque;
use std::fmt::Write as _;
use units::{DriveId, Duration, Instant};

/// Damaged pages that a status lists.
const LISTED_MAX: usize = 16;
/// Places and stripes that a line of the log names.
const NAMED_MAX: usize = 8;
/// Time for which events are gathered from the first one on.
const GATHERED_FOR: Duration = Duration::from_secs(1);
/// Least time between two lines.
const PAUSE: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Integrity {
    listed: VecDeque<DamagedPage>,
    gathered: Gathered,
    /// When what is gathered is told.
    due: Option<Instant>,
    /// When something was told last.
    told: Option<Instant>,
}

/// Events that are not logged yet.
#[derive(Debug, Default)]
struct Gathered {
    /// Commands that drives answered with an error, and what the last one said.
    errors: u64,
    last_error: Option<(DriveId, String)>,
    wrong_checksums: u64,
    repaired: u64,
    lost: u64,
    mismatches: u64,
    /// The first places, without repetitions: drive and byte.
    places: Vec<(u8, u64)>,
    /// Events that are at none of them.
    others: u64,
    /// The first stripes whose parity does not fit, with the drives of that parity.
    stripes: Vec<(u64, Vec<u8>)>,
}

impl Gathered {
    fn at(&mut self, drive: DriveId, offset_bytes: u64) {
        let place = (drive.0, offset_bytes);
        if self.places.contains(&place) {
            return;
        }
        match self.places.len() < NAMED_MAX {
            true => self.places.push(place),
            false => self.others += 1,
        }
    }

    /// All of it in one sentence.
    fn sentence(&self) -> String {
        let mut parts = Vec::new();
        let mut part = |count: u64, one: &str, more: &str| {
            if count > 0 {
                parts.push(format!("{count} {}", if count == 1 { one } else { more }));
            }
        };
        part(
            self.errors,
            "command was answered with an error",
            "commands were answered with an error",
        );
        part(self.wrong_checksums, "checksum was wrong", "checksums were wrong");
        part(self.repaired, "damaged page was repaired", "damaged pages were repaired");
        part(self.lost, "damaged page cannot be repaired", "damaged pages cannot be repaired");
        part(self.mismatches, "parity does not fit the data", "parities do not fit the data");
        let mut text = parts.join(", ");
        if let Some((drive, error)) = &self.last_error {
            let _ = write!(text, "; drive {} says: {error}", drive.0);
        }
        let places = self.places.iter().map(|(drive, byte)| format!("drive {drive} byte {byte}"));
        let stripes = self.stripes.iter().map(|(stripe, drives)| {
            let drives: Vec<String> = drives.iter().map(u8::to_string).collect();
            format!("stripe {stripe} (parity on drive {})", drives.join(" and "))
        });
        let named: Vec<String> = places.chain(stripes).collect();
        if !named.is_empty() {
            let rest = if self.others > 0 { " and more" } else { "" };
            let _ = write!(text, "; at {}{rest}", named.join(", "));
        }
        text
    }
}

impl Integrity {
    /// When [`Self::tell`] has something to tell.
    pub(super) fn deadline(&self) -> Instant {
        self.due.unwrap_or(Instant::NEVER)
    }

    /// Logs what is due by `now`.
    pub(super) fn tell(&mut self, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            self.tell_now(now);
        }
    }

    /// Logs all that was gathered.
    pub(super) fn tell_now(&mut self, now: Instant) {
        if self.due.take().is_none() {
            return;
        }
        self.told = Some(now);
        let gathered = std::mem::take(&mut self.gathered);
        let Gathered { errors, wrong_checksums, repaired, lost, mismatches, .. } = gathered;
        let sentence = gathered.sentence();
        match lost {
            0 => tracing::warn!(errors, wrong_checksums, repaired, lost, mismatches, "{sentence}"),
            _ => tracing::error!(errors, wrong_checksums, repaired, lost, mismatches, "{sentence}"),
        }
    }

    fn gather(&mut self, now: Instant) -> &mut Gathered {
        let paused = self.told.map_or(now, |told| told + PAUSE);
        self.due.get_or_insert((now + GATHERED_FOR).max(paused));
        &mut self.gathered
    }

    /// A drive has answered commands with an error.
    pub(super) fn note_errors(&mut self, now: Instant, drive: DriveId, count: u64, error: String) {
        let gathered = self.gather(now);
        gathered.errors += count;
        gathered.last_error = Some((drive, error));
    }

    /// What was read does not fit its checksum.
    pub(super) fn note_checksum(&mut self, now: Instant, drive: DriveId, offset_bytes: u64) {
        let gathered = self.gather(now);
        gathered.wrong_checksums += 1;
        gathered.at(drive, offset_bytes);
    }

    /// A page that a drive could not read was repaired, or could not be.
    pub(super) fn note_repair(&mut self, now: Instant, repair: PageRepair, page_bytes: u64) {
        let PageRepair { drive, lba, repaired } = repair;
        let offset_bytes = lba.0 * page_bytes;
        if self.listed.len() == LISTED_MAX {
            self.listed.pop_front();
        }
        self.listed.push_back(DamagedPage { drive: drive.0, offset_bytes, repaired });
        let gathered = self.gather(now);
        match repaired {
            true => gathered.repaired += 1,
            false => gathered.lost += 1,
        }
        gathered.at(drive, offset_bytes);
    }

    /// A scrub found parities of a stripe that do not fit.
    pub(super) fn note_mismatch(&mut self, now: Instant, stripe: u64, members: MemberSet) {
        let gathered = self.gather(now);
        gathered.mismatches += members.iter().count() as u64;
        match gathered.stripes.len() < NAMED_MAX {
            true => gathered.stripes.push((stripe, members.iter().collect())),
            false => gathered.others += 1,
        }
    }

    pub(super) fn status(
        &self,
        repairs: &RepairCounters,
        checksums: Option<&ChecksumCounters>,
    ) -> IntegrityStatus {
        let counted = checksums.copied().unwrap_or_default();
        IntegrityStatus {
            checksums: checksums.is_some(),
            verified_blocks: counted.verified,
            mismatched_blocks: counted.mismatched,
            accepted_blocks: counted.accepted,
            repaired_pages: repairs.rewritten,
            lost_pages: repairs.lost,
            damaged_pages: self.listed.iter().cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Lba;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn ten_damaged_pages_are_one_line_that_says_where() {
        let mut integrity = Integrity::default();
        for page in 0..10 {
            integrity.note_errors(at(3), DriveId(2), 1, "EIO".into());
            integrity.note_checksum(at(3), DriveId(2), page * 4096);
            let repair = PageRepair { drive: DriveId(2), lba: Lba(page), repaired: true };
            integrity.note_repair(at(3), repair, 4096);
        }
        assert_eq!(integrity.deadline(), at(4));
        assert_eq!(
            integrity.gathered.sentence(),
            "10 commands were answered with an error, 10 checksums were wrong, 10 damaged pages were repaired; \
             drive 2 says: EIO; at drive 2 byte 0, drive 2 byte 4096, drive 2 byte 8192, drive 2 byte 12288, \
             drive 2 byte 16384, drive 2 byte 20480, drive 2 byte 24576, drive 2 byte 28672 and more"
        );
        integrity.tell(at(3));
        assert_eq!(integrity.deadline(), at(4), "more may come");
        integrity.tell(at(4));
        assert_eq!(integrity.deadline(), Instant::NEVER);
        assert_eq!(integrity.status(&RepairCounters::default(), None).damaged_pages.len(), 10);
    }

    #[test]
    fn lines_have_a_pause_between_them_but_what_is_asked_for_is_told_at_once() {
        let mut integrity = Integrity::default();
        integrity.note_checksum(at(3), DriveId(0), 0);
        integrity.tell(at(4));
        integrity.note_checksum(at(5), DriveId(0), 0);
        assert_eq!(integrity.deadline(), at(14));
        integrity.tell_now(at(6));
        assert_eq!(integrity.deadline(), Instant::NEVER);
        integrity.note_checksum(at(60), DriveId(0), 0);
        assert_eq!(integrity.deadline(), at(61));
        assert_eq!(integrity.gathered.sentence(), "1 checksum was wrong; at drive 0 byte 0");
    }
}
