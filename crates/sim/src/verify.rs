//! Verified runs: a tag in every page, checked against an independent model.
//!
//! The verifier is a driver that carries data, with eight bytes for a page. Tags live at flash
//! addresses, or in write buffers, and are moved by what the drives say they do (programs, flushes,
//! copies, erases), so the check covers the FTL, the buffer and collection as well as striping,
//! parity, rebuilding and stripe locks.
//!
//! Checked: every page of every read; at the end every page of the array and every parity. Not
//! checked: bits that flip (no model of them), and orderings that the array does not promise.

use array::{Array, DataAction, Ended, OpId, Request, RequestId, Role, Slot, Term, gf};
use nvme::{Command, CommandId, Opcode};
use ssd::{Media, Ssd};
use std::collections::BTreeMap;
use std::fmt;
use units::{DriveId, Lba};

/// The content of a page.
type Tag = [u8; 8];

const ZERO: Tag = [0; 8];
/// What an erased page holds: no tag that was ever written.
const ERASED: Tag = [0xff; 8];
/// What a drive that failed holds: no tag that was ever written either.
const LOST: Tag = [0xfe; 8];

/// A page that holds what was never written there.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// Page of the array, or row of parity.
    pub page: u64,
    /// What it held.
    pub found: u64,
    /// What it may hold.
    pub expected: Vec<u64>,
    /// What was being done.
    pub during: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { page, found, expected, during } = self;
        write!(f, "{during} found tag {found:#x} in page {page}, which may hold {expected:x?}")
    }
}

/// What a page may hold, kept apart from everything under test.
#[derive(Default)]
struct Reference {
    /// Committed tag and number of the request that wrote it.
    committed: BTreeMap<u64, (u64, Tag)>,
    /// Tag after all writes that have arrived, in the order of arrival, which is the order in which
    /// the array applies them.
    latest: BTreeMap<u64, Tag>,
    /// Writes in flight by page.
    pending: BTreeMap<u64, Vec<(u64, Tag)>>,
    /// Reads in flight by page.
    reading: BTreeMap<u64, Vec<u64>>,
}

impl Reference {
    fn committed(&self, page: u64) -> (u64, Tag) {
        self.committed.get(&page).copied().unwrap_or((0, ZERO))
    }

    fn latest(&self, page: u64) -> Tag {
        self.latest.get(&page).copied().unwrap_or(ZERO)
    }
}

/// A request in flight.
struct InFlight {
    request: Request,
    first_page: u64,
    /// Of a read: what arrived. Of a write: what is written, where the whole page is.
    data: Vec<Tag>,
    /// Of a read: what each page may hold.
    allowed: Vec<Vec<Tag>>,
}

/// Buffers of a stripe operation: members × rows, old and new.
struct Buffers {
    /// None while the array restores or checks a stripe.
    request: Option<RequestId>,
    rows: usize,
    old: Vec<Tag>,
    new: Vec<Tag>,
}

impl Buffers {
    fn at(&mut self, slot: Slot) -> &mut [Tag] {
        let bank = if slot.new { &mut self.new } else { &mut self.old };
        let first = usize::from(slot.member) * self.rows;
        &mut bank[first..first + self.rows]
    }

    fn sum(&mut self, terms: &[Term]) -> Vec<Tag> {
        let mut sum = vec![ZERO; self.rows];
        for term in terms {
            for (sum, tag) in sum.iter_mut().zip(self.at(term.slot)) {
                gf::multiply_add(sum, tag, term.coefficient);
            }
        }
        sum
    }
}

pub(crate) struct Verifier {
    page_bytes: u64,
    width: usize,
    /// Tags of the flash pages of each drive.
    flash: Vec<Vec<Tag>>,
    /// Tags in the write buffer of each drive, by logical page.
    buffers: Vec<BTreeMap<u32, Tag>>,
    /// Tags in the stage of the host in front of each drive, by logical page.
    stages: Vec<BTreeMap<u64, Tag>>,
    /// Rows of reads in flight that come from there, as it was when they were sent.
    from_stage: BTreeMap<CommandId, Vec<(u32, Tag)>>,
    ops: BTreeMap<OpId, Buffers>,
    /// Data of commands in flight.
    commands: BTreeMap<CommandId, Vec<Tag>>,
    requests: BTreeMap<RequestId, InFlight>,
    reference: Reference,
    checked: u64,
    /// Parities that the array has had compared and that were wrong.
    wrong_parities: u64,
    media: Vec<Media>,
}

/// The tag that request `request` leaves in `page`; if it writes part of the page, what was there
/// before shows through.
fn written_tag(request: RequestId, page: u64, before: Option<Tag>) -> Tag {
    let before = before.map_or(0, u64::from_le_bytes);
    let mut x = request.0 ^ page.rotate_left(32) ^ before.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // Never a tag of an empty or an erased page.
    ((x ^ (x >> 31)).clamp(1, u64::MAX - 1)).to_le_bytes()
}

impl Verifier {
    pub(crate) fn new(array: &Array, drives: &[Ssd]) -> Self {
        let geometry = &drives[0].config().geometry;
        Self {
            page_bytes: u64::from(geometry.page_bytes),
            width: array.layout().width() as usize,
            flash: drives
                .iter()
                .map(|drive| vec![ZERO; drive.config().geometry.pages() as usize])
                .collect(),
            buffers: vec![BTreeMap::new(); drives.len()],
            stages: vec![BTreeMap::new(); drives.len()],
            from_stage: BTreeMap::new(),
            ops: BTreeMap::new(),
            commands: BTreeMap::new(),
            requests: BTreeMap::new(),
            reference: Reference::default(),
            checked: 0,
            wrong_parities: 0,
            media: Vec::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn flip_a_bit(&mut self, drive: usize, page: u32) {
        self.flash[drive][page as usize][3] ^= 4;
    }

    pub(crate) fn checked_pages(&self) -> u64 {
        self.checked
    }

    /// Whether the request covers only part of `page`.
    fn is_partial(&self, request: &Request, page: u64) -> bool {
        let start = page * self.page_bytes;
        request.offset_bytes > start
            || request.offset_bytes + request.size_bytes < start + self.page_bytes
    }

    pub(crate) fn request_arrives(&mut self, request: &Request) {
        let first_page = request.offset_bytes / self.page_bytes;
        let end = (request.offset_bytes + request.size_bytes).div_ceil(self.page_bytes);
        let mut in_flight = InFlight {
            request: *request,
            first_page,
            data: vec![ZERO; (end - first_page) as usize],
            allowed: Vec::new(),
        };
        for page in first_page..end {
            match request.kind {
                array::RequestKind::Read => {
                    let (since, committed) = self.reference.committed(page);
                    let mut allowed = vec![committed];
                    let pending = self.reference.pending.get(&page).into_iter().flatten();
                    allowed.extend(pending.filter(|(id, _)| *id > since).map(|(_, tag)| *tag));
                    in_flight.allowed.push(allowed);
                    self.reference.reading.entry(page).or_default().push(request.id.0);
                }
                array::RequestKind::Write => {
                    let partial = self.is_partial(request, page);
                    let before = partial.then(|| self.reference.latest(page));
                    let tag = written_tag(request.id, page, before);
                    self.reference.latest.insert(page, tag);
                    self.reference.pending.entry(page).or_default().push((request.id.0, tag));
                    for reader in self.reference.reading.get(&page).into_iter().flatten() {
                        if let Some(read) = self.requests.get_mut(&RequestId(*reader)) {
                            read.allowed[(page - read.first_page) as usize].push(tag);
                        }
                    }
                }
                array::RequestKind::Deallocate => {}
            }
        }
        self.requests.insert(request.id, in_flight);
    }

    pub(crate) fn submit(&mut self, command: &Command, op: OpId, member: u8) {
        let data = match command.opcode {
            Opcode::Read => vec![ZERO; command.blocks as usize],
            Opcode::Write => {
                let buffers = self.ops.get_mut(&op).expect("open operations submit");
                buffers.at(Slot { new: true, member }).to_vec()
            }
            Opcode::Deallocate => return,
        };
        self.from_stage.remove(&command.id);
        self.commands.insert(command.id, data);
    }

    pub(crate) fn submit_staged(&mut self, drive: usize, command: &Command) {
        let pages = command.lba.0..command.lba.0 + u64::from(command.blocks);
        let data = pages.map(|page| self.stages[drive][&page]).collect();
        self.commands.insert(command.id, data);
    }

    /// Does to the tags what the drive has done to its flash and its write buffer.
    pub(crate) fn carry(&mut self, position: usize, drive: &mut Ssd) {
        drive.take_media(&mut self.media);
        let flash = &mut self.flash[position];
        let buffer = &mut self.buffers[position];
        for media in self.media.drain(..) {
            match media {
                Media::Sensed { command, block, page } => {
                    let tag = page.map_or(ZERO, |page| flash[page as usize]);
                    if let Some(data) = self.commands.get_mut(&command) {
                        data[block as usize] = tag;
                    }
                }
                Media::Programmed { command, block, page } => {
                    flash[page as usize] = self.commands[&command][block as usize];
                }
                Media::Buffered { command, block, logical } => {
                    buffer.insert(logical, self.commands[&command][block as usize]);
                }
                Media::Flushed { logical, page } => flash[page as usize] = buffer[&logical],
                Media::Unbuffered { logical } => {
                    buffer.remove(&logical);
                }
                Media::FromBuffer { command, block, logical } => {
                    if let Some(data) = self.commands.get_mut(&command) {
                        data[block as usize] = buffer[&logical];
                    }
                }
                Media::SensedPart { command, block, page } => {
                    if let (Some(page), Some(data)) = (page, self.commands.get_mut(&command)) {
                        gf::multiply_add(&mut data[block as usize], &flash[page as usize], 1);
                    }
                }
                Media::Cleared { page } => flash[page as usize] = ZERO,
                Media::Added { from, to } => {
                    let added = flash[from as usize];
                    gf::multiply_add(&mut flash[to as usize], &added, 1);
                }
                Media::Copied { from, to } => flash[to as usize] = flash[from as usize],
                Media::Scrubbed { page } => {
                    assert_ne!(flash[page as usize], ERASED, "page {page} was checked when erased");
                }
                Media::Erased { first_page, pages } => {
                    flash[first_page as usize..(first_page + pages) as usize].fill(ERASED);
                }
            }
        }
    }

    pub(crate) fn data(&mut self, action: &DataAction) {
        match action {
            DataAction::Open { op, request, rows } => {
                let rows = *rows as usize;
                let bank = vec![ERASED; rows * self.width];
                let buffers = Buffers { request: *request, rows, old: bank.clone(), new: bank };
                self.ops.insert(*op, buffers);
            }
            DataAction::Keep { op, command, member } => {
                let mut data = self.commands.remove(command).expect("a completed read has data");
                for (row, tag) in self.from_stage.remove(command).unwrap_or_default() {
                    data[row as usize] = tag;
                }
                let buffers = self.ops.get_mut(op).expect("open");
                buffers.at(Slot { new: false, member: *member }).copy_from_slice(&data);
            }
            DataAction::Combine { op, target, terms } => {
                let buffers = self.ops.get_mut(op).expect("open");
                let sum = buffers.sum(terms);
                buffers.at(*target).copy_from_slice(&sum);
            }
            DataAction::Check { op, target, terms } => {
                let buffers = self.ops.get_mut(op).expect("open");
                let sum = buffers.sum(terms);
                self.wrong_parities += u64::from(buffers.at(*target) != sum);
            }
            DataAction::Merge { op, member, first_page } => self.merge(*op, *member, *first_page),
            DataAction::Share { from, to, member, first_row } => {
                let member = *member;
                let source = self.ops.get_mut(from).expect("open");
                let lent = source.at(Slot { new: true, member })[*first_row as usize..].to_vec();
                let target = self.ops.get_mut(to).expect("open");
                let rows = target.rows;
                target.at(Slot { new: false, member }).copy_from_slice(&lent[..rows]);
            }
            DataAction::Deliver { op, member, first_page } => {
                let buffers = self.ops.get_mut(op).expect("open");
                let request = buffers.request.expect("the host's pages are delivered");
                let rows = buffers.at(Slot { new: false, member: *member }).to_vec();
                let target = self.requests.get_mut(&request).expect("in flight");
                let first = (first_page - target.first_page) as usize;
                target.data[first..first + rows.len()].copy_from_slice(&rows);
            }
            DataAction::Stage { op, member, drive, lba } => {
                let buffers = self.ops.get_mut(op).expect("open");
                let tags = buffers.at(Slot { new: true, member: *member }).to_vec();
                self.stages[drive.index()].extend((lba.0..).zip(tags));
            }
            DataAction::ReadStage { command, drive, lba, blocks, rows } => {
                let stage = &self.stages[drive.index()];
                let tag = |&row: &u32| (row, stage[&(lba.0 + u64::from(row))]);
                self.from_stage.insert(*command, rows.iter().map(tag).collect());
                if rows.len() == *blocks as usize {
                    // It is not sent to the drive.
                    self.commands.insert(*command, vec![ERASED; *blocks as usize]);
                }
            }
            DataAction::Unstage { drive, pages } => {
                for page in pages {
                    self.stages[drive.index()].remove(&page.0);
                }
            }
            DataAction::Close { op } => {
                self.ops.remove(op);
            }
        }
    }

    fn merge(&mut self, op: OpId, member: u8, first_page: u64) {
        let request = self.ops[&op].request.expect("the host's pages are merged");
        let request = self.requests[&request].request;
        let rows = self.ops[&op].rows as u64;
        let partial: Vec<bool> =
            (0..rows).map(|row| self.is_partial(&request, first_page + row)).collect();
        let buffers = self.ops.get_mut(&op).expect("open");
        let old = buffers.at(Slot { new: false, member }).to_vec();
        let new = buffers.at(Slot { new: true, member });
        for (row, tag) in new.iter_mut().enumerate() {
            let before = partial[row].then(|| old[row]);
            *tag = written_tag(request.id, first_page + row as u64, before);
        }
    }

    /// A drive fails: nothing that it held may ever be seen again.
    pub(crate) fn forget_drive(&mut self, drive: usize) {
        self.flash[drive].fill(LOST);
        self.buffers[drive].values_mut().for_each(|tag| *tag = LOST);
    }

    /// A factory-new drive is in its place.
    pub(crate) fn replace_drive(&mut self, drive: usize) {
        self.flash[drive].fill(ZERO);
        self.buffers[drive].clear();
    }

    /// Takes the end of a request. Nothing is said about what a read that failed has brought; a write
    /// that failed may be there or not, until another is.
    pub(crate) fn complete(&mut self, request: RequestId, ended: Ended) -> Result<(), Mismatch> {
        let in_flight = self.requests.remove(&request).expect("in flight");
        for (index, page) in (in_flight.first_page..).take(in_flight.data.len()).enumerate() {
            match in_flight.request.kind {
                array::RequestKind::Read => {
                    let reading = self.reference.reading.get_mut(&page).expect("registered");
                    reading.retain(|&id| id != request.0);
                    if reading.is_empty() {
                        self.reference.reading.remove(&page);
                    }
                    if ended == Ended::Failed {
                        continue;
                    }
                    let during = || format!("read {}", request.0);
                    let allowed = &in_flight.allowed[index];
                    check(page, in_flight.data[index], allowed, during)?;
                    self.checked += 1;
                }
                array::RequestKind::Write if ended == Ended::Failed => {}
                array::RequestKind::Write => {
                    let pending = self.reference.pending.get_mut(&page).expect("registered");
                    let at = pending.iter().position(|&(id, _)| id == request.0);
                    let (id, tag) = pending.remove(at.expect("registered"));
                    if pending.is_empty() {
                        self.reference.pending.remove(&page);
                    }
                    if id > self.reference.committed(page).0 {
                        self.reference.committed.insert(page, (id, tag));
                    }
                }
                array::RequestKind::Deallocate => {}
            }
        }
        Ok(())
    }

    /// After the last request: every page that was ever written, and the parity of its stripe.
    pub(crate) fn scrub(&self, array: &Array, drives: &[Ssd]) -> Result<(), Mismatch> {
        self.scrub_rain(drives)?;
        let layout = array.layout();
        let chunk_pages = layout.chunk_pages();
        let mut rows: Vec<(u64, u32)> = Vec::new();
        for &page in self.reference.committed.keys() {
            for segment in layout.segments(page, 1) {
                rows.push((segment.stripe, segment.first_row));
            }
        }
        rows.sort_unstable();
        rows.dedup();
        for (stripe, row) in rows {
            debug_assert!(row < chunk_pages);
            let members =
                (0..self.width).filter(|&member| layout.members(stripe) >> member & 1 == 1);
            let tags: Vec<(DriveId, Tag)> = members
                .map(|member| {
                    let member = DriveId(member as u8);
                    let (drive, lba) = array.locate(stripe, row, member);
                    let position = drive.index();
                    (member, self.stored(position, &drives[position], lba))
                })
                .collect();
            let (mut p, mut q) = (ZERO, ZERO);
            for (member, tag) in &tags {
                if let Role::Data(chunk) = layout.role(stripe, *member) {
                    let page = layout.page(stripe, chunk, row);
                    let (_, committed) = self.reference.committed(page);
                    check(page, *tag, &[committed], || String::from("the final scrub"))?;
                    gf::multiply_add(&mut p, tag, 1);
                    gf::multiply_add(&mut q, tag, gf::power(chunk));
                }
            }
            for (member, tag) in &tags {
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

    /// The parity that the drives keep within themselves: the pages of every stripe on flash add up
    /// to zero.
    fn scrub_rain(&self, drives: &[Ssd]) -> Result<(), Mismatch> {
        for (position, drive) in drives.iter().enumerate() {
            for stripe in 0..drive.rain_stripes() {
                let mut sum = ZERO;
                for page in drive.rain_stripe_pages(stripe) {
                    gf::multiply_add(&mut sum, &self.flash[position][page as usize], 1);
                }
                let during = || format!("the scrub of stripe {stripe} within drive {position}");
                check(u64::from(stripe), sum, &[ZERO], during)?;
            }
        }
        Ok(())
    }

    fn stored(&self, position: usize, drive: &Ssd, lba: Lba) -> Tag {
        if let Some(tag) = self.stages[position].get(&lba.0) {
            return *tag;
        }
        if drive.is_buffered(lba) {
            return self.buffers[position][&(lba.0 as u32)];
        }
        drive.flash_page(lba).map_or(ZERO, |page| self.flash[position][page as usize])
    }
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
