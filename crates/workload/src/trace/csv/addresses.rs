//! Numbers of addresses and sizes, and their units if no name says them.

use super::columns::AddressUnit;
use crate::error::LineProblem;
use crate::trace::fields;
use std::collections::HashSet;
use units::Bytes;

/// Sector of block layers; all addresses and sizes in bytes are multiples of it.
pub(in crate::trace) const SECTOR: u64 = 512;
/// The page of all systems of today: requests are rarely smaller.
const PAGE: u64 = 4_096;
/// Longest request.
const LONGEST: u64 = 1 << 30;

/// A whole number, in hexadecimal if it begins with `0x` or if `hexadecimal` is set.
pub(super) fn number(
    column: &'static str,
    text: &str,
    hexadecimal: bool,
) -> Result<u64, LineProblem> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match (digits, hexadecimal) {
        (None, false) => fields::integer_or_float(column, text).map_err(|problem| {
            if is_bare_hexadecimal(text) { hexadecimal_problem(column, text) } else { problem }
        }),
        (digits, _) => {
            let digits = digits.unwrap_or(text);
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(fields::not_a_number(column, text, "a hexadecimal number"));
            }
            u64::from_str_radix(digits, 16)
                .map_err(|_| fields::too_large(column, text, "64 bits hold"))
        }
    }
}

fn hexadecimal_problem(column: &'static str, text: &str) -> LineProblem {
    let expected = match column {
        "size" => {
            "a decimal number, and hexadecimal ones need 0x, or :hex behind size in --columns"
        }
        _ => "a decimal number, and hexadecimal ones need 0x, or :hex behind offset in --columns",
    };
    fields::not_a_number(column, text, expected)
}

/// Whether `text` is a hexadecimal number without `0x` that cannot be a decimal one.
pub(super) fn is_bare_hexadecimal(text: &str) -> bool {
    let hexadecimal = !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    hexadecimal && text.bytes().any(|b| !b.is_ascii_digit())
}

/// Reason why sizes without a unit are bytes; `None` if they may have another unit.
pub(in crate::trace) fn sizes_are_bytes(values: &[u64]) -> Option<String> {
    let most = values.iter().max()?;
    if *most > LONGEST / SECTOR {
        return Some(format!(
            "as sectors the longest request would be {}",
            Bytes(most.saturating_mul(SECTOR))
        ));
    }
    let all = values.iter().all(|value| value.is_multiple_of(SECTOR));
    (all && *most >= PAGE)
        .then(|| format!("all are multiples of {SECTOR}, up to {most}, as only bytes are"))
}

/// Reason why addresses without a unit are bytes; `None` if they may have another unit.
/// `least_size` is the shortest request in bytes, if known.
pub(in crate::trace) fn offsets_are_bytes(
    values: &[u64],
    least_size: Option<u64>,
) -> Option<String> {
    let most = values.iter().max()?;
    if *most > (1 << 60) / SECTOR {
        return Some("as sectors the last address would be beyond 2^60 bytes".to_owned());
    }
    let mut seen = values.iter().filter(|value| **value > 0);
    let first = seen.next()?;
    let differ = seen.any(|value| value != first);
    let all = values.iter().all(|value| value.is_multiple_of(SECTOR));
    let small = least_size.is_some_and(|size| size < SECTOR * SECTOR);
    (all && differ && small).then(|| {
        format!(
            "all are multiples of {SECTOR}; as sectors each request would begin at a multiple of {}",
            Bytes(SECTOR * SECTOR)
        )
    })
}

/// Whether sizes are whole sectors and most addresses are not, if both were bytes.
pub(in crate::trace) fn are_parts(offsets: &[u64], sizes: &[u64]) -> bool {
    let parts = offsets.iter().filter(|offset| !offset.is_multiple_of(SECTOR)).count();
    parts * 2 > offsets.len() && sizes.iter().all(|size| size.is_multiple_of(SECTOR))
}

/// Whether the sizes look more like addresses: they reach further and have more distinct values.
pub(in crate::trace) fn are_swapped(offsets: &[u64], sizes: &[u64]) -> bool {
    let distinct = |values: &[u64]| values.iter().collect::<HashSet<_>>().len();
    sizes.iter().max() > offsets.iter().max() && distinct(sizes) > distinct(offsets)
}

/// Values of addresses or sizes in each of `units`, after a colon; empty without values.
pub(in crate::trace) fn readings(values: &[u64], units: &[AddressUnit], is_size: bool) -> String {
    let Some(most) = values.iter().max() else { return String::new() };
    let mean = values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64;
    let one = |unit: &AddressUnit| {
        let bytes = unit.bytes();
        let name = match unit {
            AddressUnit::Each(bytes) => format!("units of {bytes} bytes"),
            unit => unit.to_string(),
        };
        if is_size {
            format!("in {name} requests of {} on average", Bytes((mean * bytes as f64) as u64))
        } else {
            format!("in {name} addresses up to {}", Bytes(most.saturating_mul(bytes)))
        }
    };
    let all: Vec<String> = units.iter().map(one).collect();
    format!(": {}", all.join(", "))
}
