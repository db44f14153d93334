//! Text in lines.

/// `text` behind `first`, in lines of at most `columns`; all but the first begin with `indent`
/// spaces. A longer word has a line of its own.
pub(crate) fn wrapped(first: &str, text: &str, indent: usize, columns: usize) -> String {
    let (mut lines, mut column) = (first.to_owned(), first.chars().count());
    for (i, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if i > 0 && column + 1 + length > columns {
            lines += &format!("\n{}", " ".repeat(indent));
            column = indent;
        } else if i > 0 {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += length;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        let text = wrapped("- ", &["word"; 50].join(" "), 2, 120);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() <= 120), "{text}");
        assert!(lines[1].starts_with("  word"));
    }
}
