//! Pages on their way over a channel.

use crate::device::Ssd;
use crate::die::{State, Step};
use crate::ledger::{Work, explain_wait};
use crate::ops::OpKind;
use units::Instant;

impl Ssd {
    pub(crate) fn channel_of(&self, die: u32) -> usize {
        (die / self.ftl.shape.chips_per_channel) as usize
    }

    /// Puts the current operation of the die into the step `step`.
    fn set_step(&mut self, die: u32, step: Step) {
        let state = &mut self.dies[die as usize].state;
        *state = match state {
            State::Copying(_) => State::Copying(step),
            State::Scrubbing(_) => State::Scrubbing(step),
            _ => State::Serving(step),
        };
    }

    pub(crate) fn request_channel(&mut self, now: Instant, die: u32) {
        let channel = self.channel_of(die);
        if self.dies[die as usize].state == State::Idle {
            self.dies[die as usize].state = State::Serving(Step::WaitChannel);
        }
        self.dies[die as usize].channel_before = self.channels[channel].ledger.read(now);
        if self.channels[channel].busy {
            self.set_step(die, Step::WaitChannel);
            self.deadlines.set(die as usize, Instant::NEVER);
            self.channels[channel].waiting.push_back(die);
        } else {
            self.begin_transfer(now, die);
        }
    }

    fn begin_transfer(&mut self, now: Instant, die: u32) {
        self.set_step(die, Step::Transfer);
        let target = &mut self.dies[die as usize];
        let channel = &mut self.channels[(die / self.ftl.shape.chips_per_channel) as usize];
        let (work, length) = match target.state {
            // Out through error correction and back in.
            State::Copying(_) => (Work::CollectionRead, self.config.copy_transfer()),
            State::Scrubbing(_) => (Work::CollectionRead, self.config.timing.transfer),
            _ => match self.ops.get(target.op).kind {
                OpKind::Read | OpKind::RebuildRead => {
                    let after = channel.ledger.read(now);
                    explain_wait(&mut target.delays, &target.channel_before, &after);
                    (Work::HostRead, self.config.timing.transfer)
                }
                _ => (Work::HostWrite, self.config.timing.transfer),
            },
        };
        channel.busy = true;
        channel.ledger.switch(now, Some(work));
        self.deadlines.set(die as usize, now + length);
    }

    pub(crate) fn release_channel(&mut self, now: Instant, die: u32) {
        let channel = &mut self.channels[(die / self.ftl.shape.chips_per_channel) as usize];
        channel.busy = false;
        channel.ledger.switch(now, None);
        if let Some(next) = channel.waiting.pop_front() {
            self.begin_transfer(now, next);
        }
    }
}
