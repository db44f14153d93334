//! Experiments in their order while runs are being made: an experiment is judged as soon as it has
//! its runs, and what no later experiment needs is let go, so that memory does not grow with their
//! number.

use super::runs::{self, Group, How, Order, Results};
use super::{Experiment, Judged, judge};
use crate::failure::Failure;
use report::Claim;

/// What has become known.
pub enum Event<'a> {
    /// An experiment is judged; they come in their order.
    Judged(&'a Judged<'a>),
    /// All experiments that need these runs are judged, and they are about to be let go.
    Done(Done<'a>),
}

/// Runs that nothing needs any more.
pub struct Done<'a> {
    /// Index of its order.
    pub index: usize,
    /// The runs.
    pub group: &'a Group,
    /// The claims that are about them.
    pub claims: &'a [Claim],
    /// Whether some experiment shows them without others beside them.
    pub is_plain: bool,
}

/// What is known of the runs of an order.
#[derive(Default)]
struct Slot {
    group: Option<Group>,
    claims: Vec<Claim>,
    is_plain: bool,
}

/// Makes the runs of `orders` and judges `experiments`; `tell` is called with each event.
pub fn run(
    experiments: &[Experiment],
    orders: &[Order],
    quick: bool,
    how: How<'_>,
    mut tell: impl FnMut(Event<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut slots: Vec<Slot> = orders.iter().map(|_| Slot::default()).collect();
    let mut next = 0;
    let mut judge_ready = |slots: &mut [Slot]| {
        while let Some(experiment) = experiments.get(next) {
            let needs = |order: &Order| order.experiments.contains(&next);
            let mut needed = orders.iter().zip(slots.iter()).filter(|(order, _)| needs(order));
            if needed.any(|(_, slot)| slot.group.is_none()) {
                break;
            }
            judge_one(experiment, slots, quick, &mut tell)?;
            for (index, order) in orders.iter().enumerate() {
                if order.experiments.last() == Some(&next) {
                    let Slot { group, claims, is_plain } = std::mem::take(&mut slots[index]);
                    if let Some(group) = group {
                        let done = Done { index, group: &group, claims: &claims, is_plain };
                        tell(Event::Done(done))?;
                    }
                }
            }
            next += 1;
        }
        Ok(())
    };
    // Experiments about plans need no runs.
    judge_ready(&mut slots)?;
    runs::run(orders, how, |index, group| {
        slots[index].group = Some(group);
        judge_ready(&mut slots)
    })
}

/// Judges an experiment, and notes its claims at the runs that they are about.
fn judge_one(
    experiment: &Experiment,
    slots: &mut [Slot],
    quick: bool,
    tell: &mut impl FnMut(Event<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let groups = slots.iter().filter_map(|slot| slot.group.as_ref());
    let results = Results::of(groups, experiment, quick)?;
    let claims = judge(&experiment.subject(), &experiment.claims, &results);
    let judged: Judged<'_> = (experiment, results, claims);
    tell(Event::Judged(&judged))?;
    let (_, results, claims) = judged;
    let about: Vec<bool> = slots
        .iter()
        .map(|slot| slot.group.as_ref().is_some_and(|group| results.has(group)))
        .collect();
    for (slot, _) in slots.iter_mut().zip(about).filter(|(_, about)| *about) {
        slot.claims.extend(claims.iter().cloned());
        slot.is_plain |= experiment.variants.is_empty();
    }
    Ok(())
}
