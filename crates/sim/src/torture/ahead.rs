//! Power cuts on copies: the disks are copied, the copies lose what a cut takes, and an array is
//! started on them. The copies are compared with the model. The history goes on as if nothing had
//! happened.
//!
//! A history has a handful of power cuts, which end everything under way, and dozens of power cuts
//! of copies.

use super::array::Bay;
use super::coverage::Coverage;
use super::disk::{Faults, Loss};
use super::failure::Done;
use super::history::{Fault, Shape};
use super::living::doubtful_bytes;
use super::look::Look;
use super::memo::Memo;
use super::model::Moment;
use super::powered::Fuse;
use super::transition::count_opened;
use super::world::World;
use engine::durability::{OpenError, Opened};
use engine::volume::Repairs;
use units::{DriveId, Rng};

/// Approximate number of commands of a start.
const START_COMMANDS: u64 = 60;

/// A power cut on a copy.
#[derive(Clone, Copy, Debug)]
struct Imagined {
    loss: [Loss; 3],
    /// Drive that is missing afterwards, if the array can do without it.
    missing: Option<DriveId>,
    /// Number of commands of the start after which the power fails again.
    again: Option<u32>,
    /// Damage while the power is off, if the array must bear it.
    damage: Option<(DriveId, Fault)>,
}

impl Imagined {
    fn draw(shape: &Shape, rng: &mut Rng) -> Self {
        let drive = |rng: &mut Rng| DriveId(rng.below(u64::from(shape.width)) as u8);
        let any = |rng: &mut Rng| Loss::ALL[rng.below(Loss::ALL.len() as u64) as usize];
        let loss = match rng.below(3) {
            // Losses that most bugs do not survive.
            0 => [Loss::Everything; 3],
            1 => [any(rng); 3],
            _ => std::array::from_fn(|_| any(rng)),
        };
        let missing = (rng.below(2) == 0).then(|| drive(rng));
        let again = (rng.below(6) == 0).then(|| rng.below(START_COMMANDS) as u32);
        let kinds = shape.damages();
        let damage = (rng.below(4) == 0)
            .then(|| (drive(rng), kinds[rng.below(kinds.len() as u64) as usize]));
        Self { loss, missing, again, damage }
    }
}

impl World {
    /// Checks a copy of the disks after a power cut now.
    pub(super) fn look_ahead(&mut self, mut rng: Rng) -> Done {
        if self.beyond {
            return Ok(());
        }
        self.report.counts.looks += 1;
        self.count_cut();
        let Some(array) = &self.array else { return Ok(()) };
        let cut = Imagined::draw(&self.shape, &mut rng);
        let mut bays = array.bays.clone();
        let mut notes = (std::mem::take(&mut self.memo), self.report.coverage);
        let looked = self.imagine(&mut bays, cut, &mut rng, &mut notes);
        (self.memo, self.report.coverage) = notes;
        if looked.is_err() {
            let Imagined { loss, missing, again, damage } = cut;
            self.tell(|| {
                let missing =
                    missing.map_or(String::new(), |drive| format!(", drive {} not found", drive.0));
                let again = again.map_or("", |_| ", and again during the start");
                let damage = damage.map_or(String::new(), |(drive, fault)| {
                    format!(", drive {}: {}", drive.0, fault.name())
                });
                format!("if the power went now, unsynced {loss:?}{missing}{damage}{again}:")
            });
        }
        looked
    }

    /// Checks the disks of an idle array: nothing is in caches.
    pub(super) fn look_at_rest(&mut self) -> Done {
        let blind = self.lost() | self.damaged();
        let Some(array) = &self.array else { return Ok(()) };
        let is_busy = array.in_flight() > 0 || array.volume.engine().array().job().is_some();
        if self.beyond || is_busy || !array.volume.is_quiet() || !self.waiting.is_empty() {
            return Ok(());
        }
        let look = Look {
            layout: &self.layout,
            geometry: &self.geometry,
            blind,
            bays: &array.bays,
            torn: &[],
            holes: &[],
            doubtful: None,
            moment: Moment { after_cut: false, other_copies: false },
        };
        look.check(&self.rows, &self.model, &mut self.memo)
    }

    fn imagine(
        &self,
        bays: &mut [Bay],
        cut: Imagined,
        rng: &mut Rng,
        (memo, coverage): &mut (Memo, Coverage),
    ) -> Done {
        let explained = self.explained | self.lost();
        let recorded = self.recorded_failures();
        let may_lose = self.may_lose_in_a_cut();
        let mut dead = 0;
        for (drive, bay) in self.drives().zip(bays.iter_mut()) {
            let is_dead = bay.disk.faults.dead && (recorded.contains(drive) || may_lose);
            bay.disk.faults = Faults { dead: is_dead, ..Faults::default() };
            dead |= u64::from(is_dead) << drive.0;
        }
        self.end_unclean(bays, cut.loss, rng);
        let mut suspects = self.suspects(bays);
        if let Some((drive, fault)) = cut.damage
            && !self.is_too_much(explained | dead | suspects | 1 << drive.0)
            && (explained | dead) >> drive.0 & 1 == 0
            && (may_lose || !fault.is_in_head())
        {
            self.damage_copy(&mut bays[drive.index()].disk, fault, rng);
            self.spare_what_may_be_believed(bays);
            suspects |= 1 << drive.0;
        }
        let asked = cut.missing.filter(|_| may_lose).map_or(0, |drive| 1 << drive.0);
        let too_much = self.is_too_much(explained | dead | suspects | asked);
        let mut missing = dead | if too_much { 0 } else { asked };
        let mut fuse = Fuse::new(cut.again);
        for attempt in 0.. {
            match self.try_to_open(bays, missing, 0, &fuse, attempt) {
                Ok(opened) => {
                    count_opened(&opened, coverage);
                    let explained = explained | missing;
                    return self.look_at_start(bays, opened, (explained, suspects), memo);
                }
                Err(_) if fuse.is_blown() => {
                    self.end_unclean(bays, [Loss::Sectors; 3], rng);
                    fuse = Fuse::new(None);
                }
                // A failure in progress may be recorded only on the drive that is missing.
                Err(OpenError::Refused(_)) if missing != dead => missing = dead,
                Err(error) => {
                    return self.check_refusal(&error, explained | missing | suspects);
                }
            }
        }
        Ok(())
    }

    /// Checks the disks of an array that was opened after a power cut on a copy.
    fn look_at_start(
        &self,
        bays: &[Bay],
        opened: Opened<()>,
        (explained, suspects): (u64, u64),
        memo: &mut Memo,
    ) -> Done {
        let holes = doubtful_bytes(&opened);
        let Opened { assembly, mut records, .. } = opened;
        let repairs = Repairs::new(&assembly, &mut records.intent, &self.layout);
        let look = Look {
            layout: &self.layout,
            geometry: &self.geometry,
            blind: assembly.absent | suspects,
            bays,
            torn: &repairs.resync,
            holes: &holes,
            doubtful: records.checksums.as_ref().map(|checksums| &checksums.doubtful[..]),
            moment: Moment { after_cut: true, other_copies: explained | suspects != 0 },
        };
        look.check(&self.rows, &self.model, memo)
    }
}
