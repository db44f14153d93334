//! The windows over the width of the array and over the load.

use super::answer::Answer;
use nvme::ArrayDescription;
use report::{AskedLoad, WindowCurve};

/// Widths of the article's Figure 4a.
const WIDTHS: std::ops::RangeInclusive<u32> = 4..=24;
/// Points of a curve over the load, and the smallest load in drive writes per day.
const STEPS: u32 = 64;
const LEAST_DAILY: f64 = 1.0;

/// `TW_burst` by the article's formula over the number of drives (IODA Figure 4a).
pub(crate) fn by_width(answer: &Answer) -> WindowCurve {
    let array = answer.question.array;
    let least = array.busy_drives() + 2;
    let point = |width: u32| {
        let window = answer.config().burst_window(ArrayDescription { width, ..array })?;
        Some((f64::from(width), window.as_millis_f64()))
    };
    let widths = WIDTHS.filter(|width| *width >= least);
    curve(answer, widths.filter_map(point).collect(), f64::from(array.width))
}

/// The bound that always holds, guards included, over the load in drive writes per day.
pub(crate) fn by_load(answer: &Answer) -> WindowCurve {
    let config = answer.config();
    let daily = config.bytes_per_second(1.0);
    let asked: Vec<AskedLoad> = answer
        .judged
        .iter()
        .map(|judged| AskedLoad {
            name: judged.load.to_string(),
            at: judged.outlook.promise.load_bytes_per_second / daily,
        })
        .filter(|load| load.at >= LEAST_DAILY)
        .collect();
    // As far as what was asked for, so that it has its place on the curve.
    let most = asked
        .iter()
        .map(|load| load.at)
        .fold(config.contract.burst_bytes_per_second / daily, f64::max)
        .max(LEAST_DAILY * 2.0);
    let terms = config.likely_parameters();
    let point = |step: u32| {
        let writes = LEAST_DAILY * (most / LEAST_DAILY).powf(f64::from(step) / f64::from(STEPS));
        let (array, guard) = (answer.question.array, answer.question.guard);
        let window = terms.safe_window(array, writes * daily, guard);
        (writes, window.as_millis_f64())
    };
    let points = (0..=STEPS).map(point).filter(|(_, window)| *window > 0.0).collect();
    WindowCurve { asked, ..curve(answer, points, config.contract.drive_writes_per_day) }
}

fn curve(answer: &Answer, points: Vec<(f64, f64)>, own: f64) -> WindowCurve {
    WindowCurve {
        name: answer.config().name.clone(),
        points,
        shortest_ms: answer.config().shortest_window(answer.question.guard).as_millis_f64(),
        own,
        asked: Vec::new(),
    }
}
