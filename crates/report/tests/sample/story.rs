//! An invented life of a request.

use ioda_report::story::{Activity, Lane, Part, Sentence, Span, Story};

/// A read that fails fast and is reconstructed, with one drive of those that it asks.
#[must_use]
pub(crate) fn story() -> Story {
    let text = |line: &str| line.to_owned();
    let part = |us: f64, name: &str| Part { name: text(name), us };
    let span = |from_us: f64, until_us: f64, activity: Activity| Span {
        from_us,
        until_us,
        activity,
        label: text("</title><script>document.documentElement.dataset.error='ran'</script>"),
    };
    let lane =
        |name: &str, nested: bool, spans: Vec<Span>| Lane { name: text(name), nested, spans };
    Story {
        title: text("request 7 under IODA: a read of 4 KiB"),
        policy: text("ioda"),
        label: text("IODA"),
        facts: vec![(text("workload"), text("tpcc")), (text("seed"), text("1"))],
        latency_us: 44.0,
        chain: vec![part(1.0, "drive 2: fails fast"), part(43.0, "drive 1: reads & computes")],
        causes: vec![part(1.0, "fail-fast round trip"), part(43.0, "rebuild")],
        lanes: vec![
            lane("host", false, vec![span(0.0, 1.0, Activity::FailFast)]),
            lane("drive 2", false, vec![span(0.0, 1.0, Activity::FailFast)]),
            lane(
                "die 1",
                true,
                vec![
                    span(-6160.0, -1.0, Activity::CollectionCopy),
                    span(-1.0, 44.0, Activity::CollectionErase),
                ],
            ),
        ],
        dies_left_out: 2,
        sentences: vec![
            Sentence { at_us: 0.0, text: text("request 7 arrives") },
            Sentence { at_us: 44.0, text: text("done in 44 µs") },
        ],
    }
}
