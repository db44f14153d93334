//! The integration tests of `workload`: one program, because each test program is linked separately.

mod bad_input;
mod csv_files;
mod fuzz_smoke;
mod merging;
mod properties;
mod readers;
mod real_traces;
mod samples;
mod shapes;
mod sources;
mod vscsi;
