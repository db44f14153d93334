//! The program `ioda`: what the library of that name does, as a process.

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// Gives freed memory back. The allocator of the C library keeps the maps of drives that are gone,
/// of which `ioda reproduce` makes hundreds.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(ioda::command(std::env::args_os()) as u8)
}
