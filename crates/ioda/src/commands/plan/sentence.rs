//! Verdicts in words: what holds, why not, and what to change.

use super::answer::{Answer, Judged};
use report::{Finding, Weight};
use ssd::{Outlook, Reason, Verdict};
use study::metric::three_digits;
use units::{Duration, MIB};

/// The smallest load in bytes per second that is worth advising.
const LOAD_LEAST: f64 = 1e4;

/// Bytes per second as the article counts them.
pub(crate) fn rate(bytes_per_second: f64) -> String {
    format!("{} MiB/s", three_digits(bytes_per_second / MIB as f64))
}

/// The array in words.
pub(crate) fn array(answer: &Answer) -> String {
    let question = &answer.question;
    let busy = match question.array.busy_drives() {
        1 => "one busy at a time".to_owned(),
        several => format!("{several} busy at a time"),
    };
    let guard = match question.guard.is_zero() {
        true => String::new(),
        false => format!(", guards of {}", question.guard),
    };
    let name = &answer.config().name;
    format!("{name}: {} of {} drives, {busy}{guard}", question.level.name(), question.array.width)
}

/// The verdict under one load.
pub(crate) fn verdict(answer: &Answer, judged: &Judged) -> String {
    let outlook = &judged.outlook;
    let load = outlook.promise.load_bytes_per_second;
    let head = format!("{} ({}, {})", judged.load, rate(load), daily(answer, load));
    let body = match outlook.verdict {
        Verdict::Holds => holds(outlook),
        Verdict::Bursts { lasts } => bursts(answer, outlook, lasts),
        Verdict::Fails(reason) => fails(answer, judged, reason),
    };
    let simulated = judged.simulated.map_or(String::new(), |one| format!(" {}", one.sentence()));
    format!("{head}: {body}{}{simulated}", beyond(answer, judged))
}

fn daily(answer: &Answer, load: f64) -> String {
    format!("{} DWPD", three_digits(load / answer.config().bytes_per_second(1.0)))
}

fn range(outlook: &Outlook) -> String {
    format!("windows of {} to {}", outlook.shortest, outlook.longest)
}

fn window(outlook: &Outlook) -> Duration {
    outlook.window.unwrap_or(outlook.longest)
}

fn holds(outlook: &Outlook) -> String {
    format!(
        "holds for ever. In windows of {} each drive reclaims up to {}; {} keep the contract for \
         a cycle.",
        window(outlook),
        rate(outlook.sustainable_bytes_per_second),
        range(outlook)
    )
}

fn bursts(answer: &Answer, outlook: &Outlook, lasts: Duration) -> String {
    let most = outlook.sustainable_bytes_per_second;
    format!(
        "holds for one burst of {lasts}, but not in steady state: {} keep the contract for a cycle from \
         rest, yet windows of {} reclaim no more than {} ({}).",
        range(outlook),
        window(outlook),
        rate(most),
        daily(answer, most)
    )
}

fn fails(answer: &Answer, judged: &Judged, reason: Reason) -> String {
    let outlook = &judged.outlook;
    let guards = if answer.question.guard.is_zero() { "" } else { " with its guards" };
    let collection = format!("one collection{guards} is likely to take {}", outlook.shortest);
    let why = match reason {
        Reason::NoWindow => format!(
            "{collection}, but the space lasts for windows of no more than {}{}",
            outlook.longest,
            article(answer, outlook)
        ),
        Reason::TooShort => format!("{collection}, more than the window of {}", window(outlook)),
        Reason::TooLong => format!(
            "in windows of {} the space is used up before the cycle is over; it lasts for windows \
             of no more than {}",
            window(outlook),
            outlook.longest
        ),
    };
    format!("fails: {why}. {}", change(answer, judged, reason))
}

/// That not even the article's own lower bound fits, if so.
fn article(answer: &Answer, outlook: &Outlook) -> String {
    let config = answer.config();
    let collection = config.unit_time(config.contract.valid_ratio);
    match collection > outlook.longest {
        true => format!(", less than even the article's lower bound, T_gc of {collection}"),
        false => String::new(),
    }
}

/// What to change, each alone.
fn change(answer: &Answer, judged: &Judged, reason: Reason) -> String {
    let (outlook, advice) = (&judged.outlook, &judged.advice);
    let mut ways = Vec::new();
    if reason != Reason::NoWindow && outlook.shortest <= outlook.longest {
        ways.push(range(outlook));
    }
    if outlook.promise.load_bytes_per_second > advice.load_bytes_per_second {
        let load = advice.load_bytes_per_second;
        ways.extend(
            (load >= LOAD_LEAST)
                .then(|| format!("a load of at most {} ({})", rate(load), daily(answer, load))),
        );
        ways.extend(advice.width.map(|width| format!("at most {width} drives")));
        ways.extend(
            advice
                .usable_share
                .map(|share| format!("a usable share of {:.1}%", (share * 1e3).ceil() / 10.0)),
        );
        ways.extend(
            advice
                .over_provisioning
                .map(|share| format!("over-provisioning of {:.0}%", (share * 100.0).ceil())),
        );
        ways.extend(
            advice
                .busy_drives
                .map(|drives| format!("{drives} drives busy at once, with as many parities")),
        );
    }
    match ways.as_slice() {
        [] => "Nothing that can be set helps: choose other drives.".to_owned(),
        [only] => format!("What would help: {only}."),
        [first @ .., last] => {
            format!("Any one of these would help: {}, or {last}.", first.join(", "))
        }
    }
}

/// A remark if the load is more than the flash can take in.
fn beyond(answer: &Answer, judged: &Judged) -> String {
    let (Some(factor), Some(at_flash)) = (judged.outlook.beyond_flash, judged.at_flash) else {
        return String::new();
    };
    let flash = answer.config().program_bytes_per_second();
    let there = match at_flash.verdict {
        Verdict::Fails(_) => "for it no window will do either".to_owned(),
        Verdict::Holds | Verdict::Bursts { .. } => {
            format!("for it {} would do", range(&at_flash))
        }
    };
    format!(
        " The load is {} times what the dies can program, {}; a host that waits for its writes \
         cannot send more than that: {there}.",
        three_digits(factor),
        rate(flash)
    )
}

/// The verdicts for the page.
pub(crate) fn findings(answers: &[Answer]) -> Vec<Finding> {
    let lines = |answer: &Answer| -> Vec<Finding> {
        let line = |judged: &Judged| Finding {
            weight: match judged.outlook.verdict {
                Verdict::Fails(_) => Weight::Warning,
                Verdict::Holds | Verdict::Bursts { .. } => Weight::Result,
            },
            text: format!(
                "{} × {}, {}",
                answer.question.array.width,
                answer.config().name,
                verdict(answer, judged)
            ),
        };
        answer.judged.iter().map(line).collect()
    };
    answers.iter().flat_map(lines).collect()
}

/// A verdict in a word or two.
pub(crate) fn word(verdict: Verdict) -> String {
    match verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::Bursts { lasts } => format!("burst {lasts}"),
        Verdict::Fails(_) => "fails".to_owned(),
    }
}
