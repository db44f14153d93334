//! Everything as JSON. Units stand at the end of the names; windows that do not exist are null.

use super::answer::{Answer, Judged};
use super::simulated::Simulated;
use super::{curves, sentence};
use crate::settings::DriveSettings;
use serde_json::{Value, json};
use ssd::{Printed, Reason, Verdict};
use units::Duration;

/// The document.
pub(crate) fn of(answers: &[Answer]) -> Value {
    let plans: Vec<Value> = answers.iter().map(plan).collect();
    json!({ "ioda_version": env!("CARGO_PKG_VERSION"), "plans": plans })
}

fn plan(answer: &Answer) -> Value {
    let (question, config) = (&answer.question, answer.config());
    let terms = config.window_parameters();
    let window = |load| terms.longest_window(question.array, load).map(Duration::as_millis_f64);
    let normal = config.normal_bytes_per_second();
    let burst = config.contract.burst_bytes_per_second;
    json!({
        "drive": config.name,
        "raid": question.level.name(),
        "drives": question.array.width,
        "parities": question.parities,
        "busy_drives": question.array.busy_drives(),
        "clock_skew_ms": question.clock_skew.as_millis_f64(),
        "guard_ms": question.guard.as_millis_f64(),
        "window_asked_ms": question.window.map(Duration::as_millis_f64),
        "settings": DriveSettings::full(config),
        "derived": {
            "block_bytes": config.block_bytes(),
            "flash_bytes": config.geometry.raw_bytes(),
            "over_provisioned_bytes": config.over_provisioned_bytes(),
            "usable_share": config.contract.usable_share,
            "usable_bytes": terms.usable_bytes(),
            "watermark_share": config.watermark_share(),
            "watermark_bytes": config.watermark_bytes(),
            "collection_ms": config.unit_time(config.contract.valid_ratio).as_millis_f64(),
            "collection_likely_ms": config.likely_unit_time().as_millis_f64(),
            "collection_worst_ms": config.worst_unit_time().as_millis_f64(),
            "reclaimed_bytes": config.reclaimed_bytes(),
            "collection_bytes_per_second": config.collection_bytes_per_second(),
            "steady_valid_ratio": config.steady_valid_ratio(),
            "steady_write_amplification": config.steady_write_amplification(),
            "drive_writes_per_day": config.contract.drive_writes_per_day,
            "normal_bytes_per_second": normal,
            "burst_bytes_per_second": burst,
            "program_bytes_per_second": config.program_bytes_per_second(),
            "windows_per_cycle": question.array.windows_per_cycle(),
            "tw_norm_ms": window(normal),
            "tw_burst_ms": window(burst),
            "shortest_window_ms": config.shortest_window(question.guard).as_millis_f64(),
        },
        "printed_table": answer.printed.as_ref().map(printed),
        "loads": answer.judged.iter().map(|judged| load(answer, judged)).collect::<Vec<_>>(),
        "tw_burst_ms_by_drives": curves::by_width(answer).points,
        "longest_window_ms_by_dwpd": curves::by_load(answer).points,
    })
}

fn printed(table: &Printed) -> Value {
    json!({
        "block_mib": table.block_mib,
        "flash_gib": table.flash_gib,
        "over_provisioned_gib": table.over_provisioned_gib,
        "collection_ms": table.unit_time_ms,
        "reclaimed_mib": table.reclaimed_mib,
        "collection_mib_per_second": table.collection_mib_per_second,
        "normal_mib_per_second": table.normal_mib_per_second,
        "burst_mib_per_second": table.burst_mib_per_second,
        "tw_norm_ms": table.normal_window_ms,
        "tw_burst_ms": table.burst_window_ms,
    })
}

fn load(answer: &Answer, judged: &Judged) -> Value {
    let (outlook, advice) = (&judged.outlook, &judged.advice);
    let bytes_per_second = outlook.promise.load_bytes_per_second;
    let (verdict, reason, lasts) = match outlook.verdict {
        Verdict::Holds => ("holds", None, None),
        Verdict::Bursts { lasts } => ("burst", None, Some(lasts.as_secs_f64())),
        Verdict::Fails(reason) => ("fails", Some(name(reason)), None),
    };
    let found = judged.simulated.as_ref().and_then(Simulated::found);
    let advice = reason.is_some().then(|| {
        json!({
            "drives": advice.width,
            "load_bytes_per_second": advice.load_bytes_per_second,
            "usable_share": advice.usable_share,
            "over_provisioning": advice.over_provisioning,
            "busy_drives": advice.busy_drives,
        })
    });
    json!({
        "load": judged.load.to_string(),
        "load_bytes_per_second": bytes_per_second,
        "drive_writes_per_day": bytes_per_second / answer.config().bytes_per_second(1.0),
        "times_beyond_flash": outlook.beyond_flash,
        "article_window_ms": outlook.article.map(Duration::as_millis_f64),
        "shortest_window_ms": outlook.shortest.as_millis_f64(),
        "longest_window_ms": outlook.longest.as_millis_f64(),
        "longest_window_at_flash_ms": judged.at_flash.map(|at| at.longest.as_millis_f64()),
        "simulated_window_ms": found.map(|found| found.window.as_millis_f64()),
        "simulated_over_formula": found.map(|found| found.over_formula),
        "simulated_scale": found.map(|found| found.scale.factor),
        "simulated_divisor": found.map(|found| found.scale.divisor),
        "window_ms": outlook.window.map(Duration::as_millis_f64),
        "sustainable_bytes_per_second": outlook.sustainable_bytes_per_second,
        "verdict": verdict,
        "reason": reason,
        "burst_lasts_seconds": lasts,
        "advice": advice,
        "sentence": sentence::verdict(answer, judged),
    })
}

/// The reason as a word.
fn name(reason: Reason) -> &'static str {
    match reason {
        Reason::NoWindow => "no-window",
        Reason::TooShort => "too-short",
        Reason::TooLong => "too-long",
    }
}
