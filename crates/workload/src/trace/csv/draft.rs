//! Columns of a CSV and their contents, by a map, the header or the values.

use super::columns::{Column, ColumnMap, OpWords};
use super::cut::{SEPARATORS, columns, columns_around, separator_name};
use super::header::{self, Role};
use super::layout::{NAMES, OFFSET, OP, SIZE, TIME, Width};
use super::settle::{Found, settle};
use super::snoops;
use super::{addresses, moments, times};
use crate::error::{LineProblem, TraceError, excerpt};
use crate::trace::formats::blkparse::Rwbs;
use crate::trace::{ReadOptions, TimeUnit, fields, ops, stray};

/// Longest request of a trace without a header; with longer ones its columns could be others.
const LONG_REQUEST: u64 = 64 << 20;

/// Most columns that a message lists.
const MOST_SHOWN: usize = 12;

/// The first lines of a file, without blank lines and comments.
pub(in crate::trace) struct Sample<'a> {
    pub(in crate::trace) name: &'a str,
    pub(in crate::trace) lines: &'a [&'a str],
    /// Number of each line in the file, from 1.
    pub(in crate::trace) numbers: &'a [u64],
    /// Comment above the first of these lines, without its sign.
    pub(in crate::trace) comment: Option<&'a str>,
    /// Whether these are all lines of the file.
    pub(in crate::trace) is_all: bool,
}

/// A sample in columns.
pub(super) struct Table<'a> {
    pub(super) separator: char,
    /// Line with the names, if it is one of the lines.
    pub(super) header: Option<&'a str>,
    /// Names of the columns; empty without names.
    pub(super) names: Vec<&'a str>,
    /// Text of each column in the lines below the names; empty text where a line is short.
    pub(super) values: Vec<Vec<&'a str>>,
    /// Number of the first of these lines.
    pub(super) first_line: u64,
    /// First line whose columns do not fit the names, and its problem.
    pub(super) problem: Option<(u64, LineProblem)>,
}

impl<'a> Table<'a> {
    /// The lines of `sample` below `header`, if the header is one of them.
    fn new(
        sample: &Sample<'a>,
        separator: char,
        header: Option<&'a str>,
        names: Vec<&'a str>,
    ) -> Self {
        let values = vec![Vec::new(); names.len()];
        let mut table = Self { separator, header, names, values, first_line: 0, problem: None };
        let free = snoops::free_text(&table.names, separator);
        let mut rows = 0;
        for (line, number) in sample.lines.iter().zip(sample.numbers) {
            if Some(*line) == header {
                continue;
            }
            let row = match columns_around(line, separator, free) {
                Ok(row) if row.iter().all(|text| text.is_empty()) => continue,
                Ok(row) => match table.width().filter(|width| !width.fits(&row)) {
                    None => row,
                    Some(width) => {
                        let problem = width.problem(line, row.len());
                        table.problem.get_or_insert((*number, problem));
                        continue;
                    }
                },
                Err(problem) => {
                    table.problem.get_or_insert((*number, problem));
                    continue;
                }
            };
            if rows == 0 {
                table.first_line = *number;
            }
            if table.values.len() < row.len() && table.names.is_empty() {
                table.values.resize(row.len(), vec![""; rows]);
            }
            rows += 1;
            for (index, column) in table.values.iter_mut().enumerate() {
                column.push(row.get(index).copied().unwrap_or(""));
            }
        }
        table
    }

    /// Number of columns, by the names.
    pub(super) fn width(&self) -> Option<Width> {
        let last = self.names.iter().rposition(|name| !name.is_empty())?;
        Some(Width { least: last + 1, most: self.names.len() })
    }

    /// Name of the column in messages.
    pub(super) fn label(&self, column: usize) -> String {
        match self.names.get(column) {
            Some(name) if !name.is_empty() => format!("\"{}\"", excerpt(name)),
            _ => column.to_string(),
        }
    }

    /// Text to type for the column: its name, if that is unique and can be typed, else its number.
    pub(super) fn typed(&self, column: usize) -> String {
        let name = self.names.get(column).copied().unwrap_or("");
        let plain = !name.is_empty()
            && name.len() <= 60
            && name.parse::<usize>().is_err()
            && !name.contains([',', ':', '=', '/', '\'', '"', '\\'])
            && !name.contains(|letter: char| letter.is_control() || stray::is_stray(letter));
        let only = self.names.iter().filter(|other| **other == name).count() == 1;
        if plain && only { name.to_owned() } else { column.to_string() }
    }

    fn all(&self, column: usize, is: impl Fn(&str) -> bool) -> bool {
        self.values
            .get(column)
            .is_some_and(|values| !values.is_empty() && values.iter().all(|text| is(text)))
    }
}

/// Known properties of the columns before their values are examined.
#[derive(Default)]
pub(super) struct Draft {
    /// Columns of time, operation, offset and size, if known.
    pub(super) places: [Option<usize>; 4],
    /// The first and the last column of the device.
    pub(super) device: Option<(usize, usize)>,
    /// Whether several columns may be the device.
    pub(super) device_is_open: bool,
    pub(super) time_unit: Option<TimeUnit>,
    pub(super) op_words: Option<OpWords>,
    /// Units of offset and size in the map.
    pub(super) units: [Option<super::columns::AddressUnit>; 2],
    pub(super) hexadecimal: [bool; 2],
    /// Whether the header or the first line fixes the number of columns.
    pub(super) is_wide: bool,
    /// Unknown properties, one clause each.
    pub(super) doubts: Vec<String>,
}

/// Finds the columns of `map`.
pub(in crate::trace) fn by_map(
    sample: &Sample<'_>,
    map: &ColumnMap,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Result<Option<Found>, TraceError> {
    let Some(first) = sample.lines.first().copied() else { return Ok(None) };
    let at_first = |problem| TraceError::Line {
        name: sample.name.to_owned(),
        line: sample.numbers.first().copied().unwrap_or(1),
        problem,
    };
    let wanted = [Some(&map.time), Some(&map.op), Some(&map.offset.column), Some(&map.size.column)];
    let wanted = wanted.into_iter().chain([map.device.as_ref()]);
    let separator = map.separator.unwrap_or_else(|| separator_for(first, wanted.clone()));
    let cells = columns(first, separator).map_err(at_first)?;
    let by_name = wanted.clone().flatten().any(|column| matches!(column, Column::Name(_)));
    let find = |wanted: &Column| find(wanted, &cells, first, by_name);
    let places = [&map.time, &map.op, &map.offset.column, &map.size.column];
    let mut found = [None; 4];
    for (place, wanted) in found.iter_mut().zip(places) {
        *place = Some(find(wanted).map_err(at_first)?);
    }
    let device = map.device.as_ref().map(find).transpose().map_err(at_first)?;
    for (slot, place) in found.iter().enumerate() {
        if let Some(other) = found[..slot].iter().position(|other| other == place) {
            return Err(TraceError::Unusable {
                name: sample.name.to_owned(),
                reason: format!(
                    "the column map has the same column for {} and {}; give each its own",
                    NAMES[other], NAMES[slot]
                ),
            });
        }
    }
    // Without names, a first line with words in place of all numbers must be a header.
    let is_word = |place: usize| {
        found[place].and_then(|place| cells.get(place)).is_some_and(|text| !is_value(text))
    };
    let is_header = by_name || (is_word(TIME) && is_word(OFFSET) && is_word(SIZE));
    let (header, names) = if is_header { (Some(first), cells) } else { (None, Vec::new()) };
    let table = Table::new(sample, separator, header, names);
    if map.separator.is_none() && separator != ',' {
        evidence.push(format!("the columns are separated by {}s", separator_name(separator)));
    }
    let draft = Draft {
        places: found,
        device: device.map(|place| (place, place)),
        device_is_open: false,
        time_unit: map.time_unit,
        op_words: map.op_words.clone(),
        units: [map.offset.unit, map.size.unit],
        hexadecimal: [map.offset.hexadecimal, map.size.hexadecimal],
        is_wide: is_header,
        doubts: Vec::new(),
    };
    settle(sample, &table, draft, options, evidence).map(Some)
}

/// Separator with which `first` has all columns of `wanted`; a comma if none has.
fn separator_for<'a>(
    first: &str,
    wanted: impl Iterator<Item = Option<&'a Column>> + Clone,
) -> char {
    let fits = |separator: char| {
        columns(first, separator).is_ok_and(|cells| {
            wanted.clone().flatten().all(|column| match column {
                Column::Position(place) => *place < cells.len(),
                Column::Name(name) => cells.iter().any(|cell| cell.eq_ignore_ascii_case(name)),
            })
        })
    };
    SEPARATORS.into_iter().map(|(one, _)| one).find(|one| fits(*one)).unwrap_or(',')
}

/// The place of one column of a map in the first line.
fn find(wanted: &Column, cells: &[&str], first: &str, by_name: bool) -> Result<usize, LineProblem> {
    let name = match wanted {
        Column::Position(place) if *place < cells.len() => return Ok(*place),
        Column::Position(_) => {
            return Err(fields::columns_problem(first, cells.len(), "the column map", "more"));
        }
        Column::Name(name) => name,
    };
    debug_assert!(by_name, "a name was looked for");
    let places = |same: fn(&str, &str) -> bool| -> Vec<usize> {
        (0..cells.len()).filter(|place| same(cells[*place], name)).collect()
    };
    let exact = places(|a, b| a == b);
    let found = if exact.is_empty() { places(|a, b| a.eq_ignore_ascii_case(b)) } else { exact };
    match found[..] {
        [place] => Ok(place),
        [] => Err(LineProblem::NoSuchColumn { column: excerpt(name), header: excerpt(first) }),
        [one, other, ..] => {
            Err(LineProblem::SameColumns { column: excerpt(name), places: [one, other] })
        }
    }
}

/// Whether `text` is a number or a time, and so no name.
fn is_value(text: &str) -> bool {
    fields::time(text, TimeUnit::Nanoseconds).is_ok()
        || moments::moment(text).is_some()
        || addresses::number("", text, false).is_ok()
        || text
            .strip_prefix('-')
            .is_some_and(|rest| fields::time(rest, TimeUnit::Nanoseconds).is_ok())
}

/// Finds the columns by the names in the first line; `None` without known names.
pub(in crate::trace) fn by_header(
    sample: &Sample<'_>,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Option<Result<Found, TraceError>> {
    let first = sample.lines.first().copied()?;
    let (line, separator, header) = match separator_of_names(first, 2) {
        Some(separator) => (first, separator, Some(first)),
        // A comment is a header only if it names all required columns.
        None => {
            let comment = sample.comment?;
            (comment, separator_of_names(comment, 4)?, None)
        }
    };
    let names = columns(line, separator).ok()?;
    let table = Table::new(sample, separator, header, names);
    Some(by_names(sample, &table, options, evidence))
}

/// Finds the columns by their names.
fn by_names(
    sample: &Sample<'_>,
    table: &Table<'_>,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Result<Found, TraceError> {
    let mut draft = Draft { is_wide: true, ..Draft::default() };
    let mut missing = Vec::new();
    for (slot, role) in
        [(TIME, Role::Time), (OP, Role::Op), (OFFSET, Role::Offset), (SIZE, Role::Size)]
    {
        draft.places[slot] = choose(table, role, &mut missing, &mut draft.doubts);
    }
    if !missing.is_empty() {
        draft.doubts.push(format!("the header has no name for {}", missing.join(", ")));
    }
    let doubts_before = draft.doubts.len();
    draft.device = device(table, &mut draft.doubts);
    draft.device_is_open = draft.doubts.len() > doubts_before;
    let mut said = format!("the header names {}", said_of(table, &draft));
    if table.separator != ',' {
        said.push_str(&format!("; columns are separated by {}s", separator_name(table.separator)));
    }
    evidence.push(said);
    if snoops::is_snoop(&table.names) {
        evidence.push("biosnoop prints the times at which requests completed".to_owned());
    }
    if let Some(reason) = several_events(table) {
        return Err(TraceError::Unusable { name: sample.name.to_owned(), reason });
    }
    settle(sample, table, draft, options, evidence)
}

/// Whether the first line names all required columns.
pub(in crate::trace) fn has_all_names(line: &str) -> bool {
    separator_of_names(line, 4).is_some()
}

/// Separator with which most columns of `line` have known names; `None` if fewer than `least` of
/// the four required columns are named, or if the line has numbers.
fn separator_of_names(line: &str, least: usize) -> Option<char> {
    let known = |separator: char| {
        let cells = columns(line, separator).ok()?;
        if cells.len() < 3 || cells.iter().any(|text| is_value(text)) {
            return None;
        }
        let roles: Vec<Role> =
            cells.iter().filter_map(|name| header::role(name)).map(|named| named.role).collect();
        let needed = [Role::Time, Role::Op, Role::Offset, Role::Size];
        let count = needed.iter().filter(|role| roles.contains(role)).count();
        (count >= least).then_some(count)
    };
    let mut best: Option<(char, usize)> = None;
    for (separator, _) in SEPARATORS {
        if let Some(count) = known(separator)
            && best.is_none_or(|(_, most)| count > most)
        {
            best = Some((separator, count));
        }
    }
    best.map(|(separator, _)| separator)
}

/// Columns whose names mean `role`: those with clear names, or else those with vague ones.
fn candidates(table: &Table<'_>, role: Role) -> Vec<usize> {
    let with = |vague: bool| -> Vec<usize> {
        let is =
            |name: &str| header::role(name).is_some_and(|n| n.role == role && n.vague == vague);
        (0..table.names.len()).filter(|column| is(table.names[*column])).collect()
    };
    let clear = with(false);
    if clear.is_empty() { with(true) } else { clear }
}

/// Column of `role`. `None` if it is missing, or, with a doubt, if several columns fit.
fn choose(
    table: &Table<'_>,
    role: Role,
    missing: &mut Vec<String>,
    doubts: &mut Vec<String>,
) -> Option<usize> {
    let (what, example) = match role {
        Role::Time => ("the time", "time_us"),
        Role::Op => ("the operation", "op"),
        Role::Offset => ("the offset", "offset_bytes"),
        _ => ("the size", "size_bytes"),
    };
    let mut found = candidates(table, role);
    match role {
        // A column `T` may be the type of a request.
        Role::Time => found.retain(|column| !snoops::are_operations(table, *column)),
        Role::Op if found.is_empty() => found = snoops::operations(table),
        _ => {}
    }
    if role == Role::Op && found.len() > 1 {
        // A column `command` may be the name of a process.
        let are_words = |column: &usize| table.all(*column, |text| ops::word(text).is_some());
        let words: Vec<usize> = found.iter().copied().filter(are_words).collect();
        if words.len() == 1 {
            found = words;
        }
    }
    match found[..] {
        [column] => Some(column),
        [] => {
            missing.push(format!("{what} (such as {example})"));
            None
        }
        _ => {
            let labels: Vec<String> = found
                .iter()
                .take(MOST_SHOWN)
                .map(|column| format!("{} (column {column})", table.label(*column)))
                .collect();
            doubts.push(format!("{what} may be {}", labels.join(" or ")));
            None
        }
    }
}

/// Columns that name the device: one, or several adjacent ones.
fn device(table: &Table<'_>, doubts: &mut Vec<String>) -> Option<(usize, usize)> {
    let found = candidates(table, Role::Device);
    let (first, last) = (*found.first()?, *found.last()?);
    if last - first + 1 == found.len() {
        return Some((first, last));
    }
    let labels: Vec<String> = found.iter().map(|column| table.label(*column)).collect();
    doubts.push(format!("the device may be {}", labels.join(" or ")));
    None
}

/// Doubt about a trace with several events for each request, because each line would count as a
/// request.
fn several_events(table: &Table<'_>) -> Option<String> {
    let column = *candidates(table, Role::Event).first()?;
    let mut kinds: Vec<&str> = table.values.get(column)?.clone();
    kinds.sort_unstable();
    kinds.dedup();
    (kinds.len() > 1).then(|| {
        let shown: Vec<String> = kinds.iter().take(6).map(|kind| excerpt(kind)).collect();
        format!(
            "column {} has several events of the same requests ({}), and each line would be a \
             request of its own; keep the lines of one event, such as {}, or name the columns with \
             --columns if they are no events",
            table.label(column),
            shown.join(", "),
            if kinds.contains(&"D") { "D" } else { "the issue" },
        )
    })
}

/// Names that are used, with their meanings, and names that are not used.
fn said_of(table: &Table<'_>, draft: &Draft) -> String {
    let mut parts = Vec::new();
    for (slot, name) in super::layout::NAMES.iter().take(4).enumerate() {
        if let Some(column) = draft.places[slot] {
            parts.push(format!("{name} {}", table.label(column)));
        }
    }
    if let Some((first, last)) = draft.device {
        let labels: Vec<String> = (first..=last).map(|column| table.label(column)).collect();
        parts.push(format!("device {}", labels.join(" with ")));
    }
    let is_used = |column: usize| {
        draft.places.contains(&Some(column))
            || draft.device.is_some_and(|(first, last)| (first..=last).contains(&column))
    };
    let unused: Vec<usize> = (0..table.names.len())
        .filter(|column| !is_used(*column) && !table.names[*column].is_empty())
        .collect();
    if unused.is_empty() {
        parts.join(", ")
    } else {
        let mut shown: Vec<String> =
            unused.iter().take(MOST_SHOWN).map(|column| table.label(*column)).collect();
        if unused.len() > MOST_SHOWN {
            shown.push(format!("{} more", unused.len() - MOST_SHOWN));
        }
        format!("{}; not used: {}", parts.join(", "), shown.join(", "))
    }
}

/// Finds the columns by their values alone; `None` if the lines have no columns.
pub(in crate::trace) fn without_header(
    sample: &Sample<'_>,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Option<Result<Found, TraceError>> {
    if let Some(table) = table_with_unknown_names(sample) {
        return Some(by_names(sample, &table, options, evidence));
    }
    let table = SEPARATORS.into_iter().find_map(|(separator, _)| {
        let counts: Vec<usize> = sample
            .lines
            .iter()
            .filter_map(|line| columns(line, separator).ok())
            .map(|row| row.len())
            .collect();
        let width = *counts.first()?;
        let same = counts.iter().filter(|count| **count == width).count();
        let regular = width >= 3 && same * 10 >= sample.lines.len() * 9;
        let table = regular.then(|| Table::new(sample, separator, None, Vec::new()))?;
        let numbers = (0..table.values.len()).filter(|column| is_numbers(&table, *column));
        (numbers.count() >= 2).then_some(table)
    })?;
    let draft = guess(&table);
    let sure = draft.doubts.is_empty();
    if sure {
        evidence.push(format!("the values tell the columns: {}", said_of(&table, &draft)));
    }
    Some(settle(sample, &table, draft, options, evidence))
}

/// Takes the columns in the order of the common form; `None` if there are too few.
pub(in crate::trace) fn by_position(
    sample: &Sample<'_>,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Option<Result<Found, TraceError>> {
    if let Some(table) = table_with_unknown_names(sample) {
        return Some(by_names(sample, &table, options, evidence));
    }
    let width = columns(sample.lines.first()?, ',').ok()?.len();
    if width < 4 {
        return None;
    }
    let table = Table::new(sample, ',', None, Vec::new());
    let draft = Draft {
        places: [Some(TIME), Some(OP), Some(OFFSET), Some(SIZE)],
        device: (width > 4).then_some((4, 4)),
        is_wide: true,
        ..Draft::default()
    };
    evidence.push(
        "the first line is no header, so the columns are time, operation, offset, size and device"
            .to_owned(),
    );
    Some(settle(sample, &table, draft, options, evidence))
}

/// The sample below a first line of unknown names. The second line must have as many columns, at
/// least two of which are numbers.
fn table_with_unknown_names<'a>(sample: &Sample<'a>) -> Option<Table<'a>> {
    let (first, second) = (*sample.lines.first()?, *sample.lines.get(1)?);
    SEPARATORS.into_iter().find_map(|(separator, _)| {
        let (names, row) = (columns(first, separator).ok()?, columns(second, separator).ok()?);
        let words = names.len() >= 3 && !names.iter().any(|name| is_value(name));
        let numbers = row.iter().filter(|text| is_value(text)).count();
        let is_header = words && row.len() == names.len() && numbers >= 2;
        is_header.then(|| Table::new(sample, separator, Some(first), names))
    })
}

fn is_numbers(table: &Table<'_>, column: usize) -> bool {
    table.all(column, |text| {
        addresses::number("", text, false).is_ok()
            || fields::time(text, TimeUnit::Nanoseconds).is_ok()
    })
}

/// Guesses the columns, with a doubt unless nothing else is possible.
fn guess(table: &Table<'_>) -> Draft {
    let all = 0..table.values.len();
    let words: Vec<usize> =
        all.clone().filter(|column| table.all(*column, |t| ops::word(t).is_some())).collect();
    let is_time = |column: &usize| {
        table.all(*column, |text| moments::moment(text).is_some())
            || is_numbers(table, *column) && times::are_dates(&table.values[*column])
    };
    let dates: Vec<usize> = all.clone().filter(is_time).collect();
    let others: Vec<usize> = all
        .filter(|column| is_numbers(table, *column) && !dates.contains(column))
        .filter(|column| !is_index(&table.values[*column]))
        .collect();
    let mut draft = Draft { is_wide: true, ..Draft::default() };
    if let ([op], [time], [a, b]) = (&words[..], &dates[..], &others[..]) {
        let (forward, backward) = (is_pair(table, *a, *b), is_pair(table, *b, *a));
        if forward != backward {
            let (offset, size) = if forward { (*a, *b) } else { (*b, *a) };
            draft.places = [Some(*time), Some(*op), Some(offset), Some(size)];
            return draft;
        }
    }
    let first: Vec<String> = table
        .values
        .iter()
        .enumerate()
        .take(MOST_SHOWN)
        .filter_map(|(column, values)| {
            values.first().map(|text| format!("{column} is \"{}\"", excerpt(text)))
        })
        .collect();
    draft.doubts.push(format!(
        "it has no header and is of no format that is known here, and what its columns are cannot \
         be told for sure (in the first line {})",
        first.join(", ")
    ));
    // A column that is not the only one of its kind stays undecided.
    let only = |found: &[usize]| if let [column] = found { Some(*column) } else { None };
    let moves_data = |column: &usize| {
        let data = |text: &&str| matches!(ops::word(text), Some(Rwbs::Data(_)));
        table.values[*column].iter().any(data)
    };
    draft.places = [only(&dates), only(&words).filter(moves_data), None, None];
    draft
}

/// Whether the values number the lines.
fn is_index(values: &[&str]) -> bool {
    let counted = |pair: &[&str]| match (pair[0].parse::<u64>(), pair[1].parse::<u64>()) {
        (Ok(a), Ok(b)) => b == a.wrapping_add(1),
        _ => false,
    };
    values.len() > 2 && values.windows(2).all(counted)
}

/// Whether the two columns can be offset and size in bytes.
fn is_pair(table: &Table<'_>, offset: usize, size: usize) -> bool {
    let numbers = |column: usize| -> Vec<u64> {
        let values = table.values[column].iter();
        values.filter_map(|text| addresses::number("", text, false).ok()).collect()
    };
    let (offsets, sizes) = (numbers(offset), numbers(size));
    let least = sizes.iter().min().copied();
    let is_sector = |bytes: &u64| bytes.is_multiple_of(addresses::SECTOR);
    sizes.iter().all(|size| (1..=LONG_REQUEST).contains(size) && is_sector(size))
        && offsets.iter().all(is_sector)
        && addresses::sizes_are_bytes(&sizes).is_some()
        && addresses::offsets_are_bytes(&offsets, least).is_some()
}
