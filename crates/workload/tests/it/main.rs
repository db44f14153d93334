//! The integration tests of `workload`: one program, because each test program is linked
//! separately.

mod bad_input;
mod csv_files;
mod durable;
mod fio;
mod fuzz_smoke;
mod merging;
mod odd_files;
mod opened;
mod properties;
mod readers;
mod real_traces;
mod samples;
mod shapes;
mod sources;
mod vscsi;
