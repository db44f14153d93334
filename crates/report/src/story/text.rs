//! The life of a request for a terminal: lanes of letters, and sentences.

use super::{Activity, Lane, Look, Part, Story, ticks};
use crate::format::latency;
use crate::wrap;

/// Columns of a lane's name, and of the lane.
const NAME: usize = 12;
const PLOT: usize = 76;
/// Columns of a time in front of a sentence.
const TIME: usize = 9;
/// Longest line of text.
const WIDTH: usize = 100;

/// The whole story as text; with `colour`, letters have that of their activity.
#[must_use]
pub fn render(story: &Story, colour: bool) -> String {
    let mut text = format!("{}\n", story.title);
    for (name, value) in &story.facts {
        text += &wrapped(&format!("  {name:<9} "), value);
    }
    text += &format!("\n{}", lanes(story, colour));
    text += "\nwhat happened\n";
    for sentence in &story.sentences {
        let at = format!("+{}", latency(sentence.at_us));
        text += &wrapped(&format!("  {at:>TIME$}  "), &sentence.text);
    }
    text += "\nwhat it waited for, one after the other\n";
    text += &parts(&story.chain);
    text += &format!("  {:>TIME$}  in all\n", latency(story.latency_us));
    if !story.causes.is_empty() {
        let causes = story.causes.iter().map(|part| format!("{} {}", part.name, latency(part.us)));
        let causes: Vec<String> = causes.collect();
        text += &format!("\n{}", wrapped("by cause, as the run counts it: ", &causes.join(", ")));
    }
    text
}

fn parts(parts: &[Part]) -> String {
    parts.iter().map(|part| format!("  {:>TIME$}  {}\n", latency(part.us), part.name)).collect()
}

/// `text` behind `first`, in lines of at most [`WIDTH`] columns.
fn wrapped(first: &str, text: &str) -> String {
    wrap::wrapped(first, text, first.chars().count().min(WIDTH / 3), WIDTH)
}

fn lanes(story: &Story, colour: bool) -> String {
    let (from, until) = story.drawn();
    let column = |us: f64| ((us - from) / (until - from) * PLOT as f64).clamp(0.0, PLOT as f64);
    let mut text = axis(from, until, column);
    for lane in &story.lanes {
        let name = if lane.nested { format!("  {}", lane.name) } else { lane.name.clone() };
        text += &format!("{name:<NAME$}|{}|\n", row(lane, column, colour));
    }
    if story.dies_left_out > 0 {
        text += &format!("and {} dies more\n", story.dies_left_out);
    }
    let legend = story.activities().into_iter().map(|activity| {
        let Look { letter, words, .. } = activity.look();
        format!("{} {words}", painted(letter, activity, colour))
    });
    let legend: Vec<String> = legend.collect();
    text + &wrapped(&" ".repeat(NAME + 1), &legend.join(",  "))
}

/// Times above the lanes, and a mark below each.
fn axis(from: f64, until: f64, column: impl Fn(f64) -> f64) -> String {
    let mut times = vec![' '; NAME + PLOT + 12];
    let mut marks = vec![' '; NAME + PLOT + 2];
    for tick in ticks(from, until, 6.0) {
        let at = NAME + 1 + (column(tick) as usize).min(PLOT - 1);
        let time = if tick == 0.0 { "0".to_owned() } else { latency(tick) };
        for (place, letter) in times[at..].iter_mut().zip(time.chars()) {
            *place = letter;
        }
        marks[at] = '\'';
    }
    let line = |letters: Vec<char>| {
        let line: String = letters.into_iter().collect();
        format!("{}\n", line.trim_end())
    };
    line(times) + &line(marks)
}

fn row(lane: &Lane, column: impl Fn(f64) -> f64, colour: bool) -> String {
    let mut cells: Vec<Option<Activity>> = vec![None; PLOT];
    for activity in Activity::ALL {
        for span in lane.spans.iter().filter(|span| span.activity == activity) {
            let (from, until) = (column(span.from_us), column(span.until_us));
            // Nothing is too short to be seen.
            let first = (from.round() as usize).min(PLOT - 1);
            let end = (until.round() as usize).max(first + 1);
            cells[first..end].fill(Some(activity));
        }
    }
    let cell = |cell: Option<Activity>| match cell {
        None => String::from(" "),
        Some(activity) => painted(activity.look().letter, activity, colour),
    };
    cells.into_iter().map(cell).collect()
}

/// A letter in the colour of its activity.
fn painted(letter: char, activity: Activity, colour: bool) -> String {
    use Activity as A;
    let code = match activity {
        _ if !colour => return letter.to_string(),
        A::OwnRead | A::OwnReconstructRead | A::OwnProgram | A::WriteCache => 32,
        A::CollectionCopy | A::CollectionErase | A::Stalled => 31,
        A::OtherRead | A::OtherProgram | A::Job | A::Flush | A::Check => 34,
        A::FailFast | A::LockWait | A::LateAnswer | A::HeldBack | A::AtHost | A::Suspension => 35,
        A::Compute | A::Channel => 33,
        A::Window | A::InDrive | A::Other => 90,
    };
    format!("\x1b[{code}m{letter}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_fits_a_terminal() {
        let text = render(&crate::sample::story(), false);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let coloured = render(&crate::sample::story(), true);
        assert!(coloured.contains("\x1b[31mE\x1b[0m") && !text.contains('\x1b'));
        insta::assert_snapshot!(text);
    }
}
