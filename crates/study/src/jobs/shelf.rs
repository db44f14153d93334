//! Prepared drives that runs take copies of.

use sim::{Plan, PlanError, Preparation};
use ssd::Ssd;
use std::sync::{Arc, Mutex, PoisonError};

/// The drives that were prepared last. Jobs that need the same follow each other, so there are
/// never more than two kinds in memory.
#[derive(Default)]
pub struct Shelf {
    prepared: Mutex<Option<(String, Arc<Vec<Ssd>>)>>,
}

impl Shelf {
    /// A copy of the drives of `plan`.
    pub(super) fn take(&self, plan: &Plan) -> Result<Vec<Ssd>, PlanError> {
        let kind = kind(plan);
        let shared = {
            let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
            match &*prepared {
                Some((known, drives)) if *known == kind => Arc::clone(drives),
                _ => {
                    let drives = Arc::new(sim::prepare_drives(plan)?);
                    *prepared = Some((kind, Arc::clone(&drives)));
                    drives
                }
            }
        };
        Ok(shared.to_vec())
    }
}

/// Everything that decides what prepared drives are like.
fn kind(plan: &Plan) -> String {
    let Plan { drive, width, spare, preparation, seed, .. } = plan;
    let array = match preparation {
        // A load reaches drives through the layout.
        Preparation::Load(_) => {
            format!("{:?}, {:?}, {}", plan.level, plan.stripe_width, plan.chunk_bytes)
        }
        Preparation::Aged | Preparation::Steady | Preparation::Fresh => String::new(),
    };
    format!("{drive:?}, {width}, {spare:?}, {preparation:?}, {array}, {seed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_share_drives_only_where_these_are_prepared_alike() {
        let plan = |text: &str| {
            let settings = crate::settings::parse(text, "a.toml").unwrap();
            crate::setup::plan(&settings, 1).unwrap()
        };
        let usual = kind(&plan(""));
        assert_eq!(kind(&plan("[array]\ntw = '80ms'\n[windows]\nclock_skew = '1ms'\n")), usual);
        for text in [
            "[array]\ndrives = 5\n",
            "[array]\nspare = '5%'\n",
            "[drive]\nover_provisioning = '30%'\n",
            "[run]\nprecondition = 'fresh'\n",
        ] {
            assert_ne!(kind(&plan(text)), usual, "{text}");
        }
    }
}
