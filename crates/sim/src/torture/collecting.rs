//! Simulated garbage collection: drives are slow for a while, at the times that the array permits.
//!
//! Permits are like those of a drive on the network. A stripe may have no more collecting members
//! than it can miss.

use array::Layout;
use nvme::{CollectionRight, PlFlag};
use std::collections::BTreeSet;
use units::{DriveId, Duration, Instant, Rng};

/// Number of slots, in one of which a drive that may always collect does so.
const SLOTS: u64 = 8;
/// Length of such a slot.
const SLOT: Duration = Duration::from_millis(4);
/// Longest wait of a command for a collection.
const WAIT_MOST: Duration = Duration::from_millis(20);
/// Longest wait after which a flagged read still succeeds.
const PATIENT: Duration = Duration::from_micros(300);

/// Permits and collections of all drives.
#[derive(Debug)]
pub(super) struct Collecting {
    seed: u64,
    /// Latest permit of each drive.
    rights: Vec<CollectionRight>,
    /// Member sets of the stripes, as bits, each set once.
    stripes: BTreeSet<u64>,
    parities: u32,
    /// Number of reads that failed fast.
    pub(super) failed_fast: u64,
    /// Number of commands that came to a drive in its turn.
    pub(super) met_windows: u64,
}

/// Effect of a collection on a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Met {
    /// No effect.
    Nothing,
    /// The command takes this much longer.
    Waits(Duration),
    /// The read fails fast; it would have waited for this time.
    FailsFast(Duration),
}

impl Collecting {
    pub(super) fn new(layout: &Layout, seed: u64) -> Self {
        // Stripes are placed in rotation.
        let stripes = (0..layout.stripes().min(u64::from(layout.width())))
            .map(|stripe| layout.members(stripe))
            .collect();
        Self {
            seed,
            rights: vec![CollectionRight::Always; layout.width() as usize],
            stripes,
            parities: layout.parities(),
            failed_fast: 0,
            met_windows: 0,
        }
    }

    pub(super) fn permit(&mut self, drive: DriveId, right: CollectionRight) {
        self.rights[drive.index()] = right;
    }

    /// Returns the effect on a command that comes to a drive; `flag` is the PL flag of a read.
    pub(super) fn meet(
        &mut self,
        drive: DriveId,
        now: Instant,
        flag: PlFlag,
        rng: &mut Rng,
    ) -> Met {
        let Some(until) = self.busy_until(drive, now) else { return Met::Nothing };
        let wait = until.since(now).min(WAIT_MOST);
        self.met_windows += u64::from(self.has_turn(drive));
        let meets = rng.below(2) == 0;
        let fails = match flag {
            PlFlag::Off | PlFlag::Failed => false,
            PlFlag::Predictable => true,
            PlFlag::Patient => wait > PATIENT,
        };
        match (meets, fails) {
            (false, _) => Met::Nothing,
            (true, false) => Met::Waits(wait),
            (true, true) => {
                self.failed_fast += 1;
                Met::FailsFast(wait)
            }
        }
    }

    /// End of the drive's present turn; `None` if it has none.
    fn busy_until(&self, drive: DriveId, now: Instant) -> Option<Instant> {
        let right = self.rights[drive.index()];
        if right != CollectionRight::Always {
            return right.until(now, 0);
        }
        let slot = now.as_nanos() / SLOT.as_nanos();
        let mut rng = Rng::new(self.seed ^ u64::from(drive.0) << 48 ^ slot);
        let end = Instant::ZERO + Duration::from_nanos((slot + 1) * SLOT.as_nanos());
        (rng.below(SLOTS) == 0).then_some(end)
    }

    fn has_turn(&self, drive: DriveId) -> bool {
        matches!(
            self.rights[drive.index()],
            CollectionRight::Windows(_) | CollectionRight::Lease { .. }
        )
    }

    /// Members of a stripe that are in their turns now, as bits, if they are more than it can miss.
    /// Drives of `absent` count as always busy.
    pub(super) fn too_many(&self, now: Instant, absent: u64) -> Option<u64> {
        let drives = (0..self.rights.len() as u8).map(DriveId);
        let in_turn = |drive: &DriveId| {
            self.has_turn(*drive) && self.rights[drive.index()].until(now, 0).is_some()
        };
        let busy = drives.filter(in_turn).fold(0, |bits, drive| bits | 1 << drive.0) & !absent;
        let of_stripe = |members: &u64| {
            let missing = (members & absent).count_ones();
            // Without any redundancy left, drives must still collect, one at a time.
            let most = self.parities.saturating_sub(missing).max(1);
            let busy = members & busy;
            (busy.count_ones() > most).then_some(busy)
        };
        self.stripes.iter().find_map(of_stripe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use array::Level;

    fn collecting(level: Level, width: u32, members: u32) -> Collecting {
        let layout = Layout::striped(level, width, members, 1, 24);
        Collecting::new(&layout.unwrap_or_else(|error| panic!("{error}")), 1)
    }

    fn lease(millis: u64) -> CollectionRight {
        CollectionRight::Lease { until: Instant::ZERO + Duration::from_millis(millis) }
    }

    #[test]
    fn as_many_may_collect_at_once_as_a_stripe_can_miss() {
        let mut five = collecting(Level::Raid5, 4, 4);
        let now = Instant::ZERO;
        five.permit(DriveId(1), lease(5));
        assert_eq!((five.too_many(now, 0), five.too_many(now, 1)), (None, None));
        five.permit(DriveId(2), lease(5));
        assert_eq!(five.too_many(now, 0), Some(0b110));
        assert_eq!(five.too_many(now + Duration::from_millis(5), 0), None, "their turns are over");
        let mut six = collecting(Level::Raid6, 5, 5);
        (1..3).for_each(|drive| six.permit(DriveId(drive), lease(5)));
        assert_eq!((six.too_many(now, 0), six.too_many(now, 1)), (None, Some(0b110)));
        let mut pairs = collecting(Level::Raid10, 4, 2);
        let of_others = pairs.stripes.iter().copied().collect::<Vec<u64>>();
        let alone = |members: u64| DriveId(members.trailing_zeros() as u8);
        of_others.iter().for_each(|members| pairs.permit(alone(*members), lease(5)));
        assert_eq!(pairs.too_many(now, 0), None, "each stripe has one");
    }

    #[test]
    fn a_read_that_meets_a_collection_waits_or_fails_fast() {
        let mut drives = collecting(Level::Raid5, 4, 4);
        drives.permit(DriveId(0), lease(5));
        let mut rng = Rng::new(3);
        let mut meet = |drives: &mut Collecting, flag, millis| {
            let now = Instant::ZERO + Duration::from_millis(millis);
            (0..20).map(|_| drives.meet(DriveId(0), now, flag, &mut rng)).collect::<Vec<Met>>()
        };
        let wait = Duration::from_millis(4);
        assert!(meet(&mut drives, PlFlag::Off, 1).contains(&Met::Waits(wait)));
        assert!(meet(&mut drives, PlFlag::Predictable, 1).contains(&Met::FailsFast(wait)));
        assert!(meet(&mut drives, PlFlag::Predictable, 5).iter().all(|met| *met == Met::Nothing));
        assert!(drives.failed_fast > 0 && drives.met_windows == 40);
    }
}
