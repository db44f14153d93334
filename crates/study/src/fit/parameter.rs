//! Parameters of a drive that a fit may set.

use ssd::{Config, QueueConfig, Suspendable, SuspensionConfig, TurnConfig, WriteBufferConfig};
use units::Duration;

/// A parameter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Parameter {
    /// Time that controller, host and firmware add to a read.
    ReadOverhead,
    /// Time to acknowledge a write that is in the buffer.
    BufferLatency,
    /// Time to program what is programmed at a time.
    Program,
    /// Length of a pulse of a program.
    ProgramPulse,
    /// Least time between two suspensions.
    SuspensionsApart,
    /// Most suspensions of one program or erase.
    Suspensions,
    /// Blocks of the simulated drive that are erased at a time, without suspension; 0 for one at a
    /// time, which reads suspend.
    EraseBlocks,
    /// Most pages that a die moves in the turn of collections.
    TurnPages,
    /// Least of these pages, while writes wait for room in the buffer.
    LeastTurnPages,
    /// Pages of the write buffer.
    BufferPages,
    /// Time for which the firmware takes in a write, one after the other. The constant latency of a
    /// write stays as it is: what is added here leaves the buffer latency.
    WriteCommand,
    /// Commands that the drive works on at a time.
    QueueDepth,
}

impl Parameter {
    /// All parameters.
    pub const ALL: [Self; 12] = [
        Self::ReadOverhead,
        Self::BufferLatency,
        Self::Program,
        Self::ProgramPulse,
        Self::SuspensionsApart,
        Self::Suspensions,
        Self::EraseBlocks,
        Self::TurnPages,
        Self::LeastTurnPages,
        Self::BufferPages,
        Self::WriteCommand,
        Self::QueueDepth,
    ];

    /// Its key in `[drive]`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::ReadOverhead => "read_overhead",
            Self::BufferLatency => "buffer_latency",
            Self::Program => "cells.programs",
            Self::ProgramPulse => "program_pulse",
            Self::SuspensionsApart => "suspensions_apart",
            Self::Suspensions => "suspensions",
            Self::EraseBlocks => "blocks_per_erase",
            Self::TurnPages => "turn_pages",
            Self::LeastTurnPages => "least_turn_pages",
            Self::BufferPages => "write_buffer",
            Self::WriteCommand => "write_command_time",
            Self::QueueDepth => "queue_depth",
        }
    }

    /// Unit of its values.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Suspensions => "",
            Self::QueueDepth => "commands",
            Self::EraseBlocks => "blocks",
            Self::TurnPages | Self::LeastTurnPages | Self::BufferPages => "pages",
            _ => "us",
        }
    }

    /// Its value in a drive, in its unit: 0 for turns and slots that the drive does without. `None`
    /// if the drive has no such part.
    #[must_use]
    pub fn get(self, drive: &Config) -> Option<f64> {
        let suspension = drive.scheduling.suspension;
        let buffer = drive.write_buffer;
        let micros = Duration::as_micros_f64;
        let turn = |pages: fn(TurnConfig) -> u32| {
            let scheduling = drive.scheduling;
            scheduling.paced_writes.then(|| f64::from(scheduling.turns.map_or(0, pages)))
        };
        match self {
            Self::ReadOverhead => Some(micros(drive.timing.read_overhead)),
            Self::BufferLatency => buffer.map(|buffer| micros(buffer.latency)),
            Self::Program => drive.cells.map(|cells| micros(cells.longest_program())),
            Self::ProgramPulse => suspension.map(|suspension| micros(suspension.pulses.program)),
            Self::SuspensionsApart => suspension.map(|suspension| micros(suspension.pulses.apart)),
            Self::Suspensions => suspension.map(|suspension| f64::from(suspension.most)),
            Self::EraseBlocks => suspension.map(|suspension| match suspension.what {
                Suspendable::Programs => f64::from(drive.timing.blocks_per_erase),
                _ => 0.0,
            }),
            Self::TurnPages => turn(|turns| turns.most_pages),
            Self::LeastTurnPages => turn(|turns| turns.least_pages),
            Self::BufferPages => buffer.map(|buffer| f64::from(buffer.pages)),
            Self::WriteCommand => buffer.map(|_| micros(drive.timing.write_command)),
            Self::QueueDepth => Some(drive.queue.map_or(0.0, |queue| f64::from(queue.depth))),
        }
    }

    /// Sets it; nothing if the drive has no such part. A drive without turns has no least turn, and
    /// one that works on all its commands no depth.
    pub fn set(self, drive: &mut Config, value: f64) {
        let value = value.max(0.0);
        let micros = Duration::from_nanos((value * 1e3).round() as u64);
        let whole = value.round() as u32;
        let suspension = |drive: &mut Config, change: fn(&mut SuspensionConfig, Duration, u32)| {
            if let Some(suspension) = &mut drive.scheduling.suspension {
                change(suspension, micros, whole);
            }
        };
        let buffer = |drive: &mut Config, change: fn(&mut WriteBufferConfig, Duration, u32)| {
            if let Some(buffer) = &mut drive.write_buffer {
                change(buffer, micros, whole);
            }
        };
        match self {
            Self::ReadOverhead => drive.timing.read_overhead = micros,
            Self::BufferLatency => {
                buffer(drive, |buffer, length, _| {
                    buffer.latency = length.max(Duration::from_nanos(1));
                });
            }
            Self::Program => set_program(drive, value),
            Self::ProgramPulse => suspension(drive, |s, length, _| s.pulses.program = length),
            Self::SuspensionsApart => suspension(drive, |s, length, _| s.pulses.apart = length),
            Self::Suspensions => suspension(drive, |s, _, most| s.most = most.max(1)),
            Self::EraseBlocks => {
                drive.timing.blocks_per_erase = whole.max(1);
                if let Some(suspension) = &mut drive.scheduling.suspension {
                    match whole {
                        0 => suspension.what = Suspendable::Everything,
                        _ => suspension.leave_erases_whole(),
                    }
                }
            }
            Self::TurnPages => {
                let least = drive.scheduling.turns.map_or(whole, |turns| turns.least_pages);
                let turns = TurnConfig { most_pages: whole, least_pages: least.min(whole) };
                drive.scheduling.turns = (whole > 0).then_some(turns);
            }
            Self::LeastTurnPages => {
                if let Some(turns) = &mut drive.scheduling.turns {
                    turns.least_pages = whole.clamp(1, turns.most_pages);
                }
            }
            Self::BufferPages => buffer(drive, |buffer, _, pages| buffer.pages = pages.max(1)),
            Self::WriteCommand => {
                let before = drive.timing.write_command;
                if let Some(buffer) = &mut drive.write_buffer {
                    let constant = buffer.latency + before;
                    buffer.latency = constant.saturating_sub(micros).max(Duration::from_nanos(1));
                    drive.timing.write_command = micros;
                }
            }
            Self::QueueDepth => {
                if let Some(QueueConfig { depth, .. }) = &mut drive.queue {
                    *depth = whole.max(1);
                }
            }
        }
    }

    /// Least and most value that a fit tries: with `drive` as it was before the fit.
    #[must_use]
    pub fn bounds(self, drive: &Config) -> (f64, f64) {
        let unit = drive.cells.map_or(1.0, |cells| f64::from(cells.unit_pages()));
        let program = Self::Program.get(drive).unwrap_or(1.0);
        match self {
            Self::ReadOverhead => (0.1, 500.0),
            Self::BufferLatency => (0.5, 500.0),
            Self::Program => (program * 0.4, program * 2.5),
            Self::ProgramPulse => (5.0, program * 0.5),
            Self::SuspensionsApart => (5.0, program * 2.0),
            Self::Suspensions => (1.0, 20.0),
            Self::EraseBlocks => (1.0, 64.0),
            Self::TurnPages => (unit, unit * 32.0),
            Self::LeastTurnPages => (unit / 8.0, unit * 32.0),
            Self::BufferPages => (unit * 2.0, unit * 1_024.0),
            Self::WriteCommand => (0.1, 100.0),
            Self::QueueDepth => (8.0, 4_096.0),
        }
    }
}

/// Scales the programs of all page types so that the longest takes `micros`.
fn set_program(drive: &mut Config, micros: f64) {
    let Some(cells) = &mut drive.cells else { return };
    let before = cells.longest_program().as_micros_f64();
    for page in &mut cells.page_types {
        let scaled = page.program.as_nanos() as f64 * micros / before.max(1e-9);
        page.program = Duration::from_nanos(scaled.round() as u64);
    }
    drive.timing.program = cells.mean_program();
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd::Arbitration;

    #[test]
    fn values_survive_being_set() {
        let mut drive = ssd::presets::preset("7450-960").unwrap();
        drive.queue = Some(QueueConfig { depth: 1, arbitration: Arbitration::OneQueue });
        for parameter in Parameter::ALL {
            let (least, most) = parameter.bounds(&drive);
            let middle = (least * most).sqrt();
            parameter.set(&mut drive, middle);
            let value = parameter.get(&drive).unwrap();
            assert!((value - middle).abs() <= 0.5, "{parameter:?}: {value} for {middle}");
        }
    }
}
