//! Requests of the kernel.

use super::contents::Contents;
use super::image::PAGE;
use super::world::{Kind, Node, Power, ROOT, World};
use super::{Shared, contents::SECTOR};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, FopenFlags, Generation, INodeNo, LockOwner, OpenFlags,
    RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, Request, WriteFlags,
};
use rustix::fs::FallocateFlags;
use std::ffi::OsStr;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The kernel keeps nothing: it would not learn what a cut takes.
const TTL: Duration = Duration::ZERO;
const GENERATION: Generation = Generation(0);

/// In the flags of a write that has to be stable; `O_SYNC` has the bit, too. (The constant of that
/// name in rustix is `O_SYNC`.)
const O_DSYNC: i32 = 0o10000;

pub(super) struct Handler(pub(super) Arc<Shared>);

impl Handler {
    /// The files, as soon as there is power.
    fn enter(&self) -> Result<MutexGuard<'_, World>, Errno> {
        let mut world = self.0.lock();
        let age = world.age;
        while world.power == Power::Off {
            world = self.0.changed.wait(world).unwrap_or_else(PoisonError::into_inner);
        }
        // Who waited through a cut was there before it.
        if world.power == Power::Refused || world.age != age { Err(Errno::EIO) } else { Ok(world) }
    }

    /// The files, for a change or a sync. The power may go first.
    fn change(&self) -> Result<MutexGuard<'_, World>, Errno> {
        let mut world = self.enter()?;
        if world.burn() {
            self.0.changed.notify_all();
            drop(world);
            // Held until the power is back, and refused then.
            let mut world = self.0.lock();
            while world.power == Power::Off {
                world = self.0.changed.wait(world).unwrap_or_else(PoisonError::into_inner);
            }
            return Err(Errno::EIO);
        }
        Ok(world)
    }

    /// The files, for a request on one that was opened.
    fn opened(&self, fh: FileHandle) -> Result<MutexGuard<'_, World>, Errno> {
        let world = self.enter()?;
        if fh.0 == world.age { Ok(world) } else { Err(Errno::EIO) }
    }

    /// The same, for a change or a sync.
    fn opened_to_change(&self, fh: FileHandle) -> Result<MutexGuard<'_, World>, Errno> {
        // Those of before a cut do not count as changes.
        drop(self.opened(fh)?);
        let world = self.change()?;
        if fh.0 == world.age { Ok(world) } else { Err(Errno::EIO) }
    }

    fn write(
        &self,
        request: &Request,
        number: u64,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        flags: OpenFlags,
    ) -> Result<u32, Errno> {
        let mut world = self.opened_to_change(fh)?;
        world.make_room(number, offset, data.len())?;
        if flags.0 & O_DSYNC != 0 {
            world.counts.stable_writes += 1;
            world.stable_writers.insert(request.pid());
            world.file(number)?.write_stable(offset, data);
        } else {
            world.counts.writes += 1;
            world.stable_writers.remove(&request.pid());
            world.file(number)?.write(offset, data);
        }
        Ok(data.len() as u32)
    }

    fn sync(&self, request: &Request, number: u64, fh: FileHandle) -> Result<(), Errno> {
        let mut world = self.opened_to_change(fh)?;
        if !world.stable_writers.remove(&request.pid()) {
            world.counts.syncs += 1;
            let time = world.sync_time;
            if !time.is_zero() {
                drop(world);
                std::thread::sleep(time);
                world = self.opened(fh)?;
            }
            while world.holds_syncs && world.power == Power::On {
                world = self.0.changed.wait(world).unwrap_or_else(PoisonError::into_inner);
            }
            world.file(number)?.sync();
        }
        Ok(())
    }

    fn allocate(
        &self,
        number: u64,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
    ) -> Result<(), Errno> {
        let mut world = self.opened_to_change(fh)?;
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if FallocateFlags::from_bits_retain(mode.cast_unsigned()) != hole {
            return Err(Errno::EOPNOTSUPP);
        }
        world.file(number)?.punch(offset, length);
        Ok(())
    }

    fn make(
        &self,
        request: &Request,
        folder: INodeNo,
        name: &OsStr,
        mode: u32,
        kind: Kind,
    ) -> Result<(FileAttr, u64), Errno> {
        let mut world = self.change()?;
        let node = Node { kind, mode: mode & 0o7777, uid: request.uid(), gid: request.gid() };
        let number = world.make((folder.0, name.into()), node)?;
        Ok((attributes(&world, number)?, world.age))
    }

    fn remove(&self, folder: INodeNo, name: &OsStr, is_folder: bool) -> Result<(), Errno> {
        let mut world = self.change()?;
        let number = world.names.find(folder.0, name).ok_or(Errno::ENOENT)?;
        if is_folder && world.names.list(number).next().is_some() {
            return Err(Errno::ENOTEMPTY);
        }
        world.names.unlink((folder.0, name.into()));
        Ok(())
    }

    fn rename(&self, from: (INodeNo, &OsStr), to: (INodeNo, &OsStr)) -> Result<(), Errno> {
        let mut world = self.change()?;
        world.names.find(from.0.0, from.1).ok_or(Errno::ENOENT)?;
        world.names.rename((from.0.0, from.1.into()), (to.0.0, to.1.into()));
        Ok(())
    }
}

fn attributes(world: &World, number: u64) -> Result<FileAttr, Errno> {
    let node = world.nodes.get(&number).ok_or(Errno::ESTALE)?;
    let (kind, size, pages) = match &node.kind {
        Kind::Folder => (FileType::Directory, 0, 0),
        Kind::File(contents) => {
            let current = &contents.current;
            (FileType::RegularFile, current.size_bytes, current.pages() as u64)
        }
    };
    let then = SystemTime::UNIX_EPOCH;
    Ok(FileAttr {
        ino: INodeNo(number),
        size,
        blocks: pages * (PAGE / SECTOR) as u64,
        atime: then,
        mtime: then,
        ctime: then,
        crtime: then,
        kind,
        perm: node.mode as u16,
        nlink: 1,
        uid: node.uid,
        gid: node.gid,
        rdev: 0,
        blksize: PAGE as u32,
        flags: 0,
    })
}

impl fuser::Filesystem for Handler {
    fn lookup(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.enter().and_then(|world| {
            let number = world.names.find(folder.0, name).ok_or(Errno::ENOENT)?;
            attributes(&world, number)
        });
        match found {
            Ok(about) => reply.entry(&TTL, &about, GENERATION),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.enter().and_then(|world| attributes(&world, number.0)) {
            Ok(about) => reply.attr(&TTL, &about),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<fuser::TimeOrNow>,
        _: Option<fuser::TimeOrNow>,
        _: Option<SystemTime>,
        fh: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let world = fh.map_or_else(|| self.change(), |fh| self.opened_to_change(fh));
        let set = world.and_then(|mut world| {
            let node = world.nodes.get_mut(&number.0).ok_or(Errno::ESTALE)?;
            node.mode = mode.map_or(node.mode, |mode| mode & 0o7777);
            node.uid = uid.unwrap_or(node.uid);
            node.gid = gid.unwrap_or(node.gid);
            if let Some(size_bytes) = size {
                world.file(number.0)?.resize(size_bytes);
            }
            attributes(&world, number.0)
        });
        match set {
            Ok(about) => reply.attr(&TTL, &about),
            Err(error) => reply.error(error),
        }
    }

    fn mkdir(
        &self,
        request: &Request,
        folder: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        match self.make(request, folder, name, mode & !umask, Kind::Folder) {
            Ok((about, _)) => reply.entry(&TTL, &about, GENERATION),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        request: &Request,
        folder: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let kind = Kind::File(Contents::default());
        match self.make(request, folder, name, mode & !umask, kind) {
            Ok((about, age)) => {
                reply.created(&TTL, &about, GENERATION, FileHandle(age), FopenFlags::empty());
            }
            Err(error) => reply.error(error),
        }
    }

    fn unlink(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.remove(folder, name, false));
    }

    fn rmdir(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.remove(folder, name, true));
    }

    fn rename(
        &self,
        _: &Request,
        folder: INodeNo,
        name: &OsStr,
        new_folder: INodeNo,
        new_name: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        answer(reply, self.rename((folder, name), (new_folder, new_name)));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Without `FOPEN_KEEP_CACHE` the kernel drops what it has of the file.
        match self.enter() {
            Ok(world) => reply.opened(FileHandle(world.age), FopenFlags::empty()),
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = self
            .opened(fh)
            .and_then(|mut world| Ok(world.file(number.0)?.current.read(offset, size as usize)));
        match read {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.write(request, number.0, fh, offset, data, flags) {
            Ok(written) => reply.written(written),
            Err(error) => reply.error(error),
        }
    }

    /// A descriptor is closed, which makes nothing durable.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(
        &self,
        request: &Request,
        number: INodeNo,
        fh: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        answer(reply, self.sync(request, number.0, fh));
    }

    fn fsyncdir(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let synced = self.change().map(|mut world| {
            world.counts.syncs += 1;
            world.names.sync(number.0);
        });
        answer(reply, synced);
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let world = match self.enter() {
            Ok(world) => world,
            Err(error) => return reply.error(error),
        };
        let dots = [".", ".."].map(|name| (OsStr::new(name), ROOT));
        let all = dots.into_iter().chain(world.names.list(number.0));
        for (place, (name, file)) in all.enumerate().skip(offset as usize) {
            let is_file = matches!(world.nodes.get(&file), Some(Node { kind: Kind::File(_), .. }));
            let kind = if is_file { FileType::RegularFile } else { FileType::Directory };
            if reply.add(INodeNo(file), place as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match self.enter() {
            Ok(world) => {
                let pages = world.limit_bytes / PAGE as u64;
                let free = pages.saturating_sub(world.used_bytes() / PAGE as u64);
                reply.statfs(pages, free, free, 1 << 20, 1 << 20, PAGE as u32, 255, PAGE as u32);
            }
            Err(error) => reply.error(error),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        number: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        answer(reply, self.allocate(number.0, fh, offset, length, mode));
    }

    fn lseek(
        &self,
        _: &Request,
        number: INodeNo,
        fh: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        // SEEK_DATA is 3 and SEEK_HOLE is 4.
        let found = self.opened(fh).and_then(|mut world| {
            let offset = u64::try_from(offset).map_err(|_| Errno::EINVAL)?;
            world.file(number.0)?.current.seek(offset, whence == 3).ok_or(Errno::ENXIO)
        });
        match found {
            Ok(at) => reply.offset(at.cast_signed()),
            Err(error) => reply.error(error),
        }
    }
}

fn answer(reply: ReplyEmpty, result: Result<(), Errno>) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}
