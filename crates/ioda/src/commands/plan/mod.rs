//! `ioda plan`: can this array promise it, with which window, at what price?
//!
//! Arithmetic, asked of [`ssd::Outlook`] and the window formula in `nvme`; with `--simulate` also
//! what a simulation finds.

mod answer;
mod curves;
pub(crate) mod document;
mod load;
mod question;
mod rotation;
mod sentence;
mod simulated;
mod table;

use crate::exit::Code;
use crate::flags::{HtmlArgs, JsonArgs};
use crate::output::{self, Documents};
use crate::progress::Show;
use crate::talk::Talk;
use answer::Answer;
use clap::Args;
use load::{Load, UsableShare};
use report::WindowReport;
use std::path::PathBuf;
use study::Failure;
use study::values::quantity::{Percent, Raid, Span, Text, TimeWindow};

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda plan
      Table 2 of the article for its six drives, and what each can really promise
  ioda plan --drive femu --drives 8 --load 20dwpd --load burst
      which windows keep the contract in an array of eight
  ioda plan --drive p4600 --raid 6 --drives 12 --clock-skew 2ms --usable-share watermarks
      two busy drives at once, clocks that disagree, and the space that is really there
  ioda plan --drive my-drive.toml --tw 200ms --load 30MB/s
      judge one window; my-drive.toml as `ioda presets drives --toml` prints it
  ioda plan --drive femu --drives 8 --simulate
      how tight the formula is: the longest window that a simulated drive bears
  ioda plan --html=windows.html --json=plan.json
      the article's Figure 4a as a page, and everything as numbers

A verdict `holds` is for ever: what is written in a cycle is reclaimed in a window. `burst` is for
one burst from rest, of about a cycle or longer. `fails` comes with what to change. MB/s are 10^6 bytes
per second, MiB/s 2^20 (the article writes MB for MiB); loads are those of each drive, parity
included.";

/// Options of `ioda plan`.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Presets, or TOML files with a drive section; a list or repeated
    /// [default: the six drives of the article]
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',', help_heading = "Drives")]
    drive: Vec<String>,
    /// Blocks in a plane, any whole number that leaves room to collect: makes a preset smaller or
    /// larger [default: the preset's]
    #[arg(long, value_name = "N", help_heading = "Drives")]
    blocks_per_plane: Option<u32>,
    /// Share of the flash that the host does not see; watermarks keep their share of it [default:
    /// the preset's]
    #[arg(long, value_name = "PERCENT", help_heading = "Drives")]
    over_provisioning: Option<Text<Percent>>,
    /// Share of the over-provisioned space that may fill in one cycle, above 0% and at most 100%,
    /// or `watermarks` for what lies between those of the drive [default: the drive's, 5%]
    #[arg(long, value_name = "SHARE", help_heading = "Drives")]
    usable_share: Option<UsableShare>,
    /// Number of drives, 2 to 64 [default: the article's for its six drives, 4 for others]
    #[arg(long, value_name = "N", help_heading = "Array")]
    drives: Option<u32>,
    /// RAID level: 1, 4, 5, 6 or 10 [default: 5]
    #[arg(long, value_name = "LEVEL", help_heading = "Array")]
    raid: Option<Text<Raid>>,
    /// Drives that may be busy at once, k, 1 or more [default: the number of parities]
    #[arg(long, value_name = "K", help_heading = "Array")]
    busy_drives: Option<u32>,
    /// Judge this busy time window, such as 100ms, or `burst` for the one that the drives advertise
    /// [default: look for the best]
    #[arg(long, value_name = "TIME", help_heading = "Array")]
    tw: Option<TimeWindow>,
    /// Most by which the clock of any drive is off, such as 2ms [default: 0]
    #[arg(long, value_name = "TIME", help_heading = "Array")]
    clock_skew: Option<Span>,
    /// Guard at both ends of each window, such as 2ms [default: the clock skew]
    #[arg(long, value_name = "TIME", help_heading = "Array")]
    guard: Option<Span>,
    /// Bytes written to each drive: `burst` and `norm` of the drive, `flash` for all that its dies
    /// can take in, drive writes per day of 8 hours such as 10dwpd, or a rate such as 30MB/s; a
    /// list or repeated [default: burst,norm]
    #[arg(long, value_name = "LOAD", value_delimiter = ',', help_heading = "Load")]
    load: Vec<Load>,
    /// Beside each longest window, the one that a simulated drive finds, which takes seconds; large
    /// drives are scaled down. The usable share is then `watermarks`
    #[arg(long, help_heading = "Load")]
    simulate: bool,
    /// TOML file with the sections array and drive; flags override it
    #[arg(long, value_name = "FILE", help_heading = "Configuration and results")]
    config: Option<PathBuf>,
    /// Everything as JSON.
    #[command(flatten, next_help_heading = "Configuration and results")]
    json: JsonArgs,
    /// The window over the width of the array and over the load as a page.
    #[command(flatten, next_help_heading = "Configuration and results")]
    html: HtmlArgs,
}

/// Answers and prints.
pub(crate) fn run(args: &PlanArgs, talk: Talk) -> Result<Code, Failure> {
    if args.json.is_printed() && args.html.is_printed() {
        return Err(Failure::usage(
            "--json and --html cannot both go to standard output; name a file for one of them",
        ));
    }
    let answers = answers(args, talk)?;
    let mut documents = Documents::default();
    if let Some(path) = args.json.path() {
        documents.write(path, &report::schema::to_string(&document::of(&answers)))?;
    }
    if let Some(path) = args.html.path() {
        documents.write(path, &report::html::render_windows(&page(&answers)))?;
    }
    if !args.json.is_printed() && !args.html.is_printed() {
        output::print(&terminal(&answers))?;
    }
    documents.tell(talk);
    Ok(Code::Ok)
}

/// Everything as JSON, without anything printed.
pub(crate) fn json(args: &PlanArgs) -> Result<String, Failure> {
    let answers = answers(args, Talk { progress: Show::Nothing, quiet: true })?;
    Ok(report::schema::to_string(&document::of(&answers)))
}

fn answers(args: &PlanArgs, talk: Talk) -> Result<Vec<Answer>, Failure> {
    let mut answers: Vec<Answer> = question::ask(args)?.into_iter().map(Answer::new).collect();
    if args.simulate {
        simulated::simulate(&mut answers, talk.progress)?;
    }
    Ok(answers)
}

/// Verdicts first, then the table.
fn terminal(answers: &[Answer]) -> String {
    let mut text = String::new();
    for answer in answers {
        text += &format!("{}\n", sentence::array(answer));
        for judged in &answer.judged {
            text += &study::table::paragraph(&sentence::verdict(answer, judged), 2);
        }
    }
    text += &format!("\n{}\n", table::render(answers));
    text.extend(table::legend(answers).into_iter().map(|line| study::table::paragraph(line, 2)));
    text
}

/// The page.
fn page(answers: &[Answer]) -> WindowReport {
    let (header, rows) = table::cells(answers);
    let names: Vec<&str> = answers.iter().map(|answer| answer.config().name.as_str()).collect();
    WindowReport {
        title: format!("Busy windows of {}", names.join(", ")),
        ioda_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args().collect::<Vec<_>>().join(" "),
        findings: sentence::findings(answers),
        by_width: answers.iter().map(curves::by_width).collect(),
        by_load: answers.iter().map(curves::by_load).collect(),
        header,
        rows,
        notes: table::legend(answers).into_iter().map(str::to_owned).collect(),
    }
}
