//! Writes an invented comparison as a page, to look at, or an invented survey if a second argument is
//! given: `cargo run -p report --example page -- page.html survey`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let path = std::env::args().nth(1).unwrap_or_else(|| "page.html".to_owned());
    let page = match std::env::args().nth(2) {
        None => report::html::render(&report::sample::comparison()),
        Some(_) => report::html::render_survey(&report::sample::survey()),
    };
    match std::fs::write(&path, page) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
