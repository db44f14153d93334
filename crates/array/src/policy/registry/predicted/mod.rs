//! Policies that predict slow reads with a small network that was trained before: LinnOS and
//! Heimdall. They use what the host knows when it decides.
//!
//! Every answered read counts as history, whatever it was for. Reads for parity are sent without a
//! prediction, because only a write waits for them. Reads are also sent while their drive has fewer
//! answered reads than its network has inputs for.

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

/// A network that takes the last `N` reads as inputs.
trait Predict<const N: usize>: Send {
    /// Predicts whether a read will be slow that makes the queue `queue_blocks` long, after the
    /// reads `past`, the newest first.
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
