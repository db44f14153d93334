//! Parameters of a drive that a fit may set.

use ssd::{Config, SuspensionConfig, WriteBufferConfig};
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
    /// Pages that a die moves in the turn of collections.
    TurnPages,
    /// Pages of the write buffer.
    BufferPages,
}

impl Parameter {
    /// All parameters.
    pub const ALL: [Self; 8] = [
        Self::ReadOverhead,
        Self::BufferLatency,
        Self::Program,
        Self::ProgramPulse,
        Self::SuspensionsApart,
        Self::Suspensions,
        Self::TurnPages,
        Self::BufferPages,
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
            Self::TurnPages => "turn_pages",
            Self::BufferPages => "write_buffer",
        }
    }

    /// Unit of its values.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Suspensions => "",
            Self::TurnPages | Self::BufferPages => "pages",
            _ => "us",
        }
    }

    /// Its value in a drive, in its unit; `None` if the drive has no such part.
    #[must_use]
    pub fn get(self, drive: &Config) -> Option<f64> {
        let suspension = drive.scheduling.suspension;
        let buffer = drive.write_buffer;
        let micros = Duration::as_micros_f64;
        match self {
            Self::ReadOverhead => Some(micros(drive.timing.read_overhead)),
            Self::BufferLatency => buffer.map(|buffer| micros(buffer.latency)),
            Self::Program => drive.cells.map(|cells| micros(cells.longest_program())),
            Self::ProgramPulse => suspension.map(|suspension| micros(suspension.pulses.program)),
            Self::SuspensionsApart => suspension.map(|suspension| micros(suspension.pulses.apart)),
            Self::Suspensions => suspension.map(|suspension| f64::from(suspension.most)),
            Self::TurnPages => {
                drive.scheduling.paced_writes.then_some(f64::from(drive.scheduling.turn_pages))
            }
            Self::BufferPages => buffer.map(|buffer| f64::from(buffer.pages)),
        }
    }

    /// Sets it; nothing if the drive has no such part.
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
            Self::TurnPages => drive.scheduling.turn_pages = whole,
            Self::BufferPages => buffer(drive, |buffer, _, pages| buffer.pages = pages.max(1)),
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
            Self::TurnPages => (unit, unit * 32.0),
            Self::BufferPages => (unit, unit * 1_024.0),
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

    #[test]
    fn values_survive_being_set() {
        let mut drive = ssd::presets::preset("7450-960").unwrap();
        for parameter in Parameter::ALL {
            let (least, most) = parameter.bounds(&drive);
            let middle = (least * most).sqrt();
            parameter.set(&mut drive, middle);
            let value = parameter.get(&drive).unwrap();
            assert!((value - middle).abs() <= 0.5, "{parameter:?}: {value} for {middle}");
        }
    }
}
