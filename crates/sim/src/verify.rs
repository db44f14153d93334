//! Verified runs: a reference model of page contents, independent of everything under test.
//!
//! The [`Tags`] of the engine carry eight bytes per page; the [`Reference`] has their allowed
//! values.
//!
//! Checked: every page of every read; at the end every page of the array and every parity. Not
//! checked: flipped bits, for which there is no model, and orderings that the array does not
//! guarantee.

use array::{Array, Ended, Request, RequestId, RequestKind, Role, gf};
use engine::{DataPlane, Drive, NoData, Tag, TaggedRequest, Tags, ZERO, written_tag};
use std::collections::BTreeMap;
use std::fmt;
use units::{DriveId, Observe};

/// A data plane of a run, with or without tags.
pub(crate) trait MaybeTags: DataPlane {
    /// The tags; `None` without any.
    fn tags(&self) -> Option<&Tags>;
    /// The tags for changes; `None` without any.
    fn tags_mut(&mut self) -> Option<&mut Tags>;
}

impl MaybeTags for NoData {
    fn tags(&self) -> Option<&Tags> {
        None
    }

    fn tags_mut(&mut self) -> Option<&mut Tags> {
        None
    }
}

impl MaybeTags for Tags {
    fn tags(&self) -> Option<&Tags> {
        Some(self)
    }

    fn tags_mut(&mut self) -> Option<&mut Tags> {
        Some(self)
    }
}

/// A page with a tag that was never written there.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// Page of the array, or row of parity.
    pub page: u64,
    /// Tag that was found.
    pub found: u64,
    /// Allowed tags.
    pub expected: Vec<u64>,
    /// Activity that found it.
    pub during: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { page, found, expected, during } = self;
        write!(f, "{during} found tag {found:#x} in page {page}, which may hold {expected:x?}")
    }
}

/// Allowed contents of pages.
#[derive(Debug, Default)]
pub(crate) struct Reference {
    /// Committed tag and number of the request that wrote it.
    committed: BTreeMap<u64, (u64, Tag)>,
    /// Tag after all writes that have arrived, in the order of arrival, in which the array applies
    /// them.
    latest: BTreeMap<u64, Tag>,
    /// Writes in flight by page.
    pending: BTreeMap<u64, Vec<(u64, Tag)>>,
    /// Reads in flight by page.
    reading: BTreeMap<u64, Vec<RequestId>>,
    /// First page of each read in flight, and the allowed tags of each of its pages.
    allowed: BTreeMap<RequestId, (u64, Vec<Vec<Tag>>)>,
    checked: u64,
}

impl Reference {
    fn committed(&self, page: u64) -> (u64, Tag) {
        self.committed.get(&page).copied().unwrap_or((0, ZERO))
    }

    fn latest(&self, page: u64) -> Tag {
        self.latest.get(&page).copied().unwrap_or(ZERO)
    }

    /// Number of pages that were checked.
    pub(crate) fn checked_pages(&self) -> u64 {
        self.checked
    }

    /// Notes a request that is about to be handed to the engine.
    pub(crate) fn begin_request(&mut self, tags: &mut Tags, request: &Request) {
        tags.begin_request(request);
        let pages = tags.pages(request);
        match request.kind {
            RequestKind::Read => {
                let mut all = Vec::new();
                for page in pages.clone() {
                    let (since, committed) = self.committed(page);
                    let mut allowed = vec![committed];
                    let pending = self.pending.get(&page).into_iter().flatten();
                    allowed.extend(pending.filter(|(id, _)| *id > since).map(|(_, tag)| *tag));
                    all.push(allowed);
                    self.reading.entry(page).or_default().push(request.id);
                }
                self.allowed.insert(request.id, (pages.start, all));
            }
            RequestKind::Write => {
                for page in pages {
                    let partial = tags.is_partial(request, page);
                    let before = partial.then(|| self.latest(page));
                    let tag = written_tag(request.id, page, before);
                    self.latest.insert(page, tag);
                    self.pending.entry(page).or_default().push((request.id.0, tag));
                    for reader in self.reading.get(&page).into_iter().flatten() {
                        if let Some((first, allowed)) = self.allowed.get_mut(reader) {
                            allowed[(page - *first) as usize].push(tag);
                        }
                    }
                }
            }
            RequestKind::Deallocate => {}
        }
    }

    /// Handles the end of a request. The data of a failed read is not checked. A failed write may
    /// or may not have taken effect, until the page is written again.
    pub(crate) fn end_request(
        &mut self,
        tags: &mut Tags,
        request: RequestId,
        ended: Ended,
    ) -> Result<(), Mismatch> {
        let TaggedRequest { request, first_page, tags } = tags.end_request(request);
        match request.kind {
            RequestKind::Read => {
                let (_, allowed) = self.allowed.remove(&request.id).expect("a read was begun");
                for (page, (tag, allowed)) in (first_page..).zip(tags.iter().zip(&allowed)) {
                    let reading = self.reading.get_mut(&page).expect("registered");
                    reading.retain(|&id| id != request.id);
                    if reading.is_empty() {
                        self.reading.remove(&page);
                    }
                    if ended == Ended::Done {
                        check(page, *tag, allowed, || format!("read {}", request.id.0))?;
                        self.checked += 1;
                    }
                }
            }
            RequestKind::Write if ended == Ended::Done => {
                for page in (first_page..).take(tags.len()) {
                    self.commit(page, request.id);
                }
            }
            RequestKind::Write | RequestKind::Deallocate => {}
        }
        Ok(())
    }

    fn commit(&mut self, page: u64, request: RequestId) {
        let pending = self.pending.get_mut(&page).expect("registered");
        let at = pending.iter().position(|&(id, _)| id == request.0);
        let (id, tag) = pending.remove(at.expect("registered"));
        if pending.is_empty() {
            self.pending.remove(&page);
        }
        if id > self.committed(page).0 {
            self.committed.insert(page, (id, tag));
        }
    }

    /// Checks, after the last request, every page that was ever written and the parity of its
    /// stripe.
    pub(crate) fn scrub<O: Observe>(
        &self,
        tags: &Tags,
        array: &Array<O>,
        drives: &[Drive<O>],
    ) -> Result<(), Mismatch> {
        scrub_rain(tags, drives)?;
        let layout = array.layout();
        let chunk_pages = layout.chunk_pages();
        let mut rows: Vec<(u64, u32)> = Vec::new();
        for &page in self.committed.keys() {
            for segment in layout.segments(page, 1) {
                rows.push((segment.stripe, segment.first_row));
            }
        }
        rows.sort_unstable();
        rows.dedup();
        for (stripe, row) in rows {
            debug_assert!(row < chunk_pages);
            let members =
                (0..drives.len()).filter(|&member| layout.members(stripe) >> member & 1 == 1);
            let stored: Vec<(DriveId, Tag)> = members
                .filter_map(|member| {
                    let member = DriveId(member as u8);
                    let (drive, lba) = array.locate(stripe, row, member);
                    let ssd = drives[drive.index()].ssd()?;
                    Some((member, tags.stored(drive, ssd, lba)))
                })
                .collect();
            let (mut p, mut q) = (ZERO, ZERO);
            for (member, tag) in &stored {
                if let Role::Data(chunk) = layout.role(stripe, *member) {
                    let page = layout.page(stripe, chunk, row);
                    let (_, committed) = self.committed(page);
                    check(page, *tag, &[committed], || String::from("the final scrub"))?;
                    gf::multiply_add(&mut p, tag, 1);
                    gf::multiply_add(&mut q, tag, gf::power(chunk));
                }
            }
            for (member, tag) in &stored {
                let expected = match layout.role(stripe, *member) {
                    Role::Data(_) => continue,
                    Role::P => p,
                    Role::Q => q,
                };
                let (_, lba) = array.locate(stripe, row, *member);
                check(lba.0, *tag, &[expected], || format!("the parity scrub of stripe {stripe}"))?;
            }
        }
        Ok(())
    }
}

/// Checks the drives' internal parity: the pages of every stripe on flash add up to zero.
fn scrub_rain<O: Observe>(tags: &Tags, drives: &[Drive<O>]) -> Result<(), Mismatch> {
    for (position, drive) in drives.iter().enumerate() {
        let Some(ssd) = drive.ssd() else { continue };
        for stripe in 0..ssd.rain_stripes() {
            let mut sum = ZERO;
            for page in ssd.rain_stripe_pages(stripe) {
                gf::multiply_add(&mut sum, &tags.on_flash(DriveId(position as u8), page), 1);
            }
            let during = || format!("the scrub of stripe {stripe} within drive {position}");
            check(u64::from(stripe), sum, &[ZERO], during)?;
        }
    }
    Ok(())
}

fn check(
    page: u64,
    found: Tag,
    expected: &[Tag],
    during: impl Fn() -> String,
) -> Result<(), Mismatch> {
    if expected.contains(&found) {
        return Ok(());
    }
    Err(Mismatch {
        page,
        found: u64::from_le_bytes(found),
        expected: expected.iter().copied().map(u64::from_le_bytes).collect(),
        during: during(),
    })
}
