//! The integration tests of `live`: one program, because each test program is linked separately.

// `ioda` has some of these files in its own tests, and knows the crate by this name.
extern crate ioda_live as live;

mod claims;
mod durable;
mod durable_kill;
mod fake_array;
mod foreign;
mod nbd_clients;
mod nbd_crowd;
mod nbd_fuzz;
mod nbd_handshake;
mod nbd_hostile;
mod nbd_memory;
mod nbd_model;
mod nbd_tls;
mod nvme_drive;
mod operate;
mod operate_fuzz;
mod operate_page;
mod operate_signals;
mod own_process;
mod remote;
mod storage;
