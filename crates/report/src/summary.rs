//! What the numbers say, in sentences: shown above the tables in the terminal and on the page.

use crate::document::{flushes_make_busy, percent_from};
use crate::{Claim, Comparison, Run, causes, degraded, format};

/// The percentile which the sentences speak about.
const PERCENTILE: f64 = 99.9;
/// Parts of a write buffer, of which a drive that flushes in its windows keeps one free.
const KEPT_FREE: u64 = 8;

/// How much attention a sentence deserves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// A result.
    Result,
    /// Something that went wrong or limits the result.
    Warning,
}

/// One sentence about the comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How much attention it deserves.
    pub weight: Weight,
    /// The sentence.
    pub text: String,
}

/// The sentences that the numbers justify, warnings last.
#[must_use]
pub fn findings(comparison: &Comparison) -> Vec<Finding> {
    let results = [tails(comparison), slowest(comparison), busy(comparison), claims(comparison)];
    let mut found: Vec<Finding> = results
        .into_iter()
        .flatten()
        .chain(comparison.runs.iter().filter_map(degraded::sentence))
        .map(|text| Finding { weight: Weight::Result, text })
        .collect();
    let violated = comparison.runs.iter().filter_map(violations);
    let stalled = comparison.runs.iter().filter_map(stalls);
    let short = comparison.runs.iter().filter_map(short_buffer);
    found.extend(
        violated.chain(short).chain(stalled).map(|text| Finding { weight: Weight::Warning, text }),
    );
    found
}

/// Which policies are nearest to Ideal, fastest and slowest. A policy may be faster than Ideal.
fn tails(comparison: &Comparison) -> Option<String> {
    let ideal = comparison.ideal()?;
    let ideal_us = ideal.read.at(PERCENTILE)?.value_us;
    if ideal_us <= 0.0 {
        return None;
    }
    let others: Vec<(&Run, f64)> = comparison
        .runs
        .iter()
        .filter(|run| run.policy != ideal.policy)
        .filter_map(|run| Some((run, run.read.at(PERCENTILE)?.value_us)))
        .collect();
    let phrase = |(run, us): (&Run, f64)| {
        let ratio = format::ratio(us / ideal_us);
        format!("{} ({ratio} Ideal) under {}", format::latency(us), run.name())
    };
    let name = format::percentile(PERCENTILE);
    let ideal_text = format::latency(ideal_us);
    if let [only] = *others.as_slice() {
        return Some(format!("{name} of reads: {ideal_text} under Ideal, {}.", phrase(only)));
    }
    // By ratio: half of Ideal is as far away as twice Ideal.
    let distance = |us: f64| (us / ideal_us).ln().abs();
    let least = |by: &dyn Fn(f64) -> f64| {
        (0..others.len()).min_by(|&a, &b| by(others[a].1).total_cmp(&by(others[b].1)))
    };
    let roles = [
        ("the nearest to Ideal", least(&distance)?),
        ("the fastest", least(&|us| us)?),
        ("the slowest", least(&|us| -us)?),
    ];
    let mut named: Vec<usize> = Vec::new();
    let mut parts = Vec::new();
    for (_, run) in roles {
        if named.contains(&run) {
            continue;
        }
        named.push(run);
        let held = roles.iter().filter(|(_, other)| *other == run).map(|(role, _)| *role);
        let held: Vec<&str> = held.collect();
        parts.push(format!("{} ({})", phrase(others[run]), held.join(" and ")));
    }
    Some(format!("{name} of reads: {ideal_text} under Ideal, {}.", parts.join(", ")))
}

/// Why reads of the slowest run are slow.
fn slowest(comparison: &Comparison) -> Option<String> {
    let split_of = |run: &Run| run.cause_split(PERCENTILE).map_or(0.0, |split| split.latency_us);
    let run = comparison.runs.iter().max_by(|a, b| split_of(a).total_cmp(&split_of(b)))?;
    let split = run.cause_split(PERCENTILE).filter(|split| split.latency_us > 0.0)?;
    let (cause, part) = split.parts_us.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "Under {}, {} of the time of a {} read goes to {}.",
        run.name(),
        format::percent(100.0 * part / split.latency_us),
        format::percentile(PERCENTILE),
        causes::phrase(cause),
    ))
}

/// How many stripe reads met two or more busy members, which one parity cannot get around.
fn busy(comparison: &Comparison) -> Option<String> {
    let parts: Vec<String> = comparison
        .runs
        .iter()
        .filter(|run| run.busy_sub_ios_per_stripe_read.len() > 2)
        .map(|run| {
            let shown = |several: f64| match several {
                0.0 => "none".to_owned(),
                several => format::percent(several),
            };
            let share = percent_from(&run.busy_sub_ios_per_stripe_read, 2);
            let of_these = match share > 0.0 && flushes_make_busy(std::slice::from_ref(run)) {
                false => String::new(),
                true => {
                    let both = percent_from(&run.collecting_sub_ios_per_stripe_read, 2);
                    format!(" ({} with two collections)", shown(both))
                }
            };
            format!("{} {}{of_these}", run.name(), shown(share))
        })
        .collect();
    (!parts.is_empty())
        .then(|| format!("Stripe reads with two or more busy members: {}.", parts.join(", ")))
}

fn claims(comparison: &Comparison) -> Option<String> {
    let all = comparison.claims.len();
    let failing: Vec<String> =
        comparison.claims.iter().filter(|claim| !claim.holds).map(named).collect();
    let holding = all - failing.len();
    match (all, failing.as_slice()) {
        (0, _) => None,
        (1, []) => Some("The claim holds here.".to_owned()),
        (_, []) => Some(format!("All {all} claims hold here.")),
        (_, failing) => {
            let verb = if failing.len() == 1 { "This one does" } else { "These do" };
            Some(format!(
                "{holding} of {all} claims hold here. {verb} not: {}.",
                failing.join("; ")
            ))
        }
    }
}

/// A claim by its name and what it says.
fn named(claim: &Claim) -> String {
    format!("{} ({})", claim.id, claim.statement.trim_end_matches('.'))
}

fn violations(run: &Run) -> Option<String> {
    (run.contract_violations > 0).then(|| {
        let times = times(run.contract_violations);
        let first = run.drives.iter().filter_map(|drive| Some((drive, drive.first_violation?)));
        let first = first.min_by(|(_, a), (_, b)| a.seconds.total_cmp(&b.seconds));
        let first = first.map_or(String::new(), |(drive, violation)| {
            format!(
                " The first time was at {:.3} s on drive {}, because {} ({:.1} % of its blocks were \
                 free); `ioda explain --policy {} --violations` lists them.",
                violation.seconds,
                drive.drive,
                violation.cause.words(),
                violation.free_share * 100.0,
                run.policy,
            )
        });
        format!(
            "CONTRACT VIOLATED under {}: {times} a drive collected in its predictable window. Its \
             promise of predictable reads does not hold at this load.{first}",
            run.name(),
        )
    })
}

/// That drives had to flush outside of their windows, because their write buffers are too small.
fn short_buffer(run: &Run) -> Option<String> {
    let buffer = run.buffer?;
    // Drives keep some of it free, and flush early when they have less left.
    let needed = buffer.peak_bytes + buffer.peak_bytes / (KEPT_FREE - 1);
    let lacking = needed.saturating_sub(buffer.capacity_bytes);
    if buffer.forced_flushes_pages == 0 || buffer.capacity_bytes == 0 || lacking == 0 {
        return None;
    }
    let share = buffer.forced_flushes_pages as f64 / buffer.buffered_writes_pages.max(1) as f64;
    Some(format!(
        "WRITE BUFFER TOO SMALL under {}: the writes of one drive needed {}, {} more than the {} it has. {} of the \
         pages were flushed outside of busy windows, where reads meet them. `--write-buffer {}m` holds these writes.",
        run.name(),
        format::bytes(needed),
        format::bytes(lacking),
        format::bytes(buffer.capacity_bytes),
        format::percent(100.0 * share),
        needed.div_ceil(1 << 20),
    ))
}

fn stalls(run: &Run) -> Option<String> {
    (run.host_write_stalls > 0).then(|| {
        let times = times(run.host_write_stalls);
        format!("Under {}, {times} a host write waited for free space.", run.name())
    })
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", format::count(count)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::BufferCounters;

    #[test]
    fn a_write_buffer_that_is_too_small_is_named_with_what_it_lacks() {
        let counters = |peak_mib: u64, forced_flushes_pages| BufferCounters {
            buffered_writes_pages: 1_000,
            forced_flushes_pages,
            peak_bytes: peak_mib << 20,
            capacity_bytes: 64 << 20,
            ..BufferCounters::default()
        };
        let sentence = |buffer| {
            short_buffer(&Run { label: "Quiet".to_owned(), buffer: Some(buffer), ..Run::default() })
        };
        // An eighth is kept free: 70 MiB need 80, and 56 fit.
        let short = sentence(counters(70, 250)).unwrap();
        assert!(
            short.contains("needed 80.0 MiB, 16.0 MiB more than the 64.0 MiB it has. 25.0 %"),
            "{short}"
        );
        assert!(short.ends_with("`--write-buffer 80m` holds these writes."), "{short}");
        assert_eq!(sentence(counters(70, 0)), None);
        assert_eq!(sentence(counters(56, 250)), None);
    }

    #[test]
    fn members_that_are_busy_without_a_collection_are_told_apart() {
        let said = |busy: &[u64], collecting: &[u64]| {
            let run = Run {
                label: "Quiet".to_owned(),
                busy_sub_ios_per_stripe_read: busy.to_vec(),
                collecting_sub_ios_per_stripe_read: collecting.to_vec(),
                ..Run::default()
            };
            super::busy(&Comparison { runs: vec![run], ..Comparison::default() }).unwrap()
        };
        assert!(said(&[900, 0, 75, 25], &[900, 0, 75, 25]).ends_with("Quiet 10.0 %."));
        assert!(
            said(&[900, 0, 75, 25], &[900, 100, 0, 0])
                .ends_with("Quiet 10.0 % (none with two collections).")
        );
        assert!(
            said(&[900, 0, 75, 25], &[900, 70, 30, 0])
                .ends_with("Quiet 10.0 % (3.00 % with two collections).")
        );
        assert!(said(&[900, 100, 0, 0], &[1000, 0, 0, 0]).ends_with("Quiet none."));
    }

    #[test]
    fn a_violated_contract_is_said_in_words() {
        let mut comparison = crate::sample::comparison();
        let says = |comparison: &Comparison| {
            findings(comparison).iter().any(|f| f.text.contains("CONTRACT VIOLATED under IODA"))
        };
        assert!(says(&comparison));
        comparison.runs.iter_mut().for_each(|run| run.contract_violations = 0);
        assert!(!says(&comparison));
    }

    #[test]
    fn who_is_faster_than_ideal_is_not_the_nearest_to_it() {
        let mut comparison = crate::sample::comparison();
        let ideal = comparison.ideal().unwrap().policy.clone();
        let ratios = [2.0, 0.08, 1.03, 40.0, 3.0].into_iter().cycle();
        let runs = comparison.runs.iter_mut().filter(|run| run.policy != ideal);
        let mut names = Vec::new();
        for (run, ratio) in runs.zip(ratios) {
            names.push(run.name().to_owned());
            for point in &mut run.read.percentiles {
                point.value_us = 100.0 * ratio;
            }
        }
        for run in comparison.runs.iter_mut().filter(|run| run.policy == ideal) {
            run.read.percentiles.iter_mut().for_each(|point| point.value_us = 100.0);
        }
        assert_eq!(
            tails(&comparison).unwrap(),
            format!(
                "p99.9 of reads: 100 µs under Ideal, 103 µs (1.03× Ideal) under {} (the nearest to Ideal), 8.00 µs \
                 (0.08× Ideal) under {} (the fastest), 4.00 ms (40.0× Ideal) under {} (the slowest).",
                names[2], names[1], names[3]
            )
        );
    }

    #[test]
    fn claims_that_do_not_hold_are_named() {
        let mut comparison = crate::sample::comparison();
        let said = |comparison: &Comparison| claims(comparison).unwrap();
        assert_eq!(
            said(&comparison),
            "1 of 2 claims hold here. This one does not: fig5a-gap (At p99.99 IODA is \
             at most 1.09 times as slow as Ideal)."
        );
        comparison.claims[0].holds = false;
        assert!(said(&comparison).contains("These do not: fig5a-order ("));
        comparison.claims.iter_mut().for_each(|claim| claim.holds = true);
        assert_eq!(said(&comparison), "All 2 claims hold here.");
    }

    #[test]
    fn an_empty_comparison_says_nothing() {
        assert_eq!(findings(&Comparison::default()), []);
    }
}
