//! Policies that predict slow reads with a small network, which was trained before: LinnOS and
//! Heimdall, with what the host knows when it decides.
//!
//! A read counts as history once it was answered, whoever asked for it. Reads for parity are sent
//! without a question, because nobody but a write waits for them. With fewer reads behind a drive
//! than its network has inputs for, reads are sent.

mod heimdall;
mod history;
mod linnos;
mod network;

pub(super) use heimdall::HEIMDALL;
pub(super) use linnos::LINNOS;

use crate::policy::{Answered, Attempt, Hooks, Policy, PolicySetup, Sent, Tally, View};
use alloc::vec;
use alloc::vec::Vec;
use history::{History, Past};
use nvme::PlFlag;
use units::{DriveId, Instant, Lba};

/// A network that looks at `N` reads behind the one in question.
trait Predict<const N: usize>: Send {
    /// Returns whether a read will be slow that makes the queue `queue_blocks` long, after `past`,
    /// the newest first.
    fn is_slow(&mut self, queue_blocks: u32, past: &[Past; N]) -> bool;
}

/// A policy that asks a network.
struct Predictor<P, const N: usize> {
    network: P,
    drives: Vec<History<N>>,
    asked: u64,
    avoided: u64,
}

impl<P: Predict<N>, const N: usize> Predictor<P, N> {
    fn new(setup: &PolicySetup<'_>, network: P) -> Self {
        let drives = (0..setup.drives).map(|_| History::new()).collect();
        Self { network, drives, asked: 0, avoided: 0 }
    }
}

impl<P: Predict<N>, const N: usize> Policy for Predictor<P, N> {
    fn hooks(&self) -> Hooks {
        Hooks::FIRST_ATTEMPT | Hooks::SENT | Hooks::ANSWERED
    }

    fn sends_parity_reads(&self) -> bool {
        true
    }

    fn first_attempt(&mut self, _: Instant, drive: DriveId, _: Lba, _: &View<'_>) -> Attempt {
        self.asked += 1;
        let history = &self.drives[drive.index()];
        let queue_blocks = history.out_blocks() + 1;
        match history.last() {
            Some(past) if self.network.is_slow(queue_blocks, past) => {
                self.avoided += 1;
                Attempt::Avoid
            }
            _ => Attempt::Send(PlFlag::Off),
        }
    }

    fn sent(&mut self, _: Instant, command: &Sent) {
        self.drives[command.drive.index()].sent(command);
    }

    fn answered(&mut self, _: Instant, answer: &Answered) {
        self.drives[answer.command.drive.index()].answered(answer);
    }

    fn tallies(&self) -> Vec<Tally> {
        vec![
            Tally::new("reads asked about", self.asked),
            Tally::new("reads predicted to be slow", self.avoided),
        ]
    }
}

#[cfg(test)]
mod tests;
