//! LinnOS: a network predicts for each read whether it will be slow, from the queue of its drive
//! and the drive's last reads (LinnOS, OSDI 2020).
//!
//! Its 31 inputs are decimal digits: three for the length of the queue in blocks, and for each of
//! the last four reads three for its queue length and four for its latency in microseconds. It has
//! 256 hidden units, and two outputs, for fast and slow. Reads that it predicts to be slow are
//! reconstructed.
//!
//! Needs nothing from the drives, except training on such drives. Costs the reads of
//! reconstructions: the paper has copies, and a read that goes to another copy costs nothing.
//! Trained by `scripts/train-predictors`; `docs/predictors.md` says where it differs from the
//! paper, and how well it predicts.

use super::history::Past;
use super::network::{HEAD_BYTES, Layer, Numbers};
use super::{Predict, Predictor};
use crate::policy::{About, DriveChanges, Needs, PolicyKind, TrainedOn, WindowUse};
use alloc::boxed::Box;
use nvme::Untimed;

/// The policy.
pub(in super::super) const LINNOS: PolicyKind = PolicyKind::new(&About {
    name: "linnos",
    label: "LinnOS",
    summary: "a network predicts slow reads from the last four; they are reconstructed",
    source: "LinnOS, OSDI 2020",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(Predictor::new(setup, Linnos::new(setup.settings.predictor))),
});

const PAST: usize = 4;
const QUEUE_DIGITS: usize = 3;
const LATENCY_DIGITS: usize = 4;
pub(super) const INPUTS: usize = (PAST + 1) * QUEUE_DIGITS + PAST * LATENCY_DIGITS;
/// Length of a row with room for the inputs.
const ROW: usize = 32;
const HIDDEN: usize = 256;
const BYTES: usize =
    HEAD_BYTES + Layer::<ROW>::bytes(INPUTS, HIDDEN) + Layer::<HIDDEN>::bytes(HIDDEN, 2);

/// The network, with buffers for the outputs of its layers.
pub(super) struct Linnos {
    pub(super) first: Layer<ROW>,
    pub(super) last: Layer<HIDDEN>,
    inputs: [i16; ROW],
    hidden: [i16; HIDDEN],
}

pub(super) const fn model(drive: TrainedOn) -> &'static [u8; BYTES] {
    match drive {
        TrainedOn::Pm9a3 => include_bytes!("models/linnos-pm9a3-960.bin"),
        TrainedOn::Micron7450 => include_bytes!("models/linnos-7450-960.bin"),
        TrainedOn::P5520 => include_bytes!("models/linnos-p5520-1920.bin"),
        TrainedOn::Pe8110 => include_bytes!("models/linnos-pe8110-960.bin"),
        TrainedOn::Wd => include_bytes!("models/linnos-wd-960.bin"),
        TrainedOn::Cm7r => include_bytes!("models/linnos-cm7r-3840.bin"),
    }
}

impl Linnos {
    pub(super) fn new(drive: TrainedOn) -> Self {
        let mut numbers = Numbers::of(model(drive));
        Self {
            first: Layer::read(&mut numbers, INPUTS, HIDDEN),
            last: Layer::read(&mut numbers, HIDDEN, 2),
            inputs: [0; ROW],
            hidden: [0; HIDDEN],
        }
    }

    /// Digits of queues, the oldest read's first and this read's last, and digits of latencies.
    pub(super) fn inputs(&mut self, queue_blocks: u32, past: &[Past; PAST]) -> &[i16; ROW] {
        let (queues, latencies) = self.inputs.split_at_mut((PAST + 1) * QUEUE_DIGITS);
        let mut queues = queues.as_chunks_mut::<QUEUE_DIGITS>().0.iter_mut();
        let latencies = latencies.as_chunks_mut::<LATENCY_DIGITS>().0.iter_mut();
        for ((past, queue), latency) in past.iter().rev().zip(&mut queues).zip(latencies) {
            write_digits(past.queue_blocks, queue);
            write_digits(past.latency_micros, latency);
        }
        if let Some(own) = queues.next() {
            write_digits(queue_blocks, own);
        }
        &self.inputs
    }
}

impl Predict<PAST> for Linnos {
    fn is_slow(&mut self, queue_blocks: u32, past: &[Past; PAST]) -> bool {
        self.inputs(queue_blocks, past);
        self.first.activate(&self.inputs, &mut self.hidden);
        let [fast, slow] = self.last.outputs(&self.hidden);
        slow > fast
    }
}

/// Writes the decimal digits of `number`, the most significant first; nines if it has more digits.
fn write_digits<const N: usize>(number: u32, digits: &mut [i16; N]) {
    let mut rest = number.min(10_u32.pow(N as u32) - 1);
    for digit in digits.iter_mut().rev() {
        *digit = (rest % 10) as i16;
        rest /= 10;
    }
}
