//! The tables of the page, which carry every number that the plots show.

use super::escape::text;
use crate::costs::{self, Cell};
use crate::document::{busy_members_shown, flushes_make_busy, percent, percent_from};
use crate::intervals::{self, Ratios};
use crate::{Assertion, Claim, Comparison, Latency, Run, Verdict, format, hosts};

/// Read latency by percentile with its ratios to Ideal and Floor, one row per policy.
pub(super) fn latency(comparison: &Comparison) -> String {
    let yardsticks: Vec<&Run> = comparison.yardsticks().collect();
    let mut percentiles: Vec<f64> = comparison
        .runs
        .iter()
        .flat_map(|run| &run.read.percentiles)
        .map(|entry| entry.percentile)
        .collect();
    percentiles.sort_by(f64::total_cmp);
    percentiles.dedup();
    if percentiles.is_empty() {
        return String::new();
    }
    let mut header: Vec<String> = vec!["policy".to_owned(), "mean".to_owned()];
    header.extend(percentiles.iter().map(|&p| format::percentile(p)));
    header.push("max".to_owned());
    let rows = comparison
        .runs
        .iter()
        .map(|run| {
            let with_ratio = |us: f64, of: &dyn Fn(&Run) -> Option<f64>| {
                let of = yardsticks.iter().filter_map(|run| of(run).filter(|&us| us > 0.0));
                let ratios: String = of
                    .map(|of| format!("<span class=\"ratio\">{}</span>", format::ratio(us / of)))
                    .collect();
                format::latency(us) + &ratios
            };
            let mut cells = vec![with_ratio(run.read.mean_us, &|of| Some(of.read.mean_us))];
            cells.extend(percentiles.iter().map(|&p| {
                let of = |of: &Run| of.read.at(p).map(|entry| entry.value_us);
                run.read.at(p).map_or_else(
                    || "–".to_owned(),
                    |entry| mark(&with_ratio(entry.value_us, &of), entry),
                )
            }));
            cells.push(with_ratio(run.read.max_us, &|of| Some(of.read.max_us)));
            (run.name().to_owned(), cells)
        })
        .collect::<Vec<_>>();
    let ratios = Comparison::ratios_to(&yardsticks);
    let beneath = ratios.map_or(String::new(), |ratios| format!(" Beneath each: the {ratios}."));
    section(
        "latency",
        "Read latency",
        &format!(
            "The latency below which the given percentage of reads stayed, counted from the \
             intended arrival.{beneath} A mark (~) and grey italics: fewer than 100 samples lie \
             beyond, so do not rely on it."
        ),
        &(table("Read latency", &header, &rows)
            + &writes(comparison)
            + &slowest(comparison)
            + &by_host(comparison)),
    )
}

/// Ratios of read latencies with their intervals, a table for each run that others are compared
/// with.
pub(super) fn intervals(comparison: &Comparison) -> String {
    let tables: String = intervals::tables(&comparison.runs)
        .into_iter()
        .map(|Ratios { to, names, rows }| {
            let title = format!("Ratio to {to}");
            let header: Vec<String> = std::iter::once("policy".to_owned()).chain(names).collect();
            let rows: Vec<(String, Vec<String>)> = rows
                .into_iter()
                .map(|(run, cells)| {
                    let cells = cells.iter().map(|cell| text(&cell.text()));
                    (run, cells.collect())
                })
                .collect();
            format!("<h3>{}</h3>\n{}", text(&title), table(&title, &header, &rows))
        })
        .collect();
    if tables.is_empty() {
        return String::new();
    }
    let reasons: String = intervals::reasons(&comparison.runs)
        .iter()
        .map(|reason| format!("<p class=\"note\">~ {}</p>\n", text(reason)))
        .collect();
    section(
        "intervals",
        "How sure the ratios are",
        "Read latency as a multiple of that of another run, with the interval in which the ratio lies with a \
         confidence of 95 %: from drawing blocks of the run again and again. It says how much the ratio would \
         vary with another stretch of the same workload, not whether the model of the drive is right.",
        &(tables + &reasons),
    )
}

/// The same host by host, if there were several.
fn by_host(comparison: &Comparison) -> String {
    let rows = hosts::rows(&comparison.runs);
    if rows.is_empty() {
        return String::new();
    }
    let names = comparison.runs.iter().map(|run| run.name().to_owned());
    let header: Vec<String> = std::iter::once("host".to_owned()).chain(names).collect();
    format!("<h3>By host</h3>{}", table("Latency by host", &header, &rows))
}

/// What requests take that need several arrays, if that was asked for.
fn slowest(comparison: &Comparison) -> String {
    let runs = &comparison.runs;
    let Some(asked) =
        runs.iter().find_map(|run| run.read.slowest.as_ref().or(run.write.slowest.as_ref()))
    else {
        return String::new();
    };
    let mut header = vec!["policy".to_owned()];
    for what in ["reads", "writes"] {
        let percentiles = asked.percentiles.iter();
        header
            .extend(percentiles.map(|of| format!("{what}, {}", format::percentile(of.percentile))));
    }
    let cells = |latency: &Latency| -> Vec<String> {
        match &latency.slowest {
            None => vec!["–".to_owned(); asked.percentiles.len()],
            Some(slowest) => {
                let percentiles = slowest.percentiles.iter();
                percentiles.map(|entry| mark(&format::latency(entry.value_us), entry)).collect()
            }
        }
    };
    let row = |run: &Run| (run.name().to_owned(), [cells(&run.read), cells(&run.write)].concat());
    let rows: Vec<(String, Vec<String>)> = runs.iter().map(row).collect();
    let title = format!("The slowest of {} requests, each of an array of its own", asked.arrays);
    format!("<h3>{title}</h3>{}", table(&title, &header, &rows))
}

fn writes(comparison: &Comparison) -> String {
    if comparison.runs.iter().all(|run| run.write.count == 0) {
        return String::new();
    }
    let percentiles = [50.0, 95.0, 99.0, 99.9, 99.99];
    let mut header = vec!["policy".to_owned(), "mean".to_owned()];
    header.extend(percentiles.map(format::percentile));
    header.push("max".to_owned());
    let rows = comparison
        .runs
        .iter()
        .map(|run| {
            let mut cells = vec![format::latency(run.write.mean_us)];
            cells.extend(percentiles.map(|p| {
                run.write.at(p).map_or_else(
                    || "–".to_owned(),
                    |entry| mark(&format::latency(entry.value_us), entry),
                )
            }));
            cells.push(format::latency(run.write.max_us));
            (run.name().to_owned(), cells)
        })
        .collect::<Vec<_>>();
    format!("<h3>Write latency</h3>\n{}", table("Write latency", &header, &rows))
}

/// Marks a percentile that has few samples beyond it.
fn mark(cell: &str, entry: &crate::Percentile) -> String {
    if !entry.has_few_samples() {
        return cell.to_owned();
    }
    let beyond = format::count(entry.samples_beyond);
    format!("<span class=\"few\" title=\"only {beyond} samples lie beyond\">{cell}</span>")
}

/// Stripe reads by the number of busy members and of members that failed fast.
pub(super) fn busy(comparison: &Comparison) -> String {
    let runs = &comparison.runs;
    let shown = busy_members_shown(runs);
    if shown == 0 {
        return String::new();
    }
    let flushes = flushes_make_busy(runs);
    let header: Vec<String> = std::iter::once("policy".to_owned())
        .chain(["stripe reads".to_owned()])
        .chain((1..=shown).map(|n| format!("{n} busy")))
        .chain((1..=shown).map(|n| format!("{n} met")))
        .chain(flushes.then(|| "2+ collect".to_owned()))
        .collect();
    let rows: Vec<(String, Vec<String>)> = runs
        .iter()
        .map(|run| {
            let mut cells = vec![format::count(run.stripe_reads)];
            for counts in [&run.busy_sub_ios_per_stripe_read, &run.met_sub_ios_per_stripe_read] {
                let all = counts.iter().sum();
                cells.extend((1..=shown).map(|n| {
                    let count = counts.get(n).copied().unwrap_or(0);
                    let exact = format::count(count);
                    format!(
                        "<span title=\"{exact}\">{}</span>",
                        format::percent(percent(count, all))
                    )
                }));
            }
            if flushes {
                let several = percent_from(&run.collecting_sub_ios_per_stripe_read, 2);
                cells.push(format::percent(several));
            }
            (run.name().to_owned(), cells)
        })
        .collect();
    numbers("busy", "Busy members per stripe read", &header, &rows)
}

/// The split by cause of every policy at every recorded percentile, in percent.
pub(super) fn causes(comparison: &Comparison) -> String {
    let splits = comparison.runs.iter().flat_map(|run| &run.causes);
    let Some(first) = splits.clone().next() else { return String::new() };
    let names: Vec<&String> = first.parts_us.iter().map(|(name, _)| name).collect();
    let header: Vec<String> = ["policy", "percentile", "latency"]
        .into_iter()
        .map(str::to_owned)
        .chain(names.iter().map(|name| (*name).clone()))
        .collect();
    let rows: Vec<(String, Vec<String>)> = comparison
        .runs
        .iter()
        .flat_map(|run| run.causes.iter().map(move |split| (run, split)))
        .map(|(run, split)| {
            let mut cells =
                vec![format::percentile(split.percentile), format::latency(split.latency_us)];
            cells.extend(names.iter().map(|&name| {
                let us: f64 =
                    split.parts_us.iter().filter(|part| part.0 == *name).map(|part| part.1).sum();
                let share =
                    if split.latency_us > 0.0 { 100.0 * us / split.latency_us } else { 0.0 };
                format!("<span title=\"{}\">{}</span>", format::latency(us), format::percent(share))
            }));
            (run.name().to_owned(), cells)
        })
        .collect();
    numbers("causes", "Causes of delay", &header, &rows)
}

/// Throughput, extra work and wear.
pub(super) fn costs(comparison: &Comparison) -> String {
    if comparison.runs.is_empty() {
        return String::new();
    }
    let wear: [(&str, Cell); 4] = [
        ("collections", |run| format::count(run.collections)),
        ("erases", |run| format::count(run.erases)),
        ("drive reads", |run| format::count(run.device_reads)),
        ("drive writes", |run| format::count(run.device_writes)),
    ];
    let mut columns = costs::rows(&comparison.runs);
    columns.extend(wear);
    let mut header = vec!["policy".to_owned()];
    header.extend(columns.iter().map(|(name, _)| (*name).to_owned()));
    header.push("contract violations".to_owned());
    let rows: Vec<(String, Vec<String>)> = comparison
        .runs
        .iter()
        .map(|run| {
            let mut cells: Vec<String> = columns.iter().map(|(_, cell)| cell(run)).collect();
            cells.push(alarm(run.contract_violations));
            (run.name().to_owned(), cells)
        })
        .collect();
    section(
        "costs",
        "Throughput and cost in numbers",
        "Blocked reads are reads of the host that waited for a collection, or for I/O that a \
         collection had held up. Extra reads are reads of drives made only because of the policy, per hundred that were \
         needed anyway. WAF is write amplification: pages of flash that the drives programmed, parity and copies \
         included, per page that the array wrote to them, and per page that the host wrote to the array. A contract violation \
         is a collection that a drive had to run in its predictable window. Only where they occur: \
         the busy window at the end and how often it changed; lease messages, by which the host \
         granted, extended or took back the right to collect; suspensions, programs and erases that \
         were interrupted for reads; scrubbed pages, copies past error correction that drives \
         checked in idle time; coalesced writes, pages overwritten \
         in a drive's write buffer that never reached flash; forced flushes, pages flushed outside \
         of the busy window because the buffer was full; of parity within the drives (RAIN), its \
         programs, pages of the host that were computed from the rest of their stripe, what was \
         read for parity and for them, and rotation breaches, collections beside another of their \
         plane group.",
        &table("Throughput and cost", &header, &rows),
    )
}

/// A count that should be zero.
fn alarm(count: u64) -> String {
    let shown = format::count(count);
    if count == 0 { shown } else { format!("<strong class=\"alarm\">{shown}</strong>") }
}

/// Conditions on the results with what became of them.
pub(super) fn assertions(assertions: &[Assertion]) -> String {
    if assertions.is_empty() {
        return String::new();
    }
    let row = |assertion: &Assertion| {
        let (class, verdict) = match assertion.verdict {
            Verdict::Holds => ("holds", "✓ ok"),
            Verdict::Fails => ("fails", "✗ failed"),
            Verdict::NotEnough => ("few-samples", "? not enough"),
        };
        format!(
            "<tr><td class=\"{class}\">{verdict}</td><td>{}</td><td>{}</td></tr>\n",
            text(&assertion.condition),
            text(&assertion.sentence)
        )
    };
    let rows: String = assertions.iter().map(row).collect();
    let header = ["verdict", "assertion", "found"]
        .map(|name| format!("<th scope=\"col\">{name}</th>"))
        .concat();
    section(
        "assertions",
        "Assertions",
        "Not enough: fewer than 100 samples lie beyond the percentile or in the mean, so the assertion neither holds \
         nor fails.",
        &scroll(
            "Assertions",
            &format!(
                "<table class=\"words\">{}\n<thead><tr>{header}</tr></thead>\n<tbody>{rows}</tbody></table>",
                caption("Assertions")
            ),
        ),
    )
}

/// The claims of an article with both numbers and the verdict.
pub(super) fn claims(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let rows: String = claims
        .iter()
        .map(|claim| {
            let (class, verdict) =
                if claim.holds { ("holds", "✓ holds") } else { ("fails", "✗ does not hold") };
            let noise = if claim.within_noise { ", within noise" } else { "" };
            let Claim { figure, statement, limit, ours, note, .. } = claim;
            let article = claim.article_or_ours();
            let cells = [figure, statement, article, limit, ours, note];
            let cells: String = cells.map(|cell| format!("<td>{}</td>", text(cell))).concat();
            format!(
                "<tr id=\"claim-{}\"><td class=\"{class}\">{verdict}{noise}</td>{cells}</tr>\n",
                text(&claim.id)
            )
        })
        .collect();
    let header = ["verdict", "figure", "claim", "article", "limit", "ours", "note"]
        .map(|name| format!("<th scope=\"col\">{name}</th>"))
        .concat();
    section(
        "claims",
        "Claims",
        "A claim holds if its shape does: the order of policies, a ratio to Ideal, a zero. \
         Absolute latencies depend on the machine and the drive model and are not compared. Within noise: the \
         limit lies in the 95 % interval of our number, so another stretch of the same workload might be \
         judged otherwise.",
        &scroll(
            "Claims",
            &format!(
                "<table class=\"words\">{}\n<thead><tr>{header}</tr></thead>\n\
                 <tbody>{rows}</tbody></table>",
                caption("Claims")
            ),
        ),
    )
}

/// The drives one by one.
pub(super) fn drives(comparison: &Comparison) -> String {
    let header = ["policy", "drive", "WAF", "erases", "collections", "free", "contract violations"]
        .map(str::to_owned);
    let rows: Vec<(String, Vec<String>)> = comparison
        .runs
        .iter()
        .flat_map(|run| run.drives.iter().map(move |drive| (run, drive)))
        .map(|(run, drive)| {
            let cells = vec![
                drive.drive.to_string(),
                format::three_digits(drive.write_amplification),
                format::count(drive.erases),
                format::count(drive.collections),
                format::percent(100.0 * drive.free_share),
                alarm(drive.contract_violations),
            ];
            (run.name().to_owned(), cells)
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    numbers("drives", "The drives one by one", &header, &rows)
}

/// A table that is folded away: the numbers behind a plot.
fn numbers(id: &str, title: &str, header: &[String], rows: &[(String, Vec<String>)]) -> String {
    format!(
        "<details class=\"numbers\" id=\"numbers-{id}\"><summary>Numbers: {title}</summary>\n\
         {}</details>",
        table(title, header, rows)
    )
}

pub(super) fn section(id: &str, title: &str, explanation: &str, content: &str) -> String {
    format!("<section id=\"{id}\">\n<h2>{title}</h2>\n<p>{explanation}</p>\n{content}</section>")
}

/// What a table is, for those who hear the page.
pub(super) fn caption(name: &str) -> String {
    format!("<caption class=\"unseen\">{}</caption>", text(name))
}

/// A box that scrolls sideways where `content` is wider than the page; a script says so then.
pub(super) fn scroll(name: &str, content: &str) -> String {
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{content}</div>\n",
        text(name)
    )
}

/// A table whose first column is text from the document and whose other cells are markup.
pub(super) fn table(name: &str, header: &[String], rows: &[(String, Vec<String>)]) -> String {
    let header: String =
        header.iter().map(|name| format!("<th scope=\"col\">{}</th>", text(name))).collect();
    let rows: String = rows
        .iter()
        .map(|(name, cells)| {
            let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
            format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", text(name))
        })
        .collect();
    scroll(
        name,
        &format!(
            "<table>{}\n<thead><tr>{header}</tr></thead>\n<tbody>\n{rows}</tbody></table>",
            caption(name)
        ),
    )
}
