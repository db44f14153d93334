//! Reads of the other drives as a measure, where drives guarantee nothing.

use units::{Duration, Instant};

/// A running quantile moves by multiples of 1/64 of itself.
const STEP: u64 = 64;
/// A read of an idle drive is late if it takes longer than this multiple of its peers' latency, in
/// halves. Drives of one make differ by less; a drive three times as slow as its peers exceeds it.
const LATE_HALVES: u64 = 5;
/// Unanswered reads that make a drive silent: two or three may all wait for one die.
const SILENT_READS: u32 = 4;
/// Time without an answer that makes a drive silent, as a multiple of the usual latency. A program
/// or an erase that holds one die takes about as long.
const SILENT_TIMES: u64 = 16;
/// Minimum of that time. A collection of a whole line of blocks takes half of it, and reads around
/// a silent drive are charged to no budget.
const SILENT_LEAST: Duration = Duration::from_millis(100);

/// Usual read latencies of a drive, and the reads that it has left unanswered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usual {
    /// Running quantiles of latencies (1/4, 1/2 and 7/8); 0 before the first.
    lower_nanos: u64,
    median_nanos: u64,
    upper_nanos: u64,
    /// Running median of lone reads, sent while no other read was at the drive; 0 before the first.
    lone_nanos: u64,
    /// Reads in flight.
    out: u32,
    /// Reads in flight at `silent_since`. The drive has answered none since.
    silent_reads: u32,
    silent_since: Instant,
    is_silent: bool,
}

/// Whether a drive leaves its reads unanswered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Silence {
    No,
    Begins,
    GoesOn,
}

impl Usual {
    pub(super) const NEW: Self = Self {
        lower_nanos: 0,
        median_nanos: 0,
        upper_nanos: 0,
        lone_nanos: 0,
        out: 0,
        silent_reads: 0,
        silent_since: Instant::ZERO,
        is_silent: false,
    };

    pub(super) const fn median_nanos(&self) -> u64 {
        self.median_nanos
    }

    /// Adds a latency. Each quantile moves by a fixed share of itself, up or down, so that one
    /// outlier weighs no more than any other read.
    #[inline]
    pub(super) fn add(&mut self, latency: Duration, is_lone: bool) {
        let nanos = latency.as_nanos().max(STEP);
        if is_lone {
            move_median(&mut self.lone_nanos, nanos);
        }
        if self.median_nanos == 0 {
            (self.lower_nanos, self.median_nanos, self.upper_nanos) = (nanos, nanos, nanos);
            return;
        }
        move_quantile(&mut self.lower_nanos, nanos, (2, 6));
        move_median(&mut self.median_nanos, nanos);
        move_quantile(&mut self.upper_nanos, nanos, (7, 1));
    }

    /// Forgets the latencies, but not the reads in flight.
    pub(super) fn forget(&mut self) {
        (self.lower_nanos, self.median_nanos, self.upper_nanos, self.lone_nanos) = (0, 0, 0, 0);
    }

    #[inline]
    pub(super) fn sent(&mut self, now: Instant) {
        if self.out == 0 {
            (self.silent_since, self.silent_reads) = (now, 1);
        }
        self.out += 1;
    }

    #[inline]
    pub(super) fn answered(&mut self, now: Instant) {
        // The read may have been sent under an earlier policy, or to the drive before.
        self.out = self.out.saturating_sub(1);
        self.is_silent = false;
        (self.silent_since, self.silent_reads) = (now, self.out);
    }

    /// Checks whether the drive has left several reads unanswered for long.
    #[inline]
    pub(super) fn look(&mut self, now: Instant) -> Silence {
        if self.is_silent {
            return Silence::GoesOn;
        }
        let longest = (Duration::from_nanos(self.median_nanos) * SILENT_TIMES).max(SILENT_LEAST);
        if self.out == 0 || self.median_nanos == 0 || now.since(self.silent_since) <= longest {
            return Silence::No;
        }
        if self.silent_reads < SILENT_READS {
            // Reads sent since then are timed from now on.
            (self.silent_since, self.silent_reads) = (now, self.out);
            return Silence::No;
        }
        self.is_silent = true;
        Silence::Begins
    }
}

/// Adds a latency to a running median; 0 means no latency yet.
#[inline]
fn move_median(median_nanos: &mut u64, nanos: u64) {
    match *median_nanos {
        0 => *median_nanos = nanos,
        _ => move_quantile(median_nanos, nanos, (4, 4)),
    }
}

/// Adds a latency to a running quantile, which moves `up` or `down` by these numbers of steps.
/// Their ratio determines which quantile it is.
#[inline]
fn move_quantile(quantile_nanos: &mut u64, nanos: u64, (up, down): (u64, u64)) {
    match nanos > *quantile_nanos {
        true => *quantile_nanos += *quantile_nanos * up / STEP,
        false => *quantile_nanos -= *quantile_nanos * down / STEP,
    }
}

/// Whether a read of an idle drive is late beside its `peers`. A late read takes a multiple of
/// their fastest quarter and of their lone reads, and longer than seven in eight of their reads. On
/// a busy host lone reads are slow, because each has to wake the host up. Where all drives stall
/// often, a stall is no evidence against one of them.
pub(super) fn is_late<'a>(latency: Duration, peers: impl Iterator<Item = &'a Usual>) -> bool {
    let in_time = |peer: &Usual| {
        let alone = peer.lower_nanos.max(peer.lone_nanos);
        (alone * LATE_HALVES / 2).max(peer.upper_nanos)
    };
    let slowest = peers.map(in_time).max().unwrap_or(0);
    slowest > 0 && latency.as_nanos() > slowest
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn quantiles_follow_the_reads_and_not_the_outliers() {
        let mut usual = Usual::NEW;
        let mut rng = Rng::stream(1, "usual");
        for factor in [1, 10, 1] {
            for _ in 0..2_000 {
                let micros = if rng.below(10) == 0 { 20_000 } else { 100 + rng.below(101) };
                usual.add(Duration::from_micros(micros * factor), false);
            }
            let median = usual.median_nanos / factor;
            assert!((120_000..200_000).contains(&median), "{factor}: {median}");
            let quartile = usual.lower_nanos / factor;
            assert!((100_000..155_000).contains(&quartile), "{factor}: {quartile}");
            let upper = usual.upper_nanos / factor;
            assert!((160_000..900_000).contains(&upper), "{factor}: {upper}");
        }
    }

    #[test]
    fn four_reads_without_an_answer_make_silence_and_an_answer_ends_it() {
        let mut usual = Usual::NEW;
        usual.add(Duration::from_millis(10), false);
        for micros in 0..3 {
            usual.sent(at(micros));
        }
        assert_eq!(usual.look(at(200_000)), Silence::No, "the time of the second and third begins");
        usual.sent(at(200_001));
        assert_eq!(usual.look(at(400_000)), Silence::No, "three of four were out long enough");
        assert_eq!(usual.look(at(560_000)), Silence::No);
        assert_eq!(usual.look(at(560_001)), Silence::Begins);
        assert_eq!(usual.look(at(560_002)), Silence::GoesOn);
        usual.answered(at(570_000));
        assert_eq!(usual.look(at(900_000)), Silence::No);
    }

    #[test]
    fn a_collection_is_no_silence() {
        let mut usual = Usual::NEW;
        usual.add(Duration::from_micros(100), false);
        usual.sent(at(0));
        for _ in 0..9 {
            usual.sent(at(0));
        }
        assert_eq!(usual.look(at(60_000)), Silence::No);
    }

    #[test]
    fn an_idle_drive_and_an_unknown_one_are_not_silent() {
        let mut usual = Usual::NEW;
        for _ in 0..9 {
            usual.sent(at(0));
        }
        assert_eq!(usual.look(at(1_000_000)), Silence::No, "nothing is known");
        usual.add(Duration::from_micros(100), false);
        for _ in 0..9 {
            usual.answered(at(1_000_001));
        }
        assert_eq!(usual.look(at(9_000_000)), Silence::No, "nothing is out");
    }

    #[test]
    fn late_is_beyond_the_slowest_peer() {
        let mut peers = [Usual::NEW; 3];
        assert!(!is_late(Duration::from_secs(1), peers.iter()), "nothing to compare with");
        for (peer, micros) in peers.iter_mut().zip([80, 100, 90]) {
            peer.add(Duration::from_micros(micros), false);
        }
        assert!(!is_late(Duration::from_micros(250), peers.iter()));
        assert!(is_late(Duration::from_micros(251), peers.iter()));
        // A busy host: lone reads of a peer take long too.
        peers[2].add(Duration::from_micros(900), true);
        assert!(!is_late(Duration::from_micros(2_250), peers.iter()));
        assert!(is_late(Duration::from_micros(2_251), peers.iter()));
        // One in eight reads of a peer takes longer than any of this.
        peers[0].upper_nanos = 3_000_000;
        assert!(!is_late(Duration::from_micros(3_000), peers.iter()));
        assert!(is_late(Duration::from_micros(3_001), peers.iter()));
    }
}
