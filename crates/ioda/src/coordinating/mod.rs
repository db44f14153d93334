//! The coordinator of PLM-light: pages of an array come in, counts go out, and a tally says how
//! long they took.

mod second;

pub(crate) use second::CoordinatedSecond;

use array::policy::{AllocationConfig, Plmlc};
use nvme::initiator::Heard;
use nvme::wire::plm_light::TrafficLog;
use nvme::wire::{StatusCode, StatusField};
use nvme::{WindowCounts, WindowTraffic};
use sim::LatencySummary;
use study::Failure;

/// A window with the counts that followed from it.
pub(crate) type Followed = (WindowTraffic, WindowCounts);

/// Work since the tally was taken last.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Windows that have ended.
    pub(crate) windows: u64,
    /// Windows whose traffic was read; the others had left the page before.
    pub(crate) reports: u64,
    /// Counts that the array refused.
    pub(crate) refused: u64,
    /// From the end of a window to the counts that follow from it, as the array saw it.
    pub(crate) answers: LatencySummary,
    /// Each window, if that is wanted.
    pub(crate) each: Vec<Followed>,
}

impl Tally {
    /// Nothing was done.
    pub(crate) fn new() -> Self {
        let (answers, each) = (LatencySummary::new(), Vec::new());
        Self { windows: 0, reports: 0, refused: 0, answers, each }
    }

    /// Adds what `other` counts. Its single windows are left out.
    pub(crate) fn add(&mut self, other: &Self) {
        self.windows += other.windows;
        self.reports += other.reports;
        self.refused += other.refused;
        self.answers.add(&other.answers);
    }
}

/// The coordinator of one array.
#[derive(Debug)]
pub(crate) struct Coordination {
    /// How the array is called.
    array: String,
    config: AllocationConfig,
    /// The machine, and the life of the policy that it has seen.
    plmlc: Option<(u32, Plmlc)>,
    /// The last window that was seen.
    window: u64,
    /// The first window for which counts were set in this life, and the last that was answered.
    asked_from: Option<u64>,
    answered: u64,
    counts: Option<WindowCounts>,
    keeps_each: bool,
    tally: Tally,
}

impl Coordination {
    /// A coordinator that has seen nothing.
    pub(crate) fn new(array: String, config: AllocationConfig, keeps_each: bool) -> Self {
        Self {
            array,
            config,
            plmlc: None,
            window: 0,
            asked_from: None,
            answered: 0,
            counts: None,
            keeps_each,
            tally: Tally::new(),
        }
    }

    /// The counts that were set last.
    pub(crate) fn counts(&self) -> Option<WindowCounts> {
        self.counts
    }

    /// Takes the tally of the work since the last call.
    pub(crate) fn take_tally(&mut self) -> Tally {
        std::mem::replace(&mut self.tally, Tally::new())
    }

    /// Takes an answer of the array. Returns counts to set, with the generation of its policy.
    ///
    /// # Errors
    ///
    /// If the array wants no coordinator, or has another.
    pub(crate) fn hear(&mut self, heard: &Heard) -> Result<Option<(u32, WindowCounts)>, Failure> {
        match heard {
            Heard::Traffic(log) => Ok(self.follow(log)),
            Heard::Counts(status) => self.settle(*status).map(|()| None),
            Heard::NoTraffic(status) => Err(self.missing(*status)),
            Heard::Malformed => Err(Failure::internal(format!(
                "{}: its log page C0h is not the traffic of PLM-light, or of another version",
                self.array
            ))),
        }
    }

    fn follow(&mut self, log: &TrafficLog) -> Option<(u32, WindowCounts)> {
        let is_same = self.plmlc.as_ref().is_some_and(|(life, _)| *life == log.generation);
        if !is_same {
            (self.window, self.asked_from, self.answered) = (0, None, 0);
        }
        let fresh = || (log.generation, Plmlc::new(self.config));
        let mut life = self.plmlc.take().filter(|_| is_same).unwrap_or_else(fresh);
        self.note_answer(log);
        let mut counts = None;
        let seen = self.window;
        for traffic in log.windows.iter().filter(|traffic| traffic.window > seen) {
            // Windows before the first page were not missed.
            let passed = if self.window == 0 { 1 } else { traffic.window - self.window };
            self.window = traffic.window;
            self.tally.windows += passed;
            self.tally.reports += 1;
            let followed = life.1.handle_traffic(traffic);
            if self.keeps_each {
                self.tally.each.push((*traffic, followed));
            }
            counts = Some(followed);
        }
        self.plmlc = Some(life);
        let counts = counts?;
        self.counts = Some(counts);
        self.asked_from.get_or_insert(counts.window);
        Some((log.generation, counts))
    }

    /// Records how long the last counts took, unless a coordinator before this one set them.
    fn note_answer(&mut self, log: &TrafficLog) {
        if let (Some(answered), Some(from)) = (log.answered, self.asked_from)
            && answered.window >= from
            && answered.window > self.answered
        {
            self.answered = answered.window;
            self.tally.answers.record(answered.after);
        }
    }

    fn settle(&mut self, status: StatusField) -> Result<(), Failure> {
        match status.code() {
            _ if status.is_success() => Ok(()),
            Some(StatusCode::CommandSequence) => Err(Failure::usage(format!(
                "{}: another coordinator sets its counts; end that one first",
                self.array
            ))),
            // The policy was changed meanwhile: the next page says so.
            Some(StatusCode::InvalidField) => {
                self.tally.refused += 1;
                Ok(())
            }
            _ => Err(Failure::internal(format!("{}: it refuses counts: {status:?}", self.array))),
        }
    }

    fn missing(&self, status: StatusField) -> Failure {
        let array = &self.array;
        if status.code() != Some(StatusCode::InvalidLogPage) {
            return Failure::internal(format!("{array}: it refuses log page C0h: {status:?}"));
        }
        match self.plmlc {
            None => Failure::usage(format!(
                "{array} has no PLM-light that wants a coordinator: serve it with --policy plm-light \
                 --plm-coordinator remote"
            )),
            Some(_) => Failure::internal(format!(
                "{array} wants no coordinator any more: its policy was changed"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use array::policy::BaseRule;
    use nvme::wire::plm_light::Answered;
    use units::{Duration, Instant};

    fn coordination() -> Coordination {
        Coordination::new("a".into(), AllocationConfig::article(BaseRule::Prioritized), true)
    }

    fn traffic(window: u64) -> WindowTraffic {
        let ended = Instant::from_nanos(window * 1_100_000);
        WindowTraffic { window, ended, reads: [10 * window, 5, 1], writes: 7 }
    }

    fn page(generation: u32, windows: std::ops::RangeInclusive<u64>) -> Heard {
        Heard::Traffic(TrafficLog {
            generation,
            length: Duration::from_millis(1),
            answered: windows
                .clone()
                .next()
                .filter(|first| *first > 1)
                .map(|first| Answered { window: first - 1, after: Duration::from_micros(100) }),
            windows: windows.map(traffic).collect(),
        })
    }

    #[test]
    fn each_window_counts_once_and_those_that_were_missed_are_told() {
        let mut coordination = coordination();
        let mut alone = Plmlc::new(AllocationConfig::article(BaseRule::Prioritized));
        let expected = (1..=3).map(|window| alone.handle_traffic(&traffic(window))).last();
        assert_eq!(coordination.hear(&page(1, 1..=3)).unwrap().map(|(_, set)| set), expected);
        // A page with nothing new leads to nothing.
        assert_eq!(coordination.hear(&page(1, 1..=3)).unwrap(), None);
        // 4 and 5 had left the page.
        let expected = [6, 7].map(|window| alone.handle_traffic(&traffic(window)))[1];
        assert_eq!(coordination.hear(&page(1, 6..=7)).unwrap(), Some((1, expected)));
        let tally = coordination.take_tally();
        assert_eq!((tally.windows, tally.reports, tally.answers.count()), (7, 5, 1));
        let seen: Vec<_> = tally.each.iter().map(|(traffic, _)| traffic.window).collect();
        assert_eq!(seen, [1, 2, 3, 6, 7]);
        assert_eq!(coordination.take_tally().windows, 0);
    }

    #[test]
    fn another_life_of_the_policy_is_learnt_anew() {
        let mut coordination = coordination();
        coordination.hear(&page(1, 5..=9)).unwrap();
        let mut alone = Plmlc::new(AllocationConfig::article(BaseRule::Prioritized));
        let expected = alone.handle_traffic(&traffic(1));
        assert_eq!(coordination.hear(&page(2, 1..=1)).unwrap(), Some((2, expected)));
        // Answers of a coordinator before are not this one's.
        assert_eq!(coordination.take_tally().answers.count(), 0);
    }

    #[test]
    fn an_array_without_the_policy_is_refused_with_what_to_do() {
        let mut coordination = coordination();
        let no_page = Heard::NoTraffic(StatusCode::InvalidLogPage.for_good());
        let said = coordination.hear(&no_page).unwrap_err().to_string();
        assert!(said.contains("--policy plm-light --plm-coordinator remote"), "{said}");
        coordination.hear(&page(1, 1..=1)).unwrap();
        let said = coordination.hear(&no_page).unwrap_err().to_string();
        assert!(said.contains("wants no coordinator any more"), "{said}");
        let other = Heard::Counts(StatusCode::CommandSequence.for_good());
        let said = coordination.hear(&other).unwrap_err().to_string();
        assert!(said.contains("another coordinator sets its counts"), "{said}");
        let changed = Heard::Counts(StatusCode::InvalidField.for_good());
        assert_eq!(coordination.hear(&changed).unwrap(), None);
        assert_eq!(coordination.take_tally().refused, 1);
        assert!(coordination.hear(&Heard::Malformed).is_err());
    }
}
