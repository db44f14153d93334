//! The real clock, how a thread waits for it exactly without burning a core, and how exact waiting
//! can be on this machine.

mod group;
mod timer_floor;
mod waiter;

pub use group::Group;
pub use timer_floor::{TimerFloor, WaitMethod, measure};
pub use waiter::{
    Clock, Event, Interest, LARGEST_MARGIN, LEAST_MARGIN, Spin, Waiter, processor_time,
};
