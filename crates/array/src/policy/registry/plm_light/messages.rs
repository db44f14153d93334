//! Messages between the write handling agent and the coordinator: traffic of windows that have
//! ended, and the counts in force.

use super::coordinator::Plmlc;
use super::settings::{CoordinatorPlace, PlmLightSettings};
use crate::policy::{CoordinatorState, Tally};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nvme::{QOS_CLASSES, WindowCounts, WindowTraffic};
use units::{Duration, Instant};

/// Windows without new counts after which the last ones are dropped: about a second with windows of
/// a millisecond. A coordinator that is restarted is back in less. Older counts are guesses about
/// traffic that the coordinator does not see.
const PATIENCE_WINDOWS: u64 = 1_000;

/// Maximum number of windows whose traffic waits for the driver, which polls several times a
/// window.
const WAITING_MAX: usize = 64;

/// The coordinator at the other end.
#[derive(Debug)]
enum Other {
    /// A coordinator beside the array.
    Own {
        coordinator: Plmlc,
        /// Time of both messages together: traffic and counts.
        messages: Duration,
        /// Counts on their way, with their times of arrival.
        on_the_way: VecDeque<(Instant, WindowCounts)>,
    },
    /// A coordinator on another host.
    Remote(Remote),
}

#[derive(Debug)]
struct Remote {
    waiting: VecDeque<WindowTraffic>,
    state: CoordinatorState,
    /// The last window that had ended when counts last came.
    heard: u64,
    /// Number of counts that came, and of times that they were dropped.
    taken: u64,
    given_up: u64,
}

/// State of both directions.
#[derive(Debug)]
pub(super) struct Messages {
    /// Number of windows whose traffic was sent.
    windows: u64,
    counts: Option<WindowCounts>,
    other: Other,
}

impl Messages {
    pub(super) fn new(settings: &PlmLightSettings) -> Self {
        let other = match settings.coordinator {
            CoordinatorPlace::Own => Other::Own {
                coordinator: Plmlc::new(settings.allocation),
                messages: settings.message * 2,
                on_the_way: VecDeque::new(),
            },
            CoordinatorPlace::Remote => Other::Remote(Remote {
                waiting: VecDeque::new(),
                state: CoordinatorState::Awaited,
                heard: 0,
                taken: 0,
                given_up: 0,
            }),
        };
        Self { windows: 0, counts: None, other }
    }

    /// Whether the coordinator is another host.
    pub(super) const fn are_remote(&self) -> bool {
        matches!(self.other, Other::Remote(_))
    }

    /// Sends the traffic of a window that has ended: its reads by class, and its writes.
    pub(super) fn tell(&mut self, now: Instant, reads: [u64; QOS_CLASSES], writes: u64) {
        self.windows += 1;
        let traffic = WindowTraffic { window: self.windows, ended: now, reads, writes };
        match &mut self.other {
            // Messages arrive in the order of their windows, so counts can be computed now.
            Other::Own { coordinator, messages, on_the_way } => {
                on_the_way.push_back((now + *messages, coordinator.handle_traffic(&traffic)));
            }
            Other::Remote(remote) => {
                if remote.waiting.len() == WAITING_MAX {
                    remote.waiting.pop_front();
                }
                remote.waiting.push_back(traffic);
                if remote.state == CoordinatorState::Heard
                    && self.windows - remote.heard >= PATIENCE_WINDOWS
                {
                    remote.state = CoordinatorState::Silent;
                    remote.given_up += 1;
                    self.counts = None;
                }
            }
        }
    }

    /// Counts for a window that begins now; `None` means no limit.
    pub(super) fn counts(&mut self, now: Instant) -> Option<WindowCounts> {
        if let Other::Own { on_the_way, .. } = &mut self.other {
            while let Some((arrives, counts)) = on_the_way.front()
                && *arrives <= now
            {
                self.counts = Some(*counts);
                on_the_way.pop_front();
            }
        }
        self.counts
    }

    /// Next traffic for a coordinator on another host.
    pub(super) fn poll_traffic(&mut self) -> Option<WindowTraffic> {
        match &mut self.other {
            Other::Own { .. } => None,
            Other::Remote(remote) => remote.waiting.pop_front(),
        }
    }

    /// Takes counts from another host. Returns whether they follow from a window that has ended.
    pub(super) fn set_counts(&mut self, counts: &WindowCounts) -> bool {
        let Other::Remote(remote) = &mut self.other else { return false };
        if counts.window > self.windows {
            return false;
        }
        (remote.state, remote.heard) = (CoordinatorState::Heard, self.windows);
        remote.taken += 1;
        self.counts = Some(*counts);
        true
    }

    /// State of a coordinator on another host; `None` if the coordinator is beside the array.
    pub(super) const fn state(&self) -> Option<CoordinatorState> {
        match &self.other {
            Other::Own { .. } => None,
            Other::Remote(remote) => Some(remote.state),
        }
    }

    /// Counts of messages, and of reads that were held back.
    pub(super) fn tallies(&self, held_back: u64) -> Vec<Tally> {
        let Other::Remote(remote) = &self.other else { return Vec::new() };
        Vec::from([
            Tally::new("windows told to the coordinator", self.windows),
            Tally::new("counts set by the coordinator", remote.taken),
            Tally::new("times that the coordinator fell silent", remote.given_up),
            Tally::new("reads beyond the counts of their class", held_back),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::super::allocation::Allocation;
    use super::*;
    use units::Rng;

    fn messages(message: Duration) -> Messages {
        Messages::new(&PlmLightSettings { message, ..PlmLightSettings::default() })
    }

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn at_once_counts_are_those_of_the_allocation() {
        for seed in testing::seeds(0..100) {
            let mut rng = Rng::new(seed);
            let settings = PlmLightSettings::default();
            let mut messages = messages(Duration::ZERO);
            let mut allocation = Allocation::new(settings.allocation);
            assert_eq!(messages.counts(Instant::ZERO), None, "nothing is known");
            for window in 1..50 {
                let reads = core::array::from_fn(|_| rng.below(200));
                let writes = rng.below(50);
                messages.tell(at(window), reads, writes);
                allocation.learn(reads, writes);
                let counts =
                    messages.counts(at(window)).map(|counts| (counts.reads, counts.writes));
                assert_eq!(counts, Some(allocation.counts()));
            }
        }
    }

    #[test]
    fn counts_are_in_force_when_both_messages_have_arrived() {
        let mut messages = messages(Duration::from_micros(500));
        messages.tell(at(1000), [10, 0, 0], 0);
        assert_eq!(messages.counts(at(1999)), None);
        messages.tell(at(2000), [20, 0, 0], 0);
        let window = |messages: &mut Messages, micros| {
            messages.counts(at(micros)).map(|counts| counts.window)
        };
        assert_eq!(window(&mut messages, 2000), Some(1));
        assert_eq!(window(&mut messages, 2999), Some(1));
        assert_eq!(window(&mut messages, 3000), Some(2));
        // Both arrive at once, and the last one counts.
        messages.tell(at(3000), [0; 3], 0);
        messages.tell(at(3100), [0; 3], 0);
        assert_eq!(window(&mut messages, 9000), Some(4));
        assert_eq!(messages.poll_traffic(), None);
        assert_eq!(messages.state(), None);
        assert!(!messages.set_counts(&WindowCounts { window: 1, reads: [0; 3], writes: 0 }));
    }
}
