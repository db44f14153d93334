//! What a file holds, what of it is on stable storage, and every change since.

use super::image::Image;
use units::Rng;

/// What a disk writes whole or not at all.
pub(crate) const SECTOR: usize = 512;

/// A change that no sync has covered yet.
enum Change {
    Write {
        offset: u64,
        bytes: Vec<u8>,
        /// Of each sector that the bytes touch, whether it counts: not where something later is
        /// stable.
        counts: Vec<bool>,
    },
    Punch {
        offset: u64,
        length: u64,
    },
    Resize(u64),
}

/// What the power takes of the unsynced changes of a file.
#[derive(Clone, Copy, Debug)]
enum Loss {
    Everything,
    Nothing,
    /// All after a moment, and some sectors of the write that was under way then.
    Later,
    /// Some changes, whatever their order.
    Changes,
    /// Some sectors, each for itself.
    Sectors,
}

/// One file.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) current: Image,
    stable: Image,
    unsynced: Vec<Change>,
}

/// The pieces of `bytes` at `offset`, cut where sectors of the file end.
fn sectors(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let sector = SECTOR as u64;
    let first = ((sector - offset % sector) as usize).min(bytes.len());
    let (head, rest) = bytes.split_at(first);
    let after = offset + first as u64;
    let rest = rest.chunks(SECTOR).enumerate();
    std::iter::once((offset, head)).chain(rest.map(move |(n, at)| (after + n as u64 * sector, at)))
}

impl Contents {
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.current.write(offset, bytes);
        let counts = vec![true; sectors(offset, bytes).count()];
        self.unsynced.push(Change::Write { offset, bytes: bytes.to_vec(), counts });
    }

    /// A write that is on stable storage when it is answered: it alone, nothing before it.
    pub(super) fn write_stable(&mut self, offset: u64, bytes: &[u8]) {
        self.current.write(offset, bytes);
        self.stable.write(offset, bytes);
        let end = offset + bytes.len() as u64;
        for change in &mut self.unsynced {
            match change {
                Change::Write { offset: at, bytes, counts } => {
                    for ((from, piece), counts) in sectors(*at, bytes).zip(counts) {
                        *counts &= from >= end || from + piece.len() as u64 <= offset;
                    }
                }
                // Both would take away what is stable. Nobody here writes so into what is being
                // cut.
                Change::Punch { .. } | Change::Resize(_) => {}
            }
        }
        let overlaps = |change: &Change| match *change {
            Change::Punch { offset: at, length } => at < end && offset < at + length,
            Change::Resize(size) => size < end,
            Change::Write { .. } => false,
        };
        if self.unsynced.iter().any(overlaps) {
            self.sync();
        }
    }

    pub(super) fn punch(&mut self, offset: u64, length: u64) {
        self.current.punch(offset, length);
        self.unsynced.push(Change::Punch { offset, length });
    }

    pub(super) fn resize(&mut self, size_bytes: u64) {
        self.current.resize(size_bytes);
        self.unsynced.push(Change::Resize(size_bytes));
    }

    pub(super) fn sync(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            apply(&mut self.stable, &change, || true);
        }
    }

    /// The power goes. Returns how many changes were lost, as a whole or in part.
    pub(super) fn cut(&mut self, random: &mut Rng) -> u64 {
        let changes = std::mem::take(&mut self.unsynced);
        let losses = [Loss::Everything, Loss::Nothing, Loss::Later, Loss::Changes, Loss::Sectors];
        let loss = losses[random.below(5) as usize];
        let moment = random.below(changes.len() as u64 + 1) as usize;
        let mut lost = 0;
        for (number, change) in changes.iter().enumerate() {
            let mut any = false;
            let whole = random.below(2) == 0;
            apply(&mut self.stable, change, || {
                let kept = match loss {
                    Loss::Everything => false,
                    Loss::Nothing => true,
                    Loss::Later if number != moment => number < moment,
                    Loss::Changes => whole,
                    Loss::Later | Loss::Sectors => random.below(2) == 0,
                };
                any |= !kept;
                kept
            });
            lost += u64::from(any);
        }
        self.current = self.stable.clone();
        lost
    }
}

fn apply(image: &mut Image, change: &Change, mut keep: impl FnMut() -> bool) {
    match change {
        Change::Write { offset, bytes, counts } => {
            for ((at, piece), counts) in sectors(*offset, bytes).zip(counts) {
                if *counts && keep() {
                    image.write(at, piece);
                }
            }
        }
        // File systems give back extents, not sectors.
        Change::Punch { offset, length } => {
            if keep() {
                image.punch(*offset, *length);
            }
        }
        Change::Resize(size_bytes) => {
            if keep() {
                image.resize(*size_bytes);
            }
        }
    }
}
