//! The array and its drives in words, for the heads of reports.

use crate::failure::Failure;
use crate::values::quantity::{exact_duration, exact_percent};
use crate::values::words::Flush;
use sim::{Coordinate, Plan, Preparation};
use ssd::{
    Allocation, Arbitration, Blocking, CellConfig, CollectionTrigger, Config, PreemptionScope,
    QueueConfig, RainConfig, Rotation, SchedulingConfig, Suspendable, TurnConfig,
};
use units::{Bytes, Duration, Ratio};
use workload::Replayed;

/// What a reader of `trace` should know about its pauses, with the option that closes them.
pub fn gaps(trace: &workload::Trace) -> Option<String> {
    let gaps = trace.gaps();
    let option = if gaps.limit.is_none() { " (--close-gaps 60s)" } else { "" };
    gaps.remark().map(|remark| format!("{remark}{option}"))
}

/// Writes of `trace` that ask for stable storage, and its flushes, with what becomes of them in the
/// simulation.
pub fn durable(trace: &workload::Trace) -> Option<String> {
    asked(trace).map(|asked| {
        format!(
            "of the trace, {asked}; the simulation has no such promise: these writes take as long as others, and \
             flushes are left out"
        )
    })
}

/// Writes of `trace` that ask for stable storage, and its flushes.
pub fn asked(trace: &workload::Trace) -> Option<String> {
    let counts = trace.counts();
    let flushes = match counts.flushes() {
        0 => None,
        1 => Some("1 line is a flush".to_owned()),
        flushes => Some(format!("{flushes} lines are flushes")),
    };
    let writes = (counts.durable > 0).then(|| counts.durable_text());
    let both: Vec<String> = writes.into_iter().chain(flushes).collect();
    (!both.is_empty()).then(|| both.join(" and "))
}

/// That requests wrapped, and what that means.
pub fn wrapped(replayed: &Replayed) -> Option<String> {
    let Replayed { wrapped, taken, .. } = *replayed;
    (wrapped > 0).then(|| {
        format!(
            "warning: {:.1} % of the requests ({wrapped} of {taken}) lie beyond the array and wrap: places that were \
             apart share addresses, so this is another workload than the trace; larger drives or --fit scale keep \
             them apart",
            wrapped as f64 * 100.0 / taken as f64
        )
    })
}

/// The array in words, and how its drives are coordinated if some run does that.
pub fn array(plans: &[Plan]) -> Result<String, Failure> {
    let Some(plan) = plans.first() else { return Ok(String::new()) };
    if plan.width == 1 {
        return Ok(format!("a single drive, {} usable", Bytes(plan.capacity_bytes()?)));
    }
    let coordinated = plans.iter().find(|plan| plan.policy.uses_windows());
    let narrow = match plan.stripe_width() {
        members if members == plan.level.usual_stripe_width(plan.width) => String::new(),
        members => format!(" in stripes of {members}"),
    };
    let spare = match exact_percent(plan.spare) {
        _ if plan.spare == Ratio::ZERO => String::new(),
        share => format!(", {share} of each drive to move pages to"),
    };
    let others = plan
        .other_drives
        .iter()
        .map(|(place, drive)| format!(", drive {} is a {}", place.0, drive.name));
    let others: String = others.collect();
    Ok(format!(
        "{} of {} drives{narrow}{others}, chunk {}, {} usable{spare}{}",
        plan.level.name(),
        plan.width,
        Bytes(plan.chunk_bytes),
        Bytes(plan.capacity_bytes()?),
        coordinated.map_or_else(String::new, coordination),
    ))
}

/// What the systems of several series are: what all have in common, and for each the rest.
pub struct Layouts {
    /// The drive, if it is the same everywhere.
    pub drive: String,
    /// The array, if it is the same everywhere.
    pub array: String,
    /// For each series what is not the same everywhere.
    pub each: Vec<String>,
}

/// The drives and arrays of several plans in words.
pub fn layouts(plans: &[&Plan]) -> Result<Layouts, Failure> {
    let drives: Vec<String> = plans.iter().map(|plan| drive(plan)).collect();
    let arrays: Vec<String> =
        plans.iter().map(|plan| array(std::slice::from_ref(*plan))).collect::<Result<_, _>>()?;
    let common = |all: &[String]| match all {
        [first, rest @ ..] if rest.iter().all(|one| one == first) => first.clone(),
        _ => String::new(),
    };
    let shared = [common(&drives), common(&arrays)];
    let each = drives.iter().zip(&arrays).map(|(drive, array)| {
        let own = [drive, array].into_iter().zip(&shared).filter(|(_, common)| common.is_empty());
        own.map(|(text, _)| text.as_str()).collect::<Vec<_>>().join("; ")
    });
    let each = each.collect();
    let [drive, array] = shared;
    Ok(Layouts { drive, array, each })
}

/// The drive in words.
pub fn drive(plan: &Plan) -> String {
    let drive = &plan.drive;
    let buffer = drive.write_buffer.map_or(String::new(), |buffer| {
        let capacity = u64::from(buffer.pages) * u64::from(drive.geometry.page_bytes);
        format!(", write buffer {} flushed {}", Bytes(capacity), Flush(buffer.flush))
    });
    let cells =
        drive.cells.map_or(String::new(), |cells| cell_words(&cells, drive.geometry.page_bytes));
    format!(
        "{}: {} of {} flash{}, pages of {}, {} dies{cells}{buffer}; {}; {}",
        drive.name,
        Bytes(drive.logical_bytes()),
        Bytes(drive.geometry.raw_bytes()),
        part(drive),
        Bytes(u64::from(drive.geometry.page_bytes)),
        drive.geometry.dies(),
        features(drive),
        match &plan.preparation {
            Preparation::Aged => "aged",
            Preparation::Load(_) => "overwritten by the load until steady",
            Preparation::Steady => "overwritten until steady",
            Preparation::Fresh => "fresh",
        }
    )
}

/// The cause of a violation, as reports know it.
pub fn violation_cause(cause: ssd::ViolationCause) -> report::violation::Cause {
    use report::violation::Cause;
    match cause {
        ssd::ViolationCause::NoRoom => Cause::NoRoom,
        ssd::ViolationCause::ShortOfSpace => Cause::ShortOfSpace,
        ssd::ViolationCause::Overran => Cause::Overran,
    }
}

/// That a drive stands for a larger one.
pub fn part(drive: &Config) -> String {
    match drive.geometry.scaled_down {
        1 => String::new(),
        parts => format!(" (1/{parts} of the real drive, in blocks of 1/{parts} of the pages)"),
    }
}

/// The flash of a drive that programs many logical blocks at a time.
fn cell_words(cells: &CellConfig, page_bytes: u32) -> String {
    let name =
        ["SLC", "MLC", "TLC", "QLC"].get(cells.bits as usize - 1).copied().unwrap_or("flash");
    let programmed = u64::from(cells.unit_pages()) * u64::from(page_bytes);
    let reads = match cells.read_groups {
        1 => String::new(),
        groups => format!(", {groups} reads"),
    };
    let cache = cells.slc.map_or(String::new(), |slc| {
        format!(", up to {} blocks of a die as SLC cache", slc.most_blocks)
    });
    format!(
        ", {name} with {} planes{reads}, {} programmed at a time{cache}",
        cells.planes,
        Bytes(programmed)
    )
}

/// What collections keep the host from, and what the drive does about it.
fn features(drive: &Config) -> String {
    let SchedulingConfig {
        read_priority,
        preemptive_collection,
        preemption_scope,
        paced_writes,
        turns,
        in_order_when_full,
        suspension,
    } = drive.scheduling;
    let scope = match drive.collection.blocking {
        Blocking::Controller => "the whole drive",
        Blocking::Channel => "their channel",
        Blocking::ChannelForCopies => "their channel for copies, their die for the erase",
        Blocking::Die => "their die",
    };
    let mut text = format!("collections block {scope}");
    let mut add = |applies: bool, words: &str| {
        if applies {
            text += ", ";
            text += words;
        }
    };
    let waits_for_host = drive.collection.trigger == CollectionTrigger::HostCommand;
    add(waits_for_host, "begin with commands of the host only");
    add(drive.collection.copyback, "copyback");
    add(drive.allocation == Allocation::Static, "pages on dies by their number");
    let per_channel = drive.collection.per_channel;
    add(per_channel > 0, &format!("{per_channel} collections at once on a channel"));
    let for_channel = preemption_scope == PreemptionScope::Channel;
    add(preemptive_collection && !for_channel, "preemptive collection");
    add(preemptive_collection && for_channel, "preemptive collection while its channel is idle");
    match turns {
        None => add(paced_writes, "paced writes"),
        Some(TurnConfig { most_pages, least_pages }) if most_pages == least_pages => {
            add(true, &format!("turns of {most_pages} pages on each die"));
        }
        Some(TurnConfig { most_pages, least_pages }) => {
            add(true, &format!("turns of {least_pages} to {most_pages} pages on each die"));
        }
    }
    add(read_priority, "reads first");
    add(in_order_when_full, "but not while the write buffer is full");
    let most = suspension.map_or(0, |suspension| suspension.most);
    let of = match suspension.map(|suspension| suspension.what) {
        Some(Suspendable::Collection) => "of a collection's program or erase",
        _ => "of a program or erase",
    };
    add(most > 0, &format!("up to {most} suspensions {of}"));
    if let Some(QueueConfig { depth, arbitration }) = drive.queue {
        let queues = match arbitration {
            Arbitration::OneQueue => String::new(),
            Arbitration::RoundRobin => String::from(", reads and writes in turn"),
            Arbitration::Submitters => String::from(", those of submitters in turn"),
            Arbitration::Weighted { reads, writes } => {
                format!(", {reads} reads to {writes} writes")
            }
        };
        add(true, &format!("{depth} commands at a time{queues}"));
    }
    add(drive.retry.is_some(), "read retry");
    if let Some(scrub) = drive.scrub {
        add(true, &format!("scrubbing after {}", short(scrub.after)));
    }
    match drive.rain {
        None => text + ", no RAIN",
        Some(rain) => format!("{text}; {}", rain_words(rain)),
    }
}

/// Parity within the drive.
fn rain_words(rain: RainConfig) -> String {
    let mut text = format!("RAIN {}+1", rain.width - 1);
    match (rain.tolerant_reads, rain.greedy_reads) {
        (true, true) => text += ", greedy tolerant reads",
        (true, false) => text += ", tolerant reads",
        (false, _) => {}
    }
    match rain.rotation {
        Rotation::Off => {}
        Rotation::On => text += ", rotating collection",
        Rotation::Forced => text += ", rotating collection at any price",
    }
    if let Some(erases) = rain.wear_leveling {
        text += &format!(", wear levelled to {erases} erases");
    }
    text
}

/// When drives may collect; nothing that is as it is by default.
fn coordination(plan: &Plan) -> String {
    let windows = &plan.windows;
    // Tokens have no window, and are described without one.
    let window = short(plan.window().unwrap_or(Duration::ZERO));
    let mut text = match windows.coordinate {
        Coordinate::Windows => format!("; windows of {window} in turn"),
        Coordinate::Adaptive { period, increment } => {
            format!(
                "; windows in turn, adapted from {window} every {} by {}",
                short(period),
                short(increment)
            )
        }
        Coordinate::Token { lease: Some(lease), .. } => {
            format!("; tokens leased for {}", short(lease))
        }
        Coordinate::Token { lease: None, .. } => {
            "; tokens leased for twice one collection".to_owned()
        }
    };
    for (after, change) in &windows.changes {
        text += &format!(", {}", short(change.busy_time_window));
        if let Some(width) = change.array_width {
            text += &format!(" for a width of {width}");
        }
        text += &format!(" from {} on", short(*after));
    }
    if let Some(busy_drives) = windows.busy_drives.filter(|&k| k != plan.parities()) {
        text += &format!(", {busy_drives} busy at once");
    }
    if !windows.clock_skew.is_zero() {
        text += &format!(", clocks off by up to {}", short(windows.clock_skew));
    }
    if windows.guard() != windows.clock_skew {
        text += &format!(", guard {}", short(windows.guard()));
    }
    text
}

/// A length as people type it; one that was calculated is rounded.
fn short(length: Duration) -> String {
    match length.as_nanos().is_multiple_of(1_000) {
        true => exact_duration(length),
        false => length.to_string(),
    }
}
