//! Both clocks as tables.

use super::compare::{Direction, signed_percent};
use super::{Pair, Workload};
use study::metric::three_digits;
use study::table;
use units::Duration;

/// The tables of a workload.
pub(crate) fn tables(workload: &Workload) -> String {
    let mut text = format!(
        "{}: {}\n  {:.0} requests per second\n",
        workload.name, workload.description, workload.requests_per_second
    );
    for run in &workload.runs {
        text += &table_of(run);
    }
    text.push('\n');
    text
}

fn time(nanoseconds: u64) -> String {
    Duration::from_nanos(nanoseconds).to_string()
}

fn table_of(run: &Pair) -> String {
    let columns = ["simulated", "live", "difference", "with lateness", "unexplained", "client", ""];
    let header: Vec<String> =
        std::iter::once(run.label.as_str()).chain(columns).map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = [("read", &run.read), ("write", &run.write)]
        .into_iter()
        .flat_map(|(name, direction)| rows(name, direction))
        .collect();
    let (late, sent) = (&run.lateness, &run.sent_late);
    let exact = run.exact.map_or_else(String::new, |exact| {
        format!(
            "  request by request: {} of {} alike, differences {} to {} ns\n",
            exact.alike, exact.requests, exact.smallest_nanoseconds, exact.largest_nanoseconds
        )
    });
    format!(
        "\n{}  drives answered late by {} (p50), {} (p99); the client sent late by {} (p50), {} \
         (p99)\n  the array's thread used {} % of a core; the load began {} after its clock\n{exact}",
        table::numbers_between(&header, &rows, 1, 1),
        time(late.p50_nanoseconds),
        time(late.p99_nanoseconds),
        time(sent.p50_nanoseconds),
        time(sent.p99_nanoseconds),
        three_digits(run.processor_share * 100.0),
        time(run.began_nanoseconds)
    )
}

fn rows(name: &str, direction: &Direction) -> Vec<Vec<String>> {
    let row = |one: &super::Compared| {
        vec![
            format!("{name} p{}", one.percent),
            time(one.simulated_nanoseconds),
            time(one.live_nanoseconds),
            signed_percent(one.difference),
            time(one.expected_nanoseconds),
            signed_percent(one.unexplained),
            time(one.client_nanoseconds),
            String::from(if one.holds() { "" } else { "beyond" }),
        ]
    };
    direction.percentiles.iter().map(row).collect()
}
