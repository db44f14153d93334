//! Parameters of presets that were fitted to published measurements.
//!
//! The measurements are those of SSD-iq (Haas et al., VLDB 2025). `ioda fit NAME` makes a fit
//! again, and docs/drives-of-today.md says how near each drive comes.

use crate::config::{Arbitration, Config, QueueConfig, TurnConfig};
use units::Duration;

/// Fitted parameters of one drive. Times are in nanoseconds.
struct Fitted {
    name: &'static str,
    read_overhead: u64,
    buffer_latency: u64,
    write_command: u64,
    /// The program of the longest page type; the others have the same share of their times.
    program: u64,
    program_pulse: u64,
    suspensions_apart: u64,
    suspensions: u32,
    buffer_pages: u32,
    turns: Option<TurnConfig>,
    queue: Option<QueueConfig>,
}

const fn slots(depth: u32, arbitration: Arbitration) -> Option<QueueConfig> {
    Some(QueueConfig { depth, arbitration })
}

const FITTED: [Fitted; 6] = [
    Fitted {
        name: "pm9a3-960",
        read_overhead: 14_920,
        buffer_latency: 9_980,
        write_command: 110,
        program: 808_340,
        program_pulse: 93_000,
        suspensions_apart: 305_920,
        suspensions: 2,
        buffer_pages: 497,
        turns: None,
        queue: slots(165, Arbitration::Submitters),
    },
    Fitted {
        name: "7450-960",
        read_overhead: 12_930,
        buffer_latency: 8_000,
        write_command: 0,
        program: 3_001_610,
        program_pulse: 132_640,
        suspensions_apart: 364_570,
        suspensions: 4,
        buffer_pages: 1_014,
        turns: Some(TurnConfig { most_pages: 381, least_pages: 43 }),
        queue: slots(448, Arbitration::OneQueue),
    },
    Fitted {
        name: "p5520-1920",
        read_overhead: 65_130,
        buffer_latency: 760,
        write_command: 5_810,
        program: 1_993_440,
        program_pulse: 199_340,
        suspensions_apart: 239_210,
        suspensions: 4,
        buffer_pages: 3_072,
        turns: None,
        queue: slots(445, Arbitration::OneQueue),
    },
    Fitted {
        name: "pe8110-960",
        read_overhead: 6_650,
        buffer_latency: 1_790,
        write_command: 7_090,
        program: 831_880,
        program_pulse: 234_520,
        suspensions_apart: 389_300,
        suspensions: 2,
        buffer_pages: 1_555,
        turns: None,
        queue: slots(96, Arbitration::OneQueue),
    },
    Fitted {
        name: "wd-960",
        read_overhead: 24_710,
        buffer_latency: 10_590,
        write_command: 100,
        program: 1_762_810,
        program_pulse: 210_110,
        suspensions_apart: 236_230,
        suspensions: 4,
        buffer_pages: 23_064,
        turns: None,
        queue: slots(96, Arbitration::OneQueue),
    },
    Fitted {
        name: "cm7r-3840",
        read_overhead: 25_590,
        buffer_latency: 7_630,
        write_command: 0,
        program: 843_390,
        program_pulse: 445_410,
        suspensions_apart: 19_460,
        suspensions: 1,
        buffer_pages: 1_292,
        turns: Some(TurnConfig { most_pages: 188, least_pages: 59 }),
        queue: slots(430, Arbitration::OneQueue),
    },
];

/// Whether the preset called `name` was fitted.
pub(super) fn is_fitted(name: &str) -> bool {
    FITTED.iter().any(|fitted| fitted.name == name)
}

/// Replaces parameters of the data sheet by fitted ones. A drive that was not fitted stays as it is.
pub(super) fn apply(mut config: Config) -> Config {
    let Some(fitted) = FITTED.iter().find(|fitted| fitted.name == config.name) else {
        return config;
    };
    let nanos = Duration::from_nanos;
    config.timing.read_overhead = nanos(fitted.read_overhead);
    config.timing.write_command = nanos(fitted.write_command);
    if let Some(cells) = &mut config.cells {
        let before = cells.longest_program().as_nanos().max(1);
        for page in &mut cells.page_types {
            page.program = nanos(page.program.as_nanos() * fitted.program / before);
        }
        config.timing.program = cells.mean_program();
    }
    if let Some(suspension) = &mut config.scheduling.suspension {
        suspension.most = fitted.suspensions;
        suspension.pulses.program = nanos(fitted.program_pulse);
        suspension.pulses.apart = nanos(fitted.suspensions_apart);
    }
    if let Some(buffer) = &mut config.write_buffer {
        buffer.latency = nanos(fitted.buffer_latency);
        buffer.pages = fitted.buffer_pages;
    }
    config.scheduling.turns = fitted.turns;
    config.queue = fitted.queue;
    config
}
