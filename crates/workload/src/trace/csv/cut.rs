//! Cutting of a line into its columns.

use crate::error::{LineProblem, excerpt};

/// Separators with their names on the command line, in order of preference.
pub(super) const SEPARATORS: [(char, &str); 5] =
    [(',', "comma"), (';', "semicolon"), ('\t', "tab"), ('|', "pipe"), (' ', "space")];

/// The name of `separator`.
pub(super) fn separator_name(separator: char) -> &'static str {
    SEPARATORS.iter().find(|(one, _)| *one == separator).map_or("comma", |(_, name)| name)
}

/// A column that may contain blanks although blanks separate columns, and the number of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FreeText {
    pub(super) place: usize,
    pub(super) width: usize,
}

/// [`cut`] with a column of free text. Excess words of a line belong to `free`, whose column is
/// then its first word.
pub(super) fn cut_around<'a>(
    line: &'a str,
    separator: char,
    free: Option<FreeText>,
    mut take: impl FnMut(usize, &'a str),
) -> Result<usize, LineProblem> {
    let Some(FreeText { place, width }) = free else { return cut(line, separator, take) };
    let words = line.split_ascii_whitespace().count();
    let extra = words.saturating_sub(width);
    for (index, word) in line.split_ascii_whitespace().enumerate() {
        if index <= place {
            take(index, word);
        } else if index > place + extra {
            take(index - extra, word);
        }
    }
    Ok(words - extra)
}

/// Passes each column of `line` to `take`, without surrounding blanks and quotation marks. Returns
/// their number. Several blanks count as one separator, and leave no empty columns.
pub(super) fn cut<'a>(
    line: &'a str,
    separator: char,
    mut take: impl FnMut(usize, &'a str),
) -> Result<usize, LineProblem> {
    let mut found = 0;
    if separator == ' ' {
        for word in line.split_ascii_whitespace() {
            take(found, word);
            found += 1;
        }
        return Ok(found);
    }
    if memchr::memchr(b'"', line.as_bytes()).is_none() {
        for part in line.split(separator) {
            take(found, part.trim());
            found += 1;
        }
        return Ok(found);
    }
    cut_quoted(line, separator, take)
}

/// [`cut`] for a line with quotation marks. A doubled mark within a column stays doubled: only
/// devices are free text, and these are only compared.
fn cut_quoted<'a>(
    line: &'a str,
    separator: char,
    mut take: impl FnMut(usize, &'a str),
) -> Result<usize, LineProblem> {
    let wrong = || LineProblem::Quotes { text: excerpt(line) };
    let mut rest = line;
    let mut found = 0;
    loop {
        let column = rest.trim_start_matches(' ');
        let behind = match column.strip_prefix('"') {
            Some(inner) => {
                let close = closing_quote(inner).ok_or_else(wrong)?;
                take(found, inner[..close].trim());
                let behind = inner[close + 1..].trim_start_matches(' ');
                match behind.strip_prefix(separator) {
                    Some(next) => Some(next),
                    None if behind.trim().is_empty() => None,
                    None => return Err(wrong()),
                }
            }
            None => {
                let (this, next) = match column.split_once(separator) {
                    Some((this, next)) => (this, Some(next)),
                    None => (column, None),
                };
                take(found, this.trim());
                next
            }
        };
        found += 1;
        match behind {
            Some(next) => rest = next,
            None => return Ok(found),
        }
    }
}

/// Position of the closing mark in `inner`, the text behind an opening mark.
fn closing_quote(inner: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + inner[from..].find('"')?;
        if !inner[at + 1..].starts_with('"') {
            return Some(at);
        }
        from = at + 2;
    }
}

/// All columns of `line`.
pub(super) fn columns(line: &str, separator: char) -> Result<Vec<&str>, LineProblem> {
    columns_around(line, separator, None)
}

/// All columns of `line`, where the column `free` may contain blanks.
pub(super) fn columns_around(
    line: &str,
    separator: char,
    free: Option<FreeText>,
) -> Result<Vec<&str>, LineProblem> {
    let mut all = Vec::new();
    cut_around(line, separator, free, |_, column| all.push(column))?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_have_blanks() {
        let free = Some(FreeText { place: 1, width: 3 });
        let cases: [(&str, &[&str]); 4] = [
            ("0.1 fio 7", &["0.1", "fio", "7"]),
            ("0.1  Web Content  7", &["0.1", "Web", "7"]),
            ("0.1 a b c 7", &["0.1", "a", "7"]),
            ("0.1 7", &["0.1", "7"]),
        ];
        for (line, expected) in cases {
            assert_eq!(columns_around(line, ' ', free).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn quotation_marks_hold_separators() {
        let cases: [(&str, char, &[&str]); 7] = [
            ("1, R ,0,512", ',', &["1", "R", "0", "512"]),
            ("\"1\",\"R\", \"a,b\" ,512", ',', &["1", "R", "a,b", "512"]),
            ("1;\"a \"\"b\"\"; c\";", ';', &["1", "a \"\"b\"\"; c", ""]),
            ("\"\",x", ',', &["", "x"]),
            ("1  R\t0 ", ' ', &["1", "R", "0"]),
            ("1\t\t3", '\t', &["1", "", "3"]),
            ("a 5\" disk,1", ',', &["a 5\" disk", "1"]),
        ];
        for (line, separator, expected) in cases {
            assert_eq!(columns(line, separator).unwrap(), expected, "{line}");
        }
        for line in ["1,\"R,0", "1,\"R\"x,0", "\""] {
            let message = columns(line, ',').unwrap_err().to_string();
            assert!(message.starts_with("a quotation mark is not closed"), "{message}");
        }
    }
}
