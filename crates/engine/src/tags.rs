//! A data plane that carries eight bytes, a tag, for each page.
//!
//! Tags live at flash addresses, or in write buffers, and move with the programs, flushes, copies
//! and erases that the drives report. So a check of the tags that are read covers the FTL, the
//! buffer and collection as well as striping, parity, reconstruction and stripe locks.

use crate::cached_pages::CachedPages;
use crate::memory::Heap;
use crate::plane::{DataPlane, Target};
use crate::stripe_memory::StripeMemory;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use array::{DataAction, FailReason, OpId, Request, RequestId, Slot, Term};
use nvme::{Command, CommandId, Completion, Opcode};
use ssd::{Media, Ssd};
use units::{DriveId, Instant, Lba, Observe};

/// The content of a page.
pub type Tag = [u8; TAG_BYTES];

const TAG_BYTES: usize = 8;
/// Content of a page that was never written.
pub const ZERO: Tag = [0; TAG_BYTES];
/// Content of an erased page: no tag that was ever written.
const ERASED: Tag = [0xff; TAG_BYTES];
/// Content of a failed drive: no tag that was ever written.
const LOST: Tag = [0xfe; TAG_BYTES];

/// Tag that request `request` leaves in `page`. `before` is the old tag if the request writes only
/// part of the page; the new tag depends on it.
#[must_use]
pub fn written_tag(request: RequestId, page: u64, before: Option<Tag>) -> Tag {
    let before = before.map_or(0, u64::from_le_bytes);
    let mut x = request.0 ^ page.rotate_left(32) ^ before.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // Never a tag of an empty or an erased page.
    ((x ^ (x >> 31)).clamp(1, u64::MAX - 1)).to_le_bytes()
}

/// A request in flight, with the tags of the pages that it touches.
#[derive(Clone, Debug)]
pub struct TaggedRequest {
    /// The request.
    pub request: Request,
    /// First page of the array that it touches.
    pub first_page: u64,
    /// Tags that arrived, page by page, if the request is a read.
    pub tags: Vec<Tag>,
}

/// The tags of one drive.
#[derive(Debug)]
struct DriveTags {
    /// By flash address.
    flash: Vec<Tag>,
    /// In the drive's write buffer, by logical page.
    buffer: BTreeMap<u32, Tag>,
}

/// The data plane of verified runs.
#[derive(Debug)]
pub struct Tags {
    page_bytes: u64,
    drives: Vec<DriveTags>,
    memory: StripeMemory<Heap>,
    cache: CachedPages<Heap>,
    /// Data of commands in flight.
    commands: BTreeMap<CommandId, Vec<u8>>,
    /// Command whose completion the array is handling, with the data that it brought.
    delivered: Option<(CommandId, Vec<u8>)>,
    requests: BTreeMap<RequestId, TaggedRequest>,
    /// Number of comparisons for the array in which parity was wrong.
    wrong_parities: u64,
    media: Vec<Media>,
}

fn tag_at(rows: &[u8], row: u32) -> Tag {
    let start = row as usize * TAG_BYTES;
    rows[start..start + TAG_BYTES].try_into().expect("a tag has eight bytes")
}

fn set_tag(rows: &mut [u8], row: u32, tag: Tag) {
    let start = row as usize * TAG_BYTES;
    rows[start..start + TAG_BYTES].copy_from_slice(&tag);
}

fn add_tag(rows: &mut [u8], row: u32, tag: Tag) {
    set_tag(rows, row, xor(tag_at(rows, row), tag));
}

fn xor(a: Tag, b: Tag) -> Tag {
    (u64::from_le_bytes(a) ^ u64::from_le_bytes(b)).to_le_bytes()
}

impl Tags {
    /// Creates the data plane for pages of `page_bytes` on these drives, none of which was written.
    #[must_use]
    pub fn new<O: Observe>(page_bytes: u64, drives: &[Ssd<O>]) -> Self {
        let tags = |drive: &Ssd<O>| DriveTags {
            flash: vec![ZERO; drive.config().geometry.pages() as usize],
            buffer: BTreeMap::new(),
        };
        Self {
            page_bytes,
            drives: drives.iter().map(tags).collect(),
            memory: StripeMemory::new(Heap, TAG_BYTES, drives.len()),
            cache: CachedPages::new(),
            commands: BTreeMap::new(),
            delivered: None,
            requests: BTreeMap::new(),
            wrong_parities: 0,
            media: Vec::new(),
        }
    }

    /// Returns true if the request covers only part of `page`.
    #[must_use]
    pub fn is_partial(&self, request: &Request, page: u64) -> bool {
        let start = page * self.page_bytes;
        request.offset_bytes > start
            || request.offset_bytes + request.size_bytes < start + self.page_bytes
    }

    /// The pages of the array that a request touches.
    #[must_use]
    pub fn pages(&self, request: &Request) -> core::ops::Range<u64> {
        let end = request.offset_bytes + request.size_bytes;
        request.offset_bytes / self.page_bytes..end.div_ceil(self.page_bytes)
    }

    /// Notes a request that is about to be handed to the engine.
    pub fn begin_request(&mut self, request: &Request) {
        let pages = self.pages(request);
        let tags = vec![ZERO; (pages.end - pages.start) as usize];
        let tagged = TaggedRequest { request: *request, first_page: pages.start, tags };
        self.requests.insert(request.id, tagged);
    }

    /// Ends a request, and returns it with its tags.
    ///
    /// # Panics
    ///
    /// If it was not begun.
    pub fn end_request(&mut self, request: RequestId) -> TaggedRequest {
        self.requests.remove(&request).expect("a request that is done was begun")
    }

    /// Number of comparisons in which parity was wrong.
    #[must_use]
    pub fn wrong_parities(&self) -> u64 {
        self.wrong_parities
    }

    /// Tag of a logical block: from the host's write cache, the drive's write buffer, or its flash.
    #[must_use]
    pub fn stored<O: Observe>(&self, position: DriveId, drive: &Ssd<O>, lba: Lba) -> Tag {
        if let Some(tag) = self.cache.page(position, lba) {
            return tag_at(tag, 0);
        }
        let tags = &self.drives[position.index()];
        if drive.is_buffered(lba) {
            return tags.buffer[&(lba.0 as u32)];
        }
        drive.flash_page(lba).map_or(ZERO, |page| tags.flash[page as usize])
    }

    /// Tag at a flash address of a drive.
    #[must_use]
    pub fn on_flash(&self, drive: DriveId, page: u32) -> Tag {
        self.drives[drive.index()].flash[page as usize]
    }

    /// Flips a bit of a flash page, so that a test can check its detection.
    pub fn flip_a_bit(&mut self, drive: DriveId, page: u32) {
        self.drives[drive.index()].flash[page as usize][3] ^= 4;
    }

    /// Loses all tags of a drive that has failed: nothing of it may be read again.
    pub fn forget_drive(&mut self, drive: DriveId) {
        let tags = &mut self.drives[drive.index()];
        tags.flash.fill(LOST);
        tags.buffer.values_mut().for_each(|tag| *tag = LOST);
    }

    /// Applies one change of a drive's flash or write buffer to its tags.
    fn apply(&mut self, drive: DriveId, media: Media) {
        let DriveTags { flash, buffer } = &mut self.drives[drive.index()];
        let mut bring = |command: CommandId, block: u32, tag: Tag| {
            if let Some(data) = self.commands.get_mut(&command) {
                set_tag(data, block, tag);
            }
        };
        match media {
            Media::Sensed { command, block, page } => {
                bring(command, block, page.map_or(ZERO, |page| flash[page as usize]));
            }
            Media::FromBuffer { command, block, logical } => {
                bring(command, block, buffer[&logical])
            }
            Media::SensedPart { command, block, page } => {
                if let (Some(page), Some(data)) = (page, self.commands.get_mut(&command)) {
                    add_tag(data, block, flash[page as usize]);
                }
            }
            Media::Programmed { command, block, page } => {
                flash[page as usize] = tag_at(&self.commands[&command], block);
            }
            Media::Buffered { command, block, logical } => {
                buffer.insert(logical, tag_at(&self.commands[&command], block));
            }
            Media::Flushed { logical, page } => flash[page as usize] = buffer[&logical],
            Media::Unbuffered { logical } => {
                buffer.remove(&logical);
            }
            Media::Cleared { page } => flash[page as usize] = ZERO,
            Media::Added { from, to } => {
                flash[to as usize] = xor(flash[to as usize], flash[from as usize]);
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

    fn merge(&mut self, op: OpId, member: u8, first_page: u64) {
        let request = self.requests[&self.memory.request_of(op)].request;
        let rows = self.memory.slot_bytes(op) / TAG_BYTES;
        let partial: Vec<bool> =
            (first_page..).take(rows).map(|page| self.is_partial(&request, page)).collect();
        self.memory.merge(op, member, |old, new| {
            for (row, partial) in (0..).zip(partial) {
                let before = || tag_at(old.expect("a page written in part was read"), row);
                let page = first_page + u64::from(row);
                set_tag(new, row, written_tag(request.id, page, partial.then(before)));
            }
        });
    }

    fn deliver_pages(&mut self, op: OpId, member: u8, first_page: u64) {
        let rows = self.memory.at(op, Slot { new: false, member });
        let target = self.requests.get_mut(&self.memory.request_of(op)).expect("in flight");
        let first = (first_page - target.first_page) as usize;
        for (into, row) in target.tags[first..].iter_mut().zip(rows.chunks_exact(TAG_BYTES)) {
            into.copy_from_slice(row);
        }
    }

    /// Makes the data of a read the old rows of its member, with cached rows on top.
    fn keep(&mut self, op: OpId, command: CommandId, member: u8) {
        let brought = self.delivered.take_if(|(id, _)| *id == command);
        let mut rows = brought.map_or_else(|| self.memory.blank(op), |(_, rows)| rows);
        self.cache.overlay(self.memory.memory(), command, &mut rows, TAG_BYTES);
        self.memory.put(op, Slot { new: false, member }, rows);
    }
}

impl DataPlane for Tags {
    const CARRIES_DATA: bool = true;

    fn submit(
        &mut self,
        _: Instant,
        drive: DriveId,
        command: &Command,
        target: Option<Target>,
        _: bool,
    ) {
        self.cache.forget_read(self.memory.memory(), command.id);
        let mut rows = vec![0; command.blocks as usize * TAG_BYTES];
        match (command.opcode, target) {
            (Opcode::Read, _) => {}
            (Opcode::Deallocate, _) => return,
            (Opcode::Write, Some(Target { op, member })) => {
                rows.copy_from_slice(self.memory.at(op, Slot { new: true, member }));
            }
            (Opcode::Write, None) => self.cache.read(drive, command, &mut rows, TAG_BYTES),
        }
        self.commands.insert(command.id, rows);
    }

    fn data(&mut self, action: DataAction) {
        match action {
            DataAction::Open { op, request, rows } => self.memory.open(op, request, rows),
            DataAction::Keep { op, command, member } => self.keep(op, command, member),
            DataAction::Combine { op, target, terms } => self.memory.combine(op, target, &terms),
            DataAction::Merge { op, member, first_page } => self.merge(op, member, first_page),
            DataAction::Share { from, to, member, first_row } => {
                self.memory.share(from, to, member, first_row);
            }
            DataAction::Deliver { op, member, first_page } => {
                self.deliver_pages(op, member, first_page);
            }
            DataAction::Cache { op, member, drive, lba } => {
                let rows = self.memory.at(op, Slot { new: true, member }).to_vec();
                self.cache.insert(self.memory.memory(), drive, lba, &rows, TAG_BYTES);
            }
            DataAction::ReadCache { command, drive, lba, rows, .. } => {
                // The number may have belonged to a command whose data was never kept.
                self.delivered.take_if(|(id, _)| *id == command);
                self.cache.note_read(self.memory.memory(), command, drive, lba, &rows);
            }
            DataAction::Uncache { drive, pages } => {
                self.cache.remove(self.memory.memory(), drive, &pages);
            }
            // Writes to these drives are never lost.
            DataAction::Force { .. } | DataAction::Prepare { .. } => {}
            DataAction::Close { op } => self.memory.close(op),
        }
    }

    fn check(&mut self, op: OpId, target: Slot, terms: &[Term]) -> bool {
        let fits = self.memory.check(op, target, terms);
        self.wrong_parities += u64::from(!fits);
        fits
    }

    fn compare(&mut self, op: OpId, member: u8, with: u8) -> bool {
        self.memory.compare(op, member, with)
    }

    fn follow<O: Observe>(&mut self, drive: DriveId, ssd: &mut Ssd<O>) {
        let mut media = core::mem::take(&mut self.media);
        ssd.take_media(&mut media);
        for change in media.drain(..) {
            self.apply(drive, change);
        }
        self.media = media;
    }

    fn join(&mut self, _: Instant, _: &mut Completion) -> bool {
        true
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        None
    }

    fn poll_failed_drive(&mut self) -> Option<(DriveId, FailReason)> {
        None
    }

    fn deliver(&mut self, completion: &Completion) {
        self.delivered = self.commands.remove(&completion.id).map(|rows| (completion.id, rows));
    }

    fn drive_failed(&mut self, _: Instant, _: DriveId) -> bool {
        false
    }

    fn drive_replaced(&mut self, drive: DriveId) {
        let tags = &mut self.drives[drive.index()];
        tags.flash.fill(ZERO);
        tags.buffer.clear();
    }
}
