//! Tests that intervals contain the true value, on processes with a known quotient.

use super::latencies::Cell;
use super::*;
use units::{Duration, Rng};

/// Number of requests of a process, and of each block.
const REQUESTS: usize = 40_000;
const BLOCKS: usize = 40;
const SEEDS: u64 = 200;

/// Draws approximately from a normal distribution: the sum of twelve uniform draws.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit_f64()).sum::<f64>() - 6.0
}

/// Two runs under one seed. Latencies are log-normal. A slowly changing load is common to both;
/// each run has its own stalls, some forty of about a hundred requests each. Both have one
/// distribution, but latencies of the second are `quotient` times as long.
fn runs(seed: u64, quotient: f64) -> [BlockLatencies; 2] {
    let mut common = Rng::stream(seed, "load");
    let mut own = [Rng::stream(seed, "first"), Rng::stream(seed, "second")];
    let mut cells = [const { Vec::new() }; 2];
    let (mut load, mut stalled) = (normal(&mut common), [false; 2]);
    for request in 0..REQUESTS {
        // A step of an autoregressive process with a deviation of one.
        load = load * 0.99 + normal(&mut common) * (1.0 - 0.99_f64.powi(2)).sqrt();
        let run = cells.iter_mut().zip(&mut own).zip(&mut stalled).zip([1.0, quotient]);
        for (((cells, rng), stalled), times) in run {
            let change = if *stalled { 1.0 / 100.0 } else { 1.0 / 1_000.0 };
            *stalled ^= rng.unit_f64() < change;
            let stall = if *stalled { 1.0 } else { 0.0 };
            let nanos = times * 1e5 * (0.3 * load + 0.3 * normal(rng) + stall).exp();
            if cells.len() <= request / (REQUESTS / BLOCKS) {
                cells.push(Cell::default());
            }
            cells[request / (REQUESTS / BLOCKS)].record(Duration::from_nanos(nanos as u64));
        }
    }
    cells.map(|cells| BlockLatencies::new(&cells))
}

/// Value and interval of the quotient of the second run over the first.
fn quotient(runs: &[BlockLatencies; 2], percentile: Option<f64>, paired: bool) -> (f64, Interval) {
    let streams = if paired { ["same", "same"] } else { ["one", "another"] };
    let [first, second] = [0, 1].map(|n| {
        Resampled::latency(&runs[n], percentile, 1, streams[n]).expect("there is enough of it")
    });
    let once = [1; BLOCKS];
    let [to, of] = [&runs[0], &runs[1]].map(|run| match percentile {
        Some(percentile) => run.weighed_percentile(percentile, &once),
        None => run.weighed_sum(&once) / run.weighed_count(&once) as f64,
    });
    (of / to, second.over(&first).interval(of / to).expect("nothing is zero"))
}

#[test]
fn intervals_hold_a_known_quotient_about_as_often_as_they_say() {
    let truth = 1.25;
    let runs: Vec<_> = (0..SEEDS).map(|seed| runs(seed, truth)).collect();
    for percentile in [None, Some(50.0), Some(95.0), Some(99.0)] {
        for paired in [true, false] {
            let held =
                runs.iter().filter(|runs| quotient(runs, percentile, paired).1.contains(truth));
            let share = held.count() as f64 / SEEDS as f64;
            assert!(share >= 0.88, "{percentile:?}, paired {paired}: {share}");
            // An interval that always contains the value would be useless. Unpaired draws are too
            // careful here.
            assert!(share < 1.0 || !paired, "{percentile:?}: {share}");
        }
    }
}

#[test]
fn what_is_common_to_two_runs_cancels() {
    let width = |paired| -> f64 {
        let width = |seed| {
            let (_, interval) = quotient(&runs(seed, 1.25), Some(50.0), paired);
            interval.high - interval.low
        };
        (0..10).map(width).sum()
    };
    assert!(width(true) < 0.8 * width(false), "{} and {}", width(true), width(false));
}

#[test]
fn intervals_are_the_same_each_time_and_hold_their_figure() {
    let [first, _] = runs(1, 1.0);
    let resampled = || Resampled::latency(&first, Some(99.0), 7, "x").unwrap();
    assert_eq!(resampled(), resampled());
    let itself = resampled().over(&resampled()).interval(1.0).unwrap();
    assert_eq!(itself, Interval { low: 1.0, high: 1.0 }, "a run is as long as itself");
    for figure in [1e4, 1e9] {
        assert!(resampled().interval(figure).unwrap().contains(figure));
    }
    assert_eq!(resampled().interval(f64::NAN), Err(NoInterval::Undefined));
    let twice = Resampled::mean(&[resampled(), resampled()]).unwrap();
    assert_eq!(twice, resampled());
    assert_eq!(Resampled::mean(&[]), None);
}

#[test]
fn where_there_is_too_little_nothing_is_said() {
    let [first, _] = runs(1, 1.0);
    let says = |percentile| Resampled::latency(&first, Some(percentile), 1, "x").map(drop);
    assert_eq!(says(99.0), Ok(()));
    let few = says(99.9).unwrap_err();
    assert_eq!(few.to_string(), "fewer than 100 requests lie above p99.9");
    let cell = |of: &[(u64, usize)]| {
        let mut cell = Cell::default();
        for &(micros, times) in of {
            (0..times).for_each(|_| cell.record(Duration::from_micros(micros)));
        }
        cell
    };
    let mut cells = vec![cell(&[(100, 1_000)]); 30];
    cells[3] = cell(&[(100, 500), (9_000, 500)]);
    let stall = BlockLatencies::new(&cells);
    let clustered = Resampled::latency(&stall, Some(99.0), 1, "x").unwrap_err();
    assert_eq!(clustered, NoInterval::Clustered { percentile: 99.0 });
    assert!(Resampled::latency(&stall, None, 1, "x").is_ok());
    // A thousand requests in each eighth of a second.
    let rate = Resampled::rate(&stall, Duration::from_millis(125), 1, "x").unwrap();
    assert_eq!(rate.interval(8_000.0), Ok(Interval { low: 8_000.0, high: 8_000.0 }));
    let short = BlockLatencies::new(&cells[..FEWEST_BLOCKS - 1]);
    assert_eq!(Resampled::latency(&short, None, 1, "x"), Err(NoInterval::FewBlocks));
    assert_eq!(Resampled::rate(&short, Duration::from_secs(1), 1, "x"), Err(NoInterval::FewBlocks));
}
