//! Writes an invented comparison as a page, to look at, or what a second argument names: `survey`,
//! `windows`, `story`, `sweep`, `heat-maps`, `lab`, or a file that `ioda compare --json` wrote:
//! `cargo run -p ioda-report --example page -- page.html survey`.

#[path = "../tests/sample/mod.rs"]
mod sample;

use ioda_report::{html, json};
use std::process::ExitCode;

fn main() -> ExitCode {
    let path = std::env::args().nth(1).unwrap_or_else(|| "page.html".to_owned());
    let page = match std::env::args().nth(2).as_deref() {
        None => Some(html::render(&sample::comparison())),
        Some("survey") => Some(html::render_survey(&sample::survey())),
        Some("windows") => Some(html::render_windows(&sample::windows())),
        Some("story") => Some(html::render_story(&sample::story())),
        Some("sweep") => Some(html::render_sweep(&sample::sweep(1))),
        Some("heat-maps") => Some(html::render_sweep(&sample::sweep(2))),
        Some("lab") => Some(html::render_lab(&sample::lab())),
        Some(file) => std::fs::read_to_string(file)
            .ok()
            .and_then(|text| json::from_str(&text).ok())
            .map(|comparison| html::render(&comparison)),
    };
    match page.map(|page| std::fs::write(&path, page)) {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
