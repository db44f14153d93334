//! The integration tests of `ioda`: one program, because each test program is linked separately.

mod attached;
mod beside;
mod checksums;
mod claims;
mod client_memory;
mod clients;
mod common;
mod compare;
mod ctl;
mod cuts;
mod data_sheet;
mod documents;
mod errors;
mod explain;
mod failures;
#[path = "../../../live/tests/it/fake_array/mod.rs"]
mod fake_array;
mod file_systems;
mod fio_json;
mod fit;
mod forced;
mod forgetful;
mod full;
mod help;
mod kill;
mod lab;
mod listings;
mod live;
mod loads;
mod logged;
#[path = "../../../live/tests/it/nvme_drive/host.rs"]
#[allow(clippy::unwrap_used, dead_code, reason = "a test, which uses its own part")]
mod nvme_host;
mod plan;
mod quiet;
mod remote;
#[path = "../../../live/tests/it/remote/target.rs"]
#[allow(clippy::unwrap_used, dead_code, reason = "a test, which uses its own part")]
mod remote_target;
mod replacing;
mod reproduce;
mod requests_out;
mod schemas;
mod serve;
mod starting;
mod survey;
mod sweep;
mod template;
mod torture;
mod traces;
mod wire;
