//! Measurements from outside: whatever a file holds, it is a curve or one sentence.

use ioda_study::fit::{MeasuredCurve, ModelPoint, Quantiles, load_of_fio, to_csv};
use proptest::prelude::*;

/// Lines that are nearly a table of percentiles.
fn nearly_a_table() -> impl Strategy<Value = String> {
    let column = prop_oneof![
        Just("writes_per_second"),
        Just("achieved_per_second"),
        Just("read_p50"),
        Just("read_p99.9"),
        Just("write_p50"),
        Just("write_p99.999"),
        Just("read_pNaN"),
        Just(""),
    ];
    let cell = prop_oneof![
        Just(String::new()),
        Just(String::from("NaN")),
        Just(String::from("inf")),
        Just(String::from("-1")),
        (1u32..1_000_000).prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
    ];
    let cells = prop::collection::vec(cell, 0..6);
    (prop::collection::vec(column, 0..6), prop::collection::vec(cells, 0..6)).prop_map(
        |(columns, lines)| {
            let lines = lines.into_iter().map(|cells| cells.join(","));
            std::iter::once(columns.join(",")).chain(lines).collect::<Vec<_>>().join("\n")
        },
    )
}

/// Text that is nearly an output of fio.
fn nearly_fio() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("writers-30000"),
        Just("writers-"),
        Just("writers-NaN"),
        Just("writers-1e999"),
        Just("probe"),
        Just("other"),
    ];
    let number = prop_oneof![Just(0.0), Just(-1.0), 0.0..1e6f64, Just(1e300)];
    let percentile = prop_oneof![Just("50.000000"), Just("99.900000"), Just("NaN"), Just("x")];
    let direction = (number.clone(), number.clone(), 0u64..10_000_000, percentile, number)
        .prop_map(|(iops, stddev, total, percentile, nanos)| {
            format!(
                r#"{{"iops":{iops},"iops_stddev":{stddev},"total_ios":{total},
                "lat_ns":{{"percentile":{{"{percentile}":{nanos}}}}}}}"#
            )
        });
    let job =
        (name, -1i64..2, direction.clone(), direction).prop_map(|(name, error, read, write)| {
            format!(r#"{{"jobname":"{name}","error":{error},"read":{read},"write":{write}}}"#)
        });
    prop::collection::vec(job, 0..4).prop_map(|jobs| format!(r#"{{"jobs":[{}]}}"#, jobs.join(",")))
}

/// A failure is one sentence.
fn is_one_sentence(said: &str) -> bool {
    !said.is_empty() && said.lines().count() == 1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn tables_are_curves_or_one_sentence(text in nearly_a_table()) {
        match MeasuredCurve::from_csv(&text) {
            Ok(curve) => prop_assert!(curve.loads().iter().all(|load| load.reads.0[0].is_some())),
            Err(failure) => prop_assert!(is_one_sentence(&failure.to_string()), "{}", failure),
        }
    }

    #[test]
    fn outputs_of_fio_are_loads_or_one_sentence(text in nearly_fio(), cut in 0usize..2_000) {
        let end = if cut % 3 == 0 { cut.min(text.len()) } else { text.len() };
        match load_of_fio("load.json", &text[..end]) {
            Ok(load) => prop_assert!(load.writes_per_second > 0.0 && load.writes_per_second.is_finite()),
            Err(failure) => prop_assert!(is_one_sentence(&failure.to_string()), "{}", failure),
        }
    }

    #[test]
    fn a_curve_survives_its_file(medians in prop::collection::vec((1.0..1e5f64, 1.0..1e5f64), 3..8)) {
        let points: Vec<ModelPoint> = medians.iter().zip(1u32..).map(|(&(read, write), number)| {
            let quantiles = |median: f64| Quantiles([Some(median), Some(median * 2.0), None, None, None, None]);
            ModelPoint {
                offered_per_second: f64::from(number) * 1_000.0,
                writes_per_second: f64::from(number) * 1_000.0 + 5_000.0,
                write_amplification: 1.0,
                reads: quantiles(read),
                writes: quantiles(write),
            }
        }).collect();
        let curve = MeasuredCurve::from_csv(&to_csv(&points)).unwrap_or_else(|failure| panic!("{failure}"));
        for (load, point) in curve.loads().iter().zip(&points) {
            prop_assert_eq!(load.writes_per_second, point.offered_per_second);
            let [Some(read), ..] = load.reads.0 else { panic!("a median is lost: {load:?}") };
            prop_assert!((read - point.reads.0[0].unwrap_or(0.0)).abs() <= 0.051);
        }
    }
}
