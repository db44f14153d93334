//! Heimdall: a network predicts for each read whether its drive is in a slow period, from its queue
//! and the last reads (Heimdall, EuroSys 2025).
//!
//! Its 11 inputs are the length of the queue, the size of the read in blocks, and for each of the
//! last three reads its queue length, latency and throughput, scaled to the ranges of the training.
//! It has 128 and 16 hidden units, and one output. Reads that it predicts to be slow are
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
pub(in super::super) const HEIMDALL: PolicyKind = PolicyKind::new(&About {
    name: "heimdall",
    label: "Heimdall",
    summary: "a network predicts slow periods from the last three reads; reads are reconstructed",
    source: "Heimdall, EuroSys 2025",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(Predictor::new(setup, Heimdall::new(setup.settings.predictor))),
});

const PAST: usize = 3;
pub(super) const INPUTS: usize = 2 + 3 * PAST;
/// Length of a row with room for the inputs.
const ROW: usize = 16;
const HIDDEN: usize = 128;
const SECOND: usize = 16;
const BYTES: usize = HEAD_BYTES
    + 8 * INPUTS
    + Layer::<ROW>::bytes(INPUTS, HIDDEN)
    + Layer::<HIDDEN>::bytes(HIDDEN, SECOND)
    + Layer::<SECOND>::bytes(SECOND, 1);
/// Blocks of the read to be judged. The models know no other size: with chunks of one block there
/// is none.
const OWN_BLOCKS: u32 = 1;
/// Bytes of a block, for throughputs.
const BLOCK_BYTES: u32 = 4096;
/// Scaled value of the greatest input of the training.
const UNIT: u64 = 4096;
/// Greatest scaled value: four times the range of the training.
pub(super) const MOST_INPUT: u64 = 4 * UNIT - 1;

/// Scaling of an input.
#[derive(Clone, Copy, Default)]
struct Scale {
    least: u32,
    span: u32,
    /// `UNIT / span`, with 32 bits behind the point.
    inverse: u64,
}

impl Scale {
    fn new(least: u32, span: u32) -> Self {
        Self { least, span, inverse: (UNIT << 32).checked_div(u64::from(span)).unwrap_or(0) }
    }

    fn apply(&self, value: u32) -> i16 {
        let above = u64::from(value.saturating_sub(self.least)).min(4 * u64::from(self.span));
        ((above * self.inverse) >> 32).min(MOST_INPUT) as i16
    }
}

/// The network, with buffers for the outputs of its layers.
pub(super) struct Heimdall {
    scales: [Scale; INPUTS],
    pub(super) first: Layer<ROW>,
    pub(super) second: Layer<HIDDEN>,
    pub(super) last: Layer<SECOND>,
    inputs: [i16; ROW],
    hidden: [i16; HIDDEN],
    hidden_second: [i16; SECOND],
}

pub(super) const fn model(drive: TrainedOn) -> &'static [u8; BYTES] {
    match drive {
        TrainedOn::Pm9a3 => include_bytes!("models/heimdall-pm9a3-960.bin"),
        TrainedOn::Micron7450 => include_bytes!("models/heimdall-7450-960.bin"),
        TrainedOn::P5520 => include_bytes!("models/heimdall-p5520-1920.bin"),
        TrainedOn::Pe8110 => include_bytes!("models/heimdall-pe8110-960.bin"),
        TrainedOn::Wd => include_bytes!("models/heimdall-wd-960.bin"),
        TrainedOn::Cm7r => include_bytes!("models/heimdall-cm7r-3840.bin"),
    }
}

impl Heimdall {
    pub(super) fn new(drive: TrainedOn) -> Self {
        let mut numbers = Numbers::of(model(drive));
        let scales = core::array::from_fn(|_| Scale::new(numbers.next_u32(), numbers.next_u32()));
        Self {
            scales,
            first: Layer::read(&mut numbers, INPUTS, HIDDEN),
            second: Layer::read(&mut numbers, HIDDEN, SECOND),
            last: Layer::read(&mut numbers, SECOND, 1),
            inputs: [0; ROW],
            hidden: [0; HIDDEN],
            hidden_second: [0; SECOND],
        }
    }

    /// The inputs, scaled to the ranges of the training.
    pub(super) fn scaled(&mut self, queue_blocks: u32, past: &[Past; PAST]) -> &[i16; ROW] {
        let values = inputs(queue_blocks, past).into_iter().zip(&self.scales);
        for (input, (value, scale)) in self.inputs.iter_mut().zip(values) {
            *input = scale.apply(value);
        }
        &self.inputs
    }
}

/// Queue and size of this read; queues, latencies and throughputs of the last, newest first.
pub(super) fn inputs(queue_blocks: u32, past: &[Past; PAST]) -> [u32; INPUTS] {
    let mut inputs = [0; INPUTS];
    (inputs[0], inputs[1]) = (queue_blocks, OWN_BLOCKS);
    for (number, past) in past.iter().enumerate() {
        inputs[2 + number] = past.queue_blocks;
        inputs[2 + PAST + number] = past.latency_micros;
        // Bytes in a microsecond, rounded.
        let micros = past.latency_micros.max(1);
        let bytes = past.blocks.saturating_mul(BLOCK_BYTES);
        inputs[2 + 2 * PAST + number] = bytes.saturating_add(micros / 2) / micros;
    }
    inputs
}

impl Predict<PAST> for Heimdall {
    fn is_slow(&mut self, queue_blocks: u32, past: &[Past; PAST]) -> bool {
        self.scaled(queue_blocks, past);
        self.first.activate(&self.inputs, &mut self.hidden);
        self.second.activate(&self.hidden, &mut self.hidden_second);
        let [slow] = self.last.outputs(&self.hidden_second);
        slow > 0
    }
}
