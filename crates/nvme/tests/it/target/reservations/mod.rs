//! Reservations: the machine against a naive model, its rules one by one, and hosts that send what
//! nvme-cli sends.

mod hosts;
mod model;
mod rules;
