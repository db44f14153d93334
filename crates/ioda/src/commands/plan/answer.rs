//! What the arithmetic says to one question.

use super::load::Load;
use super::question::Question;
use super::simulated::Simulated;
use array::Level;
use ssd::{Advice, Config, Outlook, Printed, Promise};

/// One array with everything there is to say about it.
pub(crate) struct Answer {
    /// What was asked.
    pub(crate) question: Question,
    /// The column of Table 2, if this is one of its drives in its array.
    pub(crate) printed: Option<Printed>,
    /// One for each load.
    pub(crate) judged: Vec<Judged>,
}

/// One load judged.
pub(crate) struct Judged {
    /// The load.
    pub(crate) load: Load,
    /// The verdict and its terms.
    pub(crate) outlook: Outlook,
    /// What would make the promise possible.
    pub(crate) advice: Advice,
    /// The same at what the flash can take in, if the load is more than that.
    pub(crate) at_flash: Option<Outlook>,
    /// What a simulation says, if one was asked for.
    pub(crate) simulated: Option<Simulated>,
}

impl Answer {
    /// Answers `question`.
    pub(crate) fn new(question: Question) -> Self {
        let config = &question.config;
        let judge = |load: &Load| {
            let promise = Promise {
                array: question.array,
                guard: question.guard,
                load_bytes_per_second: load.bytes_per_second(config),
                window: question.window,
            };
            let outlook = config.outlook(promise);
            let flash = config.program_bytes_per_second();
            let at_flash = outlook
                .beyond_flash
                .map(|_| config.outlook(Promise { load_bytes_per_second: flash, ..promise }));
            let advice = possible(config.advice(promise), &question);
            Judged { load: load.clone(), outlook, advice, at_flash, simulated: None }
        };
        let judged = question.loads.iter().map(judge).collect();
        let printed = is_of_the_table(&question).then(|| config.printed_table(question.array));
        Self { printed, judged, question }
    }

    /// The drives.
    pub(crate) fn config(&self) -> &Config {
        &self.question.config
    }
}

/// `advice` without arrays that no level of RAID with parity makes; to mirror is another question.
fn possible(advice: Advice, question: &Question) -> Advice {
    let level = question.level;
    let rebuilds = |drives: &u32| Level::Raid6.parities(question.array.width) >= *drives;
    let makes = |width: u32| {
        width >= level.least_width() && (level != Level::Raid10 || width.is_multiple_of(2))
    };
    Advice {
        width: advice.width.filter(|width| makes(*width)),
        busy_drives: advice.busy_drives.filter(rebuilds),
        ..advice
    }
}

/// Whether the article prints a column for exactly this.
fn is_of_the_table(question: &Question) -> bool {
    ssd::MODELS.into_iter().any(|(name, width)| {
        (question.array.width, question.array.parities) == (width, 1)
            && ssd::presets::preset(name).as_ref() == Some(&question.config)
    })
}
