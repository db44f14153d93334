//! The program `ioda`: what the library of that name does, as a process.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(ioda::command(std::env::args_os()) as u8)
}
