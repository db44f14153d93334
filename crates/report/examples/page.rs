//! Writes the invented comparison as a page, to look at: `cargo run -p report --example page -- page.html`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let path = std::env::args().nth(1).unwrap_or_else(|| "page.html".to_owned());
    match std::fs::write(&path, report::html::render(&report::sample::comparison())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
