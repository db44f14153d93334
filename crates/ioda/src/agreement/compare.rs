//! Two clocks side by side: how far the live array is from the simulated one, how much of that is
//! lateness, and whether the claims hold.

use super::Workload;
use super::exact::Exact;
use super::serve::Served;
use array::policy::PolicyKind;
use live::control::Latency;
use report::{Claim, ClaimKind};
use schemars::JsonSchema;
use serde::Serialize;
use sim::{LatencySummary, RunResult};
use study::metric::three_digits;
use units::Duration;

/// Largest difference that still counts as the same, as a share of the simulated latency, for each
/// of [`live::control::PERCENTILES`].
const LIMITS: [f64; 4] = [0.1, 0.1, 0.1, 0.2];

/// What is claimed of every workload, policy and direction.
pub(super) const STATEMENT: &str = "On the real clock the array answers as the simulator says: p50, \
     p95 and p99 are within 10 % of the simulated ones, p99.9 within 20 %.";
/// What is claimed of every workload.
pub(super) const ORDER: &str = "On the real clock the same policy is faster: wherever simulated \
     read percentiles of two policies differ by more than their limit, the live ones differ in the \
     same direction.";
/// Fewer requests than this beyond a percentile make it doubtful.
const FEWEST_SAMPLES: u64 = 100;

/// Reads or writes at one percentile. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Compared {
    /// Of 100.
    pub(crate) percent: f64,
    /// From arrival to the answer, as simulated.
    pub(crate) simulated_nanoseconds: u64,
    /// The simulated latency if each answer were late by what was measured, independently.
    pub(crate) expected_nanoseconds: u64,
    /// From arrival to the answer, as measured inside of the live array.
    pub(crate) live_nanoseconds: u64,
    /// From the intended moment to the answer, as measured by the client.
    pub(crate) client_nanoseconds: u64,
    /// Live minus simulated, as a share of the simulated latency.
    pub(crate) difference: f64,
    /// Live minus expected, as a share of the simulated latency: what lateness does not explain.
    pub(crate) unexplained: f64,
    /// Largest difference that is allowed.
    pub(crate) limit: f64,
}

impl Compared {
    /// Whether the live array is as near to the simulated one as is claimed.
    pub(crate) fn holds(&self) -> bool {
        self.difference.abs() <= self.limit
    }
}

/// Reads or writes of one run on both clocks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Direction {
    /// Requests on both clocks.
    pub(crate) count: u64,
    /// At each of [`live::control::PERCENTILES`]; nothing if there were no such requests.
    pub(crate) percentiles: Vec<Compared>,
}

/// The median, and what 99 of 100 do not exceed, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Late {
    /// The median.
    pub(crate) p50_nanoseconds: u64,
    /// What 99 of 100 do not exceed.
    pub(crate) p99_nanoseconds: u64,
}

/// One workload under one policy, on both clocks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Pair {
    /// Name of the policy.
    pub(crate) policy: String,
    /// The policy for people.
    pub(crate) label: String,
    /// Reads.
    pub(crate) read: Direction,
    /// Writes.
    pub(crate) write: Direction,
    /// How late emulated drives answered.
    pub(crate) lateness: Late,
    /// How much later than intended the client sent its requests.
    pub(crate) sent_late: Late,
    /// The array's own time when the load began, in nanoseconds.
    pub(crate) began_nanoseconds: u64,
    /// Share of a processor core that the array's thread used during the load.
    pub(crate) processor_share: f64,
    /// Request by request; only where nothing spins (`--wait block`).
    pub(crate) exact: Option<Exact>,
}

impl Pair {
    /// Compares what came of one plan on both clocks.
    pub(super) fn new(
        policy: PolicyKind,
        simulated: &RunResult,
        each: &[Duration],
        served: &Served,
    ) -> Self {
        let Served { before, after, loaded } = served;
        let direction = |simulated: &LatencySummary, live: &Latency, client: &LatencySummary| {
            let expected = Expected::new(simulated, &after.requests.lateness);
            let compared = |((percent, live), limit): ((f64, u64), f64)| {
                let simulated = simulated.percentile(percent).as_nanos();
                let expected = expected.percentile(percent);
                let share = |of: u64| (live as f64 - of as f64) / (simulated as f64).max(1.0);
                Compared {
                    percent,
                    simulated_nanoseconds: simulated,
                    expected_nanoseconds: expected,
                    live_nanoseconds: live,
                    client_nanoseconds: client.percentile(percent).as_nanos(),
                    difference: share(simulated),
                    unexplained: share(expected),
                    limit,
                }
            };
            let percentiles = live.percentiles.iter().copied().zip(LIMITS).map(compared);
            Direction { count: simulated.count(), percentiles: percentiles.collect() }
        };
        let lateness = |percent| after.requests.lateness.percentile(percent).unwrap_or(0);
        let sent_late = |percent| loaded.sent_late.percentile(percent).as_nanos();
        let spent = after.processor_nanoseconds.saturating_sub(before.processor_nanoseconds);
        let passed = after.uptime_nanoseconds.saturating_sub(before.uptime_nanoseconds);
        Self {
            policy: policy.name().to_owned(),
            label: policy.label().to_owned(),
            read: direction(&simulated.read, &after.requests.read, &loaded.read),
            write: direction(&simulated.write, &after.requests.write, &loaded.write),
            lateness: Late { p50_nanoseconds: lateness(50.0), p99_nanoseconds: lateness(99.0) },
            sent_late: Late { p50_nanoseconds: sent_late(50.0), p99_nanoseconds: sent_late(99.0) },
            began_nanoseconds: before.uptime_nanoseconds,
            processor_share: spent as f64 / (passed as f64).max(1.0),
            exact: loaded.each.as_ref().map(|live| Exact::new(each, live)),
        }
    }
}

/// The sum of a simulated latency and of a lateness that does not depend on it. The array is told
/// when an answer was due, not when it came, so that only the last answer of a request makes it
/// late.
struct Expected {
    /// Sums and their weights, ascending.
    sums: Vec<(u64, f64)>,
    total: f64,
}

/// Parts of the distribution that latencies are taken from, each with as many points: the tail is
/// what matters, and would be a few points among all.
const BANDS: [f64; 5] = [0.0, 90.0, 99.0, 99.9, 100.0];
const POINTS: u32 = 100;

impl Expected {
    fn new(simulated: &LatencySummary, lateness: &Latency) -> Self {
        let none = [(0, 1)];
        let late: &[(u64, u64)] =
            if lateness.buckets.is_empty() { &none } else { &lateness.buckets };
        let mut sums = Vec::with_capacity(BANDS.len() * POINTS as usize * late.len());
        for band in BANDS.windows(2) {
            let step = (band[1] - band[0]) / f64::from(POINTS);
            for point in 0..POINTS {
                let percent = band[0] + step * (f64::from(point) + 0.5);
                let latency = simulated.percentile(percent).as_nanos();
                let weighed = late
                    .iter()
                    .map(|&(late, count)| (latency.saturating_add(late), step * count as f64));
                sums.extend(weighed);
            }
        }
        sums.sort_unstable_by_key(|&(sum, _)| sum);
        let total = sums.iter().map(|(_, weight)| weight).sum();
        Self { sums, total }
    }

    /// In nanoseconds.
    fn percentile(&self, percent: f64) -> u64 {
        let rank = percent / 100.0 * self.total;
        let mut passed = 0.0;
        let found = self.sums.iter().find(|(_, weight)| {
            passed += weight;
            passed >= rank
        });
        found.or(self.sums.last()).map_or(0, |&(sum, _)| sum)
    }
}

/// What is claimed of all workloads, and whether it holds.
pub(crate) fn claims(workloads: &[Workload]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for workload in workloads {
        for run in &workload.runs {
            // It says all that could be said of percentiles.
            if let Some(exact) = run.exact {
                let id = format!("{}-{}-{}-exact", super::NAME, workload.name, run.policy);
                claims.push(exact.claim(id, run.lateness.p99_nanoseconds));
                continue;
            }
            claims.push(same(workload, run, "reads", &run.read));
            claims.push(same(workload, run, "writes", &run.write));
        }
        claims.push(order(workload));
    }
    claims
}

fn claim(id: String, statement: &str) -> Claim {
    Claim {
        id,
        kind: ClaimKind::Ours,
        figure: String::from("live"),
        statement: statement.to_owned(),
        limit: String::from("ours: the simulator is the measure"),
        ..Claim::default()
    }
}

/// A share of change for people, with its sign.
pub(super) fn signed_percent(share: f64) -> String {
    let digits = three_digits((share * 100.0).abs());
    let sign = if share < 0.0 { '-' } else { '+' };
    format!("{sign}{digits} %")
}

/// That live latencies are the simulated ones.
fn same(workload: &Workload, run: &Pair, what: &str, direction: &Direction) -> Claim {
    let id = format!("{}-{}-{}-{what}", super::NAME, workload.name, run.policy);
    let mut claim = claim(id, STATEMENT);
    let compared = &direction.percentiles;
    if compared.is_empty() {
        claim.note = format!("there were no {what}, so nothing was compared");
        return claim;
    }
    let each = |share: fn(&Compared) -> f64| {
        let texts =
            compared.iter().map(|one| format!("p{} {}", one.percent, signed_percent(share(one))));
        texts.collect::<Vec<_>>().join(", ")
    };
    claim.holds = compared.iter().all(Compared::holds);
    claim.ours = each(|one| one.difference);
    claim.note = format!("without the measured lateness: {}", each(|one| one.unexplained));
    if let Some(doubtful) = doubtful(direction) {
        claim.note += &format!("; {doubtful}");
    }
    claim
}

/// The first percentile that few requests lie beyond.
fn doubtful(direction: &Direction) -> Option<String> {
    // 60 000 x 0.001 must be 60, not 59.999.
    let share = |percent: f64| direction.count as f64 * (1.0 - percent / 100.0);
    let beyond = |percent: f64| (share(percent) + 1e-6) as u64;
    let first = direction.percentiles.iter().find(|one| beyond(one.percent) < FEWEST_SAMPLES)?;
    Some(format!("only {} requests lie beyond p{}", beyond(first.percent), first.percent))
}

/// That policies are in the order that they are simulated in.
fn order(workload: &Workload) -> Claim {
    let mut claim = claim(format!("{}-{}-order", super::NAME, workload.name), ORDER);
    let mut differing = 0;
    let mut reversed = Vec::new();
    for (index, one) in workload.runs.iter().enumerate() {
        for other in &workload.runs[index + 1..] {
            for (a, b) in one.read.percentiles.iter().zip(&other.read.percentiles) {
                let (low, high) = {
                    let (a, b) = (a.simulated_nanoseconds, b.simulated_nanoseconds);
                    (a.min(b) as f64, a.max(b) as f64)
                };
                if high <= low * (1.0 + a.limit) {
                    continue;
                }
                differing += 1;
                let simulated = a.simulated_nanoseconds.cmp(&b.simulated_nanoseconds);
                if simulated != a.live_nanoseconds.cmp(&b.live_nanoseconds) {
                    reversed.push(format!("{} and {} at p{}", one.label, other.label, a.percent));
                }
            }
        }
    }
    claim.holds = reversed.is_empty() && !workload.runs.is_empty();
    claim.ours = format!(
        "the same order in {} of {differing} cases that differ in the simulator",
        differing - reversed.len()
    );
    if !reversed.is_empty() {
        claim.note = format!("reversed: {}", reversed.join(", "));
    } else if differing == 0 {
        claim.note = String::from("no percentile differs by more than its limit");
    }
    claim
}

#[cfg(test)]
mod tests {
    use super::*;
    use live::control::Recorder;

    #[test]
    fn the_expected_latency_is_that_of_the_sum() {
        // Half take 100 us, half 200; each is late by nothing or by 100 us: a quarter, a half and
        // a quarter.
        let mut simulated = LatencySummary::new();
        let mut lateness = Recorder::default();
        for index in 0..1000 {
            simulated.record(Duration::from_micros(if index % 2 == 0 { 100 } else { 200 }));
            lateness.record(if index % 2 == 0 { 0 } else { 100_000 });
        }
        let expected = Expected::new(&simulated, &lateness.latency());
        for (percent, exact) in [(10.0, 100_000.0), (50.0, 200_000.0), (90.0, 300_000.0)] {
            let told = expected.percentile(percent) as f64;
            assert!((exact * 0.99..exact * 1.05).contains(&told), "{percent} {told}");
        }
        // On time.
        let punctual = Expected::new(&simulated, &Latency::default());
        assert_eq!(punctual.percentile(99.9), simulated.percentile(99.9).as_nanos());
    }

    fn compared(percent: f64, simulated: u64, live: u64) -> Compared {
        Compared {
            percent,
            simulated_nanoseconds: simulated,
            expected_nanoseconds: simulated,
            live_nanoseconds: live,
            client_nanoseconds: live,
            difference: (live as f64 - simulated as f64) / simulated as f64,
            unexplained: 0.0,
            limit: 0.1,
        }
    }

    fn pair(policy: &str, simulated: u64, live: u64) -> Pair {
        let direction =
            Direction { count: 60_000, percentiles: vec![compared(99.9, simulated, live)] };
        let late = Late { p50_nanoseconds: 0, p99_nanoseconds: 0 };
        Pair {
            policy: policy.to_lowercase(),
            label: policy.to_owned(),
            read: direction.clone(),
            write: direction,
            lateness: late,
            sent_late: late,
            began_nanoseconds: 0,
            processor_share: 0.0,
            exact: None,
        }
    }

    fn judged(base: (u64, u64), ioda: (u64, u64)) -> Vec<Claim> {
        let runs = vec![pair("Base", base.0, base.1), pair("IODA", ioda.0, ioda.1)];
        claims(&[Workload {
            name: String::from("w"),
            description: String::new(),
            requests_per_second: 1.0,
            cycle_nanoseconds: None,
            runs,
        }])
    }

    #[test]
    fn claims_hold_up_to_their_limits() {
        let claims = judged((1000, 1100), (100, 89));
        let holds: Vec<(&str, bool)> =
            claims.iter().map(|claim| (claim.id.as_str(), claim.holds)).collect();
        let expected = [
            ("live-w-base-reads", true),
            ("live-w-base-writes", true),
            ("live-w-ioda-reads", false),
            ("live-w-ioda-writes", false),
            ("live-w-order", true),
        ];
        assert_eq!(holds, expected);
        assert_eq!(claims[2].ours, "p99.9 -11.0 %");
        assert!(claims[2].note.contains("only 60 requests lie beyond p99.9"), "{}", claims[2].note);
    }

    #[test]
    fn an_order_that_is_reversed_or_not_there_is_said() {
        let reversed = &judged((1000, 100), (500, 500))[4];
        assert!(!reversed.holds);
        assert_eq!(reversed.note, "reversed: Base and IODA at p99.9");
        let tie = &judged((1000, 900), (1050, 800))[4];
        assert!(tie.holds && tie.note.contains("no percentile differs"), "{tie:?}");
    }
}
