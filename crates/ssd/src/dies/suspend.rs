//! The rules of suspension: the programs and erases of a die that can be interrupted for a read,
//! and the time at which.
//!
//! Knows: the limits of suspension, pulses, whether reads go in order at present. Does not know:
//! queues, and whether a collection has time for it.

use crate::config::{PulseConfig, SchedulingConfig, Suspendable, SuspensionConfig};
use crate::dies::die::{Die, State, Step};
use units::{Duration, Instant};

/// The interruption of a program or an erase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspension {
    /// Time until the operation can be interrupted.
    pub(crate) after: Duration,
    /// Time to suspend the operation, and again to resume it.
    pub(crate) cost: Duration,
}

/// Rule for one kind of operation.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// Time to suspend the operation, and again to resume it.
    cost: Duration,
    pulse: Duration,
    most: u32,
}

/// The rules of suspension on the dies of a drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspender {
    config: Option<SuspensionConfig>,
    in_order_when_full: bool,
    /// Reads neither overtake nor suspend programs, because writes wait for room in the buffer.
    in_order: bool,
}

impl Suspender {
    pub(super) fn new(scheduling: &SchedulingConfig) -> Self {
        let SchedulingConfig { suspension: config, in_order_when_full, .. } = *scheduling;
        Self { config, in_order_when_full, in_order: false }
    }

    /// Sets changed rules.
    pub(super) fn set_config(&mut self, scheduling: &SchedulingConfig) {
        *self = Self { in_order: self.in_order, ..Self::new(scheduling) };
    }

    /// Whether anything is ever suspended.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.config.is_some()
    }

    /// Sets whether writes wait for room in the buffer.
    #[inline]
    pub(super) fn set_full(&mut self, is_full: bool) {
        self.in_order = is_full && self.in_order_when_full;
    }

    /// Whether reads go in order with programs for now.
    #[inline]
    pub(super) fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// Whether collections alone are suspended.
    #[inline]
    pub(super) fn suspends_collections_only(&self) -> bool {
        self.config.is_some_and(|config| config.what == Suspendable::Collection)
    }

    /// Rule for the operation of a die in `state`; `None` if it cannot be interrupted.
    fn rule_of(&self, state: State) -> Option<Rule> {
        let SuspensionConfig { what, program, erase, most, pulses } =
            self.config.filter(|_| !self.in_order)?;
        match state {
            State::Serving(..) if what == Suspendable::Collection => None,
            State::Serving(_, Step::Program)
            | State::Copying(_, Step::Program)
            | State::Relocating(Step::Program) => {
                Some(Rule { cost: program, pulse: pulses.program, most })
            }
            State::Erasing if what == Suspendable::Programs => None,
            State::Erasing => {
                // An erase in pulses runs for one pulse after each suspension, and so ends.
                let most = if pulses.erase.is_zero() { most } else { u32::MAX };
                Some(Rule { cost: erase, pulse: pulses.erase, most })
            }
            _ => None,
        }
    }

    /// Suspension of the operation in service on a die, with `left` to go; `None` if it cannot be
    /// interrupted, or if that gains nothing.
    pub(super) fn suspension_of(
        &self,
        now: Instant,
        die: &Die,
        left: Duration,
    ) -> Option<Suspension> {
        let Rule { cost, pulse, most } = self.rule_of(die.state)?;
        if die.interruption.count() >= most {
            return None;
        }
        let after = end_of_pulse(left, die.interruption.earliest().since(now), pulse);
        // Nothing is gained by interrupting an operation that is over sooner.
        (left > after + cost).then_some(Suspension { after, cost })
    }

    /// Wait of a read for a program that begins on `die` at `start`: until the program is
    /// suspended, or over. Zero if the operation in service moves no data for a program.
    pub(super) fn wait_for_program(&self, start: Instant, die: &Die) -> Duration {
        let next = match die.state {
            State::Serving(task, Step::WaitChannel | Step::Transfer) if !task.is_read() => {
                State::Serving(task, Step::Program)
            }
            State::Relocating(Step::WaitChannel | Step::Transfer) => {
                State::Relocating(Step::Program)
            }
            _ => return Duration::ZERO,
        };
        let program = die.cells;
        self.rule_of(next).map_or(program, |Rule { cost, pulse, .. }| {
            let earliest = die.interruption.earliest().since(start);
            program.min(end_of_pulse(program, earliest, pulse) + cost)
        })
    }

    /// The earliest next suspension of an operation that is resumed at `now` in `state`.
    pub(super) fn next_after(&self, now: Instant, state: State) -> Instant {
        let pulses = self.config.map_or(PulseConfig::NONE, |config| config.pulses);
        match state {
            State::Erasing => now + pulses.apart.max(pulses.erase),
            _ => now + pulses.apart,
        }
    }
}

/// Time until the first end of a pulse at or after `earliest`, in an operation with `left` to go.
/// Pulses are counted back from the end of the operation.
fn end_of_pulse(left: Duration, earliest: Duration, pulse: Duration) -> Duration {
    let behind = left.saturating_sub(earliest);
    match pulse.as_nanos() {
        0 => earliest,
        pulse => earliest + Duration::from_nanos(behind.as_nanos() % pulse),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dies::interruption::Suspended;

    /// Number of suspensions of an erase if a read wants to interrupt it at all times.
    fn suspensions_of_erase(what: Suspendable, erase: Duration, pulses: PulseConfig) -> u32 {
        let micros = Duration::from_micros;
        let config =
            SuspensionConfig { what, program: micros(20), erase: micros(40), most: 2, pulses };
        let suspender =
            Suspender { config: Some(config), in_order_when_full: false, in_order: false };
        let mut die = Die::new(0);
        die.state = State::Erasing;
        let (mut now, mut left) = (Instant::ZERO, erase);
        while let Some(suspension) = suspender.suspension_of(now, &die, left) {
            let Suspension { after, cost } = suspension;
            assert!(pulses.erase.is_zero() || after <= pulses.erase.max(pulses.apart) + cost);
            now += after + cost;
            left = left.saturating_sub(after) + cost;
            let suspended = Suspended { state: die.state, left, work: None };
            die.interruption.suspend(suspended);
            die.interruption.resume();
            die.interruption.wait_until(suspender.next_after(now, die.state));
            assert!(die.interruption.count() < 100, "the erase never ends");
        }
        die.interruption.count()
    }

    #[test]
    fn an_erase_in_pulses_is_suspended_before_each_and_ends() {
        let millis = Duration::from_millis;
        let pulses = |erase| PulseConfig { erase, ..PulseConfig::NONE };
        let of = |pulses| suspensions_of_erase(Suspendable::Everything, millis(5), pulses);
        assert_eq!(of(PulseConfig::NONE), 2);
        // Before each of ten pulses.
        assert_eq!(of(pulses(Duration::from_micros(500))), 10);
        assert_eq!(of(pulses(millis(5))), 1);
        let whole = suspensions_of_erase(Suspendable::Programs, millis(5), PulseConfig::NONE);
        assert_eq!(whole, 0);
    }
}
