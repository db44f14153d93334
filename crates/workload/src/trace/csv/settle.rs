//! Units of a CSV's columns: by a map, by their names or by their values, or in doubt.

use super::addresses::{self, is_bare_hexadecimal};
use super::columns::{AddressUnit, COLUMN, Suggestion, UNIT, WORDS};
use super::draft::{Draft, Sample, Table};
use super::header;
use super::layout::{
    Address, DEVICE, DEVICE_END, Layout, NAMES, OFFSET, OP, OpMeaning, SIZE, TIME, Width,
};
use super::moments::{self, Clock};
use super::snoops;
use super::times::{self, Verdict};
use crate::error::{LineProblem, TraceError, excerpt};
use crate::trace::formats::blkparse::Rwbs;
use crate::trace::{ReadOptions, TimeUnit, fields};

/// Fewer lines than this do not contradict a name.
const FEW: usize = 20;

/// A layout, and the unit of its times.
pub(in crate::trace) struct Found {
    pub(in crate::trace) layout: Layout,
    pub(in crate::trace) time_unit: TimeUnit,
}

/// Notes on settled and open properties: evidence, doubts, and a map of both.
struct Notes<'a> {
    evidence: &'a mut Vec<String>,
    doubts: Vec<String>,
    map: Suggestion,
    /// Problem of the first time, if no unit can solve it.
    no_time: Option<LineProblem>,
}

/// Settles the properties that `draft` leaves open.
pub(super) fn settle(
    sample: &Sample<'_>,
    table: &Table<'_>,
    draft: Draft,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Result<Found, TraceError> {
    let mut notes =
        Notes { evidence, doubts: Vec::new(), map: Suggestion::default(), no_time: None };
    // Without lines in the sample, later lines would be read by guesses.
    let nothing_to_see = table.values.iter().all(Vec::is_empty);
    let (clock, time_unit) = time(table, &draft, options, &mut notes);
    let op = operation(table, &draft, &mut notes);
    // The size comes first, because short requests are evidence for the unit of offsets.
    let mut map_of_size = Suggestion::default();
    std::mem::swap(&mut map_of_size, &mut notes.map);
    let size = address(table, &draft, SIZE, (&op, Sizes::default()), &mut notes);
    std::mem::swap(&mut map_of_size, &mut notes.map);
    let of_size = Sizes { least: size.bytes_at_least, values: &size.values };
    let offset = address(table, &draft, OFFSET, (&op, of_size), &mut notes);
    let mut is_swapped = false;
    let given = draft.units.iter().any(Option::is_some);
    if !given && size.values.len() >= FEW && addresses::are_swapped(&offset.values, &size.values) {
        let most = |values: &[u64]| values.iter().max().copied().unwrap_or(0);
        is_swapped = true;
        notes.doubts.push(format!(
            "the size goes up to {}, and the offset to {}, as if each were the other",
            most(&size.values),
            most(&offset.values)
        ));
    }
    notes.map.parts.extend(map_of_size.parts);
    if is_swapped {
        [NAMES[OFFSET], NAMES[SIZE]].iter().for_each(|key| notes.map.forget(key));
    }
    match draft.device {
        _ if draft.device_is_open => notes.map.add("device", COLUMN, &[]),
        Some((first, _)) => notes.map.add("device", &table.typed(first), &[]),
        None => {}
    }
    notes.map.separator(table.separator);
    let Notes { doubts, map, no_time, .. } = notes;
    let mut all = draft.doubts;
    // Without lines there are no doubts, and the reader reports the empty file.
    if !(nothing_to_see && sample.is_all) {
        all.extend(doubts);
    }
    let at_line = |line, problem| TraceError::Line { name: sample.name.to_owned(), line, problem };
    if let Some(problem) = no_time {
        return Err(at_line(table.first_line, problem));
    }
    if !all.is_empty() {
        // An invalid line may be the reason for the doubts.
        if let Some((line, problem)) = &table.problem {
            return Err(at_line(*line, problem.clone()));
        }
        return Err(TraceError::Unclear {
            name: sample.name.to_owned(),
            doubts: all.join("; "),
            map: map.to_string(),
        });
    }
    let layout = Layout {
        separator: table.separator,
        free: snoops::free_text(&table.names, table.separator),
        is_snoop: snoops::is_snoop(&table.names),
        holds: holds(&draft.places, draft.device),
        width: draft.is_wide.then(|| table.width().unwrap_or_else(|| width_of_values(table))),
        header: table.header.map(str::to_owned),
        clock,
        op,
        offset: offset.address,
        size: size.address,
        typed: [OFFSET, SIZE]
            .map(|slot| draft.places[slot].map_or_else(String::new, |column| table.typed(column))),
    };
    Ok(Found { layout, time_unit })
}

/// Slots that each column fills.
fn holds(places: &[Option<usize>; 4], device: Option<(usize, usize)>) -> Vec<u8> {
    let device = device.map_or([None; 2], |(first, last)| [Some(first), Some(last)]);
    let slots = [places[TIME], places[OP], places[OFFSET], places[SIZE], device[0], device[1]];
    let most = slots.iter().flatten().max().map_or(0, |most| most + 1);
    let mut holds = vec![0; most];
    for (slot, place) in slots.iter().enumerate() {
        if let Some(place) = place {
            // A device of one column has no last column.
            let same = slot == DEVICE_END && slots[DEVICE] == slots[DEVICE_END];
            holds[*place] |= if same { 0 } else { 1 << slot };
        }
    }
    holds
}

/// Columns of the first lines; those at the end may be empty.
fn width_of_values(table: &Table<'_>) -> Width {
    let filled = |values: &Vec<&str>| values.iter().any(|text| !text.is_empty());
    let least = table.values.iter().rposition(filled).map_or(0, |last| last + 1);
    Width { least, most: table.values.len() }
}

/// Notation and unit of the times.
fn time(
    table: &Table<'_>,
    draft: &Draft,
    options: &ReadOptions,
    notes: &mut Notes<'_>,
) -> (Clock, TimeUnit) {
    let Some(column) = draft.places[TIME] else {
        notes.map.add("time", COLUMN, &[UNIT.to_owned()]);
        return (Clock::Number, TimeUnit::Microseconds);
    };
    let (label, typed) = (table.label(column), table.typed(column));
    let values = table.values.get(column).map_or(&[][..], Vec::as_slice);
    let first = values.first().copied().unwrap_or("");
    let known = |unit: TimeUnit, notes: &mut Notes<'_>, why: String| {
        notes.map.add("time", &typed, &[unit.to_string()]);
        notes.evidence.push(why);
        (Clock::Number, unit)
    };
    let given = options.time_unit.or(draft.time_unit);
    if let Some(moment) = moments::moment(first) {
        if let Some(unit) = given {
            notes.doubts.push(format!(
                "its times are given in {unit}, but column {label} has dates such as \"{first}\", \
                 which need no unit"
            ));
        }
        let zone = match moment.clock {
            Clock::Date { zoned: true } => " with their zones",
            Clock::Date { zoned: false } => " without a zone, taken as UTC",
            _ => ", as times of one day",
        };
        notes
            .evidence
            .push(format!("the times in column {label} are written as \"{first}\"{zone}"));
        notes.map.add("time", &typed, &[]);
        return (moment.clock, TimeUnit::Seconds);
    }
    if let Some(unit) = options.time_unit {
        return known(unit, notes, format!("the time unit {unit} was given"));
    }
    if let Some(unit) = draft.time_unit {
        return known(unit, notes, format!("the column map gives times in {unit}"));
    }
    let name = table.names.get(column).copied().unwrap_or("");
    if let Some(unit) = header::time_unit(name) {
        if let Some(why) = times::contradicts(values, unit) {
            notes.doubts.push(format!(
                "the name {label} says that times are in {unit}, but {why}, so they may be others"
            ));
            notes.map.add("time", &typed, &[UNIT.to_owned()]);
            return (Clock::Number, unit);
        }
        return known(unit, notes, format!("times are in {unit}: the name {label} says so"));
    }
    if let Some(unit) = snoops::time_unit(&table.names, values) {
        return known(unit, notes, format!("biosnoop prints times in {unit} with six digits"));
    }
    match times::unit_of(values) {
        Verdict::Sure(unit, why) => {
            known(unit, notes, format!("times in column {label} are in {unit}: {why}"))
        }
        Verdict::Open(_)
            if !values.is_empty() && fields::time(first, TimeUnit::Nanoseconds).is_err() =>
        {
            let expected = "a number of zero or more, or a date such as 2023-01-15T12:34:56.789";
            notes.no_time = Some(fields::not_a_number("time", first, expected));
            (Clock::Number, TimeUnit::Nanoseconds)
        }
        Verdict::Open(readings) => {
            let meaning = match readings.text() {
                text if text.is_empty() => String::new(),
                text => format!(": {text}"),
            };
            notes.doubts.push(format!(
                "the unit of the times in column {label} (the first is \"{}\") is not said{meaning}",
                excerpt(first)
            ));
            notes.map.add("time", &typed, &[UNIT.to_owned()]);
            (Clock::Number, TimeUnit::Nanoseconds)
        }
    }
}

/// Meaning of the words of operations.
fn operation(table: &Table<'_>, draft: &Draft, notes: &mut Notes<'_>) -> OpMeaning {
    let Some(column) = draft.places[OP] else {
        notes.map.add("op", COLUMN, &[]);
        return OpMeaning::Known;
    };
    let (label, typed) = (table.label(column), table.typed(column));
    if let Some(words) = &draft.op_words {
        let words = words.clone();
        notes.evidence.push(format!(
            "the column map says that \"{}\" reads and \"{}\" writes",
            excerpt(&words.read),
            excerpt(&words.write)
        ));
        let mut detail = format!("{}/{}", words.read, words.write);
        for skip in &words.skip {
            detail.push('/');
            detail.push_str(skip);
        }
        notes.map.add("op", &typed, &[detail]);
        return OpMeaning::Words(words);
    }
    if let Some(true_writes) = header::flag_of(table.names.get(column).copied().unwrap_or("")) {
        let what = if true_writes { "writes" } else { "reads" };
        notes.evidence.push(format!("a request {what} where column {label} is 1 or true"));
        notes.map.add("op", &typed, &[]);
        return OpMeaning::Flag { true_writes };
    }
    let values = table.values.get(column).map_or(&[][..], Vec::as_slice);
    let zeros = values.iter().filter(|text| **text == "0").count();
    let ones = values.iter().filter(|text| **text == "1").count();
    if !values.is_empty() && zeros + ones == values.len() {
        let share = |count: usize| count * 100 / values.len();
        notes.doubts.push(format!(
            "whether 0 or 1 reads in column {label} is not said: op={typed}:0/1 means {} % reads, \
             op={typed}:1/0 means {} %",
            share(zeros),
            share(ones)
        ));
        notes.map.add("op", &typed, &[WORDS.to_owned()]);
        return OpMeaning::Known;
    }
    notes.map.add("op", &typed, &[]);
    OpMeaning::Known
}

/// A settled column of addresses or sizes.
struct Settled {
    address: Address,
    /// Smallest value in bytes, if the unit is certain.
    bytes_at_least: Option<u64>,
    /// Values in the lines that are requests.
    values: Vec<u64>,
}

/// Known sizes, for settling addresses.
#[derive(Clone, Copy, Default)]
struct Sizes<'a> {
    /// Shortest request in bytes, if known.
    least: Option<u64>,
    values: &'a [u64],
}

/// Unit of a column of addresses or sizes, by the lines that are requests. `sizes` are known when
/// addresses are settled.
fn address(
    table: &Table<'_>,
    draft: &Draft,
    slot: usize,
    (op, sizes): (&OpMeaning, Sizes<'_>),
    notes: &mut Notes<'_>,
) -> Settled {
    let is_size = slot == SIZE;
    let what = NAMES[slot];
    let bytes = Address { unit: AddressUnit::Bytes, hexadecimal: false, by_values: false };
    let Some(column) = draft.places[slot] else {
        notes.map.add(what, COLUMN, &[UNIT.to_owned()]);
        return Settled { address: bytes, bytes_at_least: None, values: Vec::new() };
    };
    let (label, typed) = (table.label(column), table.typed(column));
    let name = table.names.get(column).copied().unwrap_or("");
    let texts = table.values.get(column).map_or(&[][..], Vec::as_slice);
    let index = usize::from(is_size);
    let mut hexadecimal = draft.hexadecimal[index] || header::is_hexadecimal(name);
    if !hexadecimal && let Some(text) = texts.iter().find(|text| is_bare_hexadecimal(text)) {
        notes.doubts.push(format!(
            "column {label} has \"{}\", a hexadecimal number without 0x in front, so that others \
             in it cannot be told from decimal ones",
            excerpt(text)
        ));
        hexadecimal = true;
    }
    // A discard may cover the whole device, and a flush is empty.
    let is_request = |row: usize| {
        let word = draft.places[OP].and_then(|op| table.values.get(op)?.get(row));
        !word.is_some_and(|word| matches!(super::operation(word, op), Ok((Rwbs::Skip(_), _))))
    };
    let values: Vec<u64> = texts
        .iter()
        .enumerate()
        .filter(|(row, _)| is_request(*row))
        .filter_map(|(_, text)| addresses::number(what, text, hexadecimal).ok())
        .collect();
    let add = |unit: String, notes: &mut Notes<'_>| {
        let mut details = vec![unit];
        details.extend(hexadecimal.then(|| "hex".to_owned()));
        notes.map.add(what, &typed, &details);
    };
    let sure = |unit: AddressUnit, by_values: bool| {
        let least = values.iter().min().map(|least| least.saturating_mul(unit.bytes()));
        Settled {
            address: Address { unit, hexadecimal, by_values },
            bytes_at_least: least,
            values: values.clone(),
        }
    };
    if let Some(unit) = draft.units[index] {
        notes.evidence.push(format!("the column map gives the {what} in {}", counted(unit)));
        add(unit.to_string(), notes);
        return sure(unit, false);
    }
    let why = if is_size {
        addresses::sizes_are_bytes(&values)
    } else {
        addresses::offsets_are_bytes(&values, sizes.least)
    };
    if let Some(unit) = header::address_unit(name) {
        if let Some(but) = contradiction(unit, &values, why.as_deref(), (is_size, sizes)) {
            let units = [AddressUnit::Bytes, AddressUnit::Sectors];
            let readings = addresses::readings(&values, &units, is_size);
            notes.doubts.push(format!(
                "the name {label} says that the {what} is in {}, but {but}{readings}",
                counted(unit)
            ));
            add(UNIT.to_owned(), notes);
            return sure(unit, false);
        }
        notes
            .evidence
            .push(format!("the {what} is in {}: the name {label} says so", counted(unit)));
        add(unit.to_string(), notes);
        return sure(unit, false);
    }
    match why {
        Some(why) => {
            add(AddressUnit::Bytes.to_string(), notes);
            notes.evidence.push(format!("the {what} in column {label} is in bytes: {why}"));
            sure(
                AddressUnit::Bytes,
                values.iter().all(|value| value.is_multiple_of(addresses::SECTOR)),
            )
        }
        None => {
            let mut units = vec![AddressUnit::Bytes, AddressUnit::Sectors];
            units.extend(header::is_blocks(name).then_some(AddressUnit::Each(4_096)));
            let readings = addresses::readings(&values, &units, is_size);
            notes
                .doubts
                .push(format!("what the {what} in column {label} counts is not said{readings}"));
            add(UNIT.to_owned(), notes);
            Settled { address: bytes, bytes_at_least: None, values }
        }
    }
}

/// Reason why values cannot be in the `unit` of their name. `why` is the evidence that they are
/// bytes. Few lines do not contradict a name.
fn contradiction(
    unit: AddressUnit,
    values: &[u64],
    why: Option<&str>,
    (is_size, sizes): (bool, Sizes<'_>),
) -> Option<String> {
    let differ = values.windows(2).any(|pair| pair[0] != pair[1]);
    if values.len() < FEW || !differ {
        return None;
    }
    match unit {
        AddressUnit::Bytes => (!is_size && addresses::are_parts(values, sizes.values))
            .then(|| "most are no multiples of 512, as all sizes are".to_owned()),
        _ => why.map(str::to_owned),
    }
}

/// Name of a unit in evidence.
fn counted(unit: AddressUnit) -> String {
    match unit {
        AddressUnit::Each(bytes) if unit.to_string() == bytes.to_string() => {
            format!("units of {bytes} bytes")
        }
        AddressUnit::Each(bytes) => format!("{unit} ({bytes} bytes)"),
        _ => unit.to_string(),
    }
}
