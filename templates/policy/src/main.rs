//! Compares the policy with others, and prints the table of `ioda compare`.

use std::process::ExitCode;
use {{crate_name}}::comparison::compare;

fn main() -> ExitCode {
    match compare(std::env::args_os().skip(1)) {
        Ok(done) => {
            print!("{}", report::table::render(&done.comparison));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
