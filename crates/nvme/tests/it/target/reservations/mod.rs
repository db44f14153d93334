//! Reservations: the machine against a naive model, its rules one by one, and hosts that send the
//! commands of nvme-cli.

mod hosts;
mod model;
mod rules;
