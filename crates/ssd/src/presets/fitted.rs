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
    /// Time to program the longest page type; the times of the others are scaled by the same
    /// factor.
    program: u64,
    program_pulse: u64,
    suspensions_apart: u64,
    suspensions: u32,
    /// Blocks of the simulated drive that one erase takes together, without suspension; 0 for one
    /// block, which reads suspend.
    erase_blocks: u32,
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
        read_overhead: 15_400,
        buffer_latency: 1,
        write_command: 10_870,
        program: 816_580,
        program_pulse: 96_680,
        suspensions_apart: 245_910,
        suspensions: 2,
        erase_blocks: 2,
        buffer_pages: 572,
        turns: None,
        queue: slots(95, Arbitration::Submitters),
    },
    Fitted {
        name: "7450-960",
        read_overhead: 12_100,
        buffer_latency: 8_000,
        write_command: 0,
        program: 2_912_790,
        program_pulse: 121_270,
        suspensions_apart: 369_140,
        suspensions: 8,
        erase_blocks: 5,
        buffer_pages: 542,
        turns: Some(TurnConfig { most_pages: 249, least_pages: 25 }),
        queue: slots(438, Arbitration::OneQueue),
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
        erase_blocks: 0,
        buffer_pages: 3_072,
        turns: None,
        queue: slots(445, Arbitration::OneQueue),
    },
    Fitted {
        name: "pe8110-960",
        read_overhead: 5_670,
        buffer_latency: 980,
        write_command: 7_900,
        program: 813_620,
        program_pulse: 219_060,
        suspensions_apart: 430_460,
        suspensions: 2,
        erase_blocks: 2,
        buffer_pages: 1_761,
        turns: None,
        queue: slots(98, Arbitration::OneQueue),
    },
    Fitted {
        name: "wd-960",
        read_overhead: 26_950,
        buffer_latency: 2_000,
        write_command: 8_690,
        program: 1_736_440,
        program_pulse: 190_270,
        suspensions_apart: 244_220,
        suspensions: 4,
        erase_blocks: 3,
        buffer_pages: 17_051,
        turns: None,
        queue: slots(56, Arbitration::OneQueue),
    },
    Fitted {
        name: "cm7r-3840",
        read_overhead: 25_710,
        buffer_latency: 7_630,
        write_command: 0,
        program: 656_920,
        program_pulse: 355_110,
        suspensions_apart: 0,
        suspensions: 1,
        erase_blocks: 4,
        buffer_pages: 773,
        turns: Some(TurnConfig { most_pages: 133, least_pages: 119 }),
        queue: slots(493, Arbitration::OneQueue),
    },
];

/// Whether the preset called `name` was fitted.
pub(super) fn is_fitted(name: &str) -> bool {
    FITTED.iter().any(|fitted| fitted.name == name)
}

/// Replaces parameters of the data sheet by fitted ones. A drive that was not fitted is unchanged.
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
        if fitted.erase_blocks > 0 {
            config.timing.blocks_per_erase = fitted.erase_blocks;
            suspension.leave_erases_whole();
        }
    }
    if let Some(buffer) = &mut config.write_buffer {
        buffer.latency = nanos(fitted.buffer_latency);
        buffer.pages = fitted.buffer_pages;
    }
    config.scheduling.turns = fitted.turns;
    config.queue = fitted.queue;
    config
}
