//! Whether what was printed is what a document says.

/// Units of times that stand behind numbers.
const UNITS: [&str; 5] = ["ns", "us", "µs", "ms", "s"];

/// Whether `printed` is what was expected, where `...` stands for any lines.
pub(super) fn fits(expected: &[String], printed: &[&str]) -> bool {
    match expected {
        [] => printed.is_empty(),
        [dots, rest @ ..] if dots == "..." => {
            (0..=printed.len()).any(|from| fits(rest, &printed[from..]))
        }
        [first, rest @ ..] => {
            printed.first().is_some_and(|line| line.trim_end() == first.trim_end())
                && fits(rest, &printed[1..])
        }
    }
}

/// How closely a text is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Closely {
    /// But for blanks and ends of lines.
    Words,
    /// But for numbers as well, and for what stands and falls with them.
    Form,
}

/// Whether `printed` has the parts of `expected` that lines of dots separate, in this order.
pub(super) fn has(printed: &str, expected: &[String], closely: Closely) -> bool {
    let printed = plain(printed, closely);
    let mut rest = printed.as_str();
    expected.split(|line| ["...", "…"].contains(&line.trim())).all(|part| {
        let part = plain(&part.join("\n"), closely);
        let Some(at) = rest.find(&part) else { return false };
        rest = &rest[at + part.len()..];
        true
    })
}

/// A text as it is compared.
fn plain(text: &str, closely: Closely) -> String {
    let lines: Vec<String> = text.lines().map(without_time).collect();
    let text = lines.join("\n");
    let text = match closely {
        Closely::Words => text,
        Closely::Form => without_numbers(&text),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line of a log without its time and the part of the program that wrote it.
fn without_time(line: &str) -> String {
    let mut words = line.split_whitespace();
    let time = words.next().unwrap_or_default();
    let (Some(level), Some(target)) = (words.next(), words.next()) else { return line.to_owned() };
    match time.ends_with('Z') && time.contains('T') && target.ends_with(':') {
        true => format!("{level} {}", words.collect::<Vec<_>>().join(" ")),
        false => line.to_owned(),
    }
}

/// A text with `#` for every number with its unit, without ranges in parentheses, and with all bars
/// alike.
fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let follows_a_word = plain.ends_with(|before: char| before.is_alphanumeric());
        if c.is_ascii_digit() && !follows_a_word {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && !['.', ','].contains(&c));
            rest = without_unit(&rest[digits.unwrap_or(rest.len())..]);
            plain.push('#');
        } else if c == '─' {
            rest = rest.trim_start_matches('─');
            plain.push(c);
        } else if let Some(after) = bar(rest) {
            rest = after;
            plain += "[]";
        } else {
            rest = &rest[c.len_utf8()..];
            plain.push(c);
        }
    }
    plain.replace(" (# to #)", "")
}

/// What follows a unit of time and a mark of few samples, if there are any.
fn without_unit(rest: &str) -> &str {
    let after = rest.strip_prefix(' ').unwrap_or(rest);
    let end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
    let rest = if UNITS.contains(&&after[..end]) { &after[end..] } else { rest };
    rest.strip_prefix('~').unwrap_or(rest)
}

/// What follows a bar such as `[###---]`, if there is one.
fn bar(rest: &str) -> Option<&str> {
    let inside = rest.strip_prefix('[')?;
    let after = inside.trim_start_matches(['#', '-']);
    (after.len() < inside.len()).then(|| after.strip_prefix(']'))?
}

#[test]
fn lines_are_compared() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let expected = words(&["a", "...", "z"]);
    for (printed, does) in [
        (&["a", "z"][..], true),
        (&["a", "b", "z"], true),
        (&["a", "z", "b"], false),
        (&["z"], false),
    ] {
        assert_eq!(fits(&expected, printed), does, "{printed:?}");
    }
}

#[test]
fn texts_are_compared_closely_or_by_form() {
    let one = |text: &str| vec![text.to_owned()];
    let form = [
        (" 15%   1.19 ms (1.05 ms to 1.33 ms)   927 µs~", "15%  2 s  9.00 ms", true),
        ("[##----] 25.3 %, 17 of 68", "[#-----] 1 %, 2 of 3", true),
        ("p99 is 3", "p99.9 is 3", false),
        ("raid5 of 4", "raid6 of 4", false),
        ("3 drives", "4 disks", false),
        ("INFO 3 stripes", "2026-11-22T18:12:52.7Z  INFO live::server: 17 stripes", true),
    ];
    for (expected, printed, does) in form {
        assert_eq!(has(printed, &one(expected), Closely::Form), does, "{expected}");
    }
    assert!(has("x  one two\nthree y", &one("one two three"), Closely::Words));
    assert!(!has("one 2", &one("one 3"), Closely::Words));
    let parts = ["b", "…", "d"].map(str::to_owned);
    assert!(has("a b c d e", &parts, Closely::Words) && !has("d b", &parts, Closely::Words));
}
