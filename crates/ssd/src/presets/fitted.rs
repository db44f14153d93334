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

const FITTED: [Fitted; 5] = [
    Fitted {
        name: "pm9a3-960",
        read_overhead: 14_580,
        buffer_latency: 1,
        write_command: 11_440,
        program: 818_980,
        program_pulse: 112_850,
        suspensions_apart: 296_920,
        suspensions: 2,
        buffer_pages: 552,
        turns: None,
        queue: slots(88, Arbitration::Submitters),
    },
    Fitted {
        name: "7450-960",
        read_overhead: 12_460,
        buffer_latency: 8_000,
        write_command: 0,
        program: 2_724_350,
        program_pulse: 123_720,
        suspensions_apart: 369_120,
        suspensions: 4,
        buffer_pages: 406,
        turns: Some(TurnConfig { most_pages: 263, least_pages: 26 }),
        queue: slots(442, Arbitration::OneQueue),
    },
    Fitted {
        name: "p5520-1920",
        read_overhead: 65_130,
        buffer_latency: 1_310,
        write_command: 5_260,
        program: 2_018_350,
        program_pulse: 108_980,
        suspensions_apart: 242_200,
        suspensions: 4,
        buffer_pages: 1_061,
        turns: None,
        queue: slots(445, Arbitration::OneQueue),
    },
    Fitted {
        name: "pe8110-960",
        read_overhead: 6_520,
        buffer_latency: 1_410,
        write_command: 7_480,
        program: 844_370,
        program_pulse: 212_390,
        suspensions_apart: 281_670,
        suspensions: 2,
        buffer_pages: 16_514,
        turns: None,
        queue: slots(97, Arbitration::OneQueue),
    },
    Fitted {
        name: "wd-960",
        read_overhead: 26_260,
        buffer_latency: 10_590,
        write_command: 100,
        program: 1_743_590,
        program_pulse: 172_190,
        suspensions_apart: 494_460,
        suspensions: 4,
        buffer_pages: 16_384,
        turns: None,
        queue: slots(59, Arbitration::OneQueue),
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
