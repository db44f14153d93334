//! Experiments in their order while runs are being made: an experiment is judged as soon as it has
//! its runs, and what no later experiment needs is let go, so that memory does not grow with their
//! number.

use super::packed::PackedGroup;
use super::runs::{self, Group, How, Order, Results};
use super::{Experiment, Judged, judge, memory};
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
    group: Option<PackedGroup>,
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
            let needs = |index: &usize| orders[*index].experiments.contains(&next);
            let needed: Vec<usize> = (0..orders.len()).filter(needs).collect();
            if needed.iter().any(|&index| slots[index].group.is_none()) {
                break;
            }
            let groups = judge_one(experiment, &needed, slots, quick, &mut tell)?;
            for (&index, group) in needed.iter().zip(&groups) {
                if orders[index].experiments.last() == Some(&next) {
                    let Slot { claims, is_plain, .. } = std::mem::take(&mut slots[index]);
                    tell(Event::Done(Done { index, group, claims: &claims, is_plain }))?;
                }
            }
            next += 1;
        }
        Ok(())
    };
    // Experiments about plans need no runs.
    judge_ready(&mut slots)?;
    let each_bytes = match experiments.iter().any(|experiment| experiment.on_request) {
        true => memory::EACH_ON_REQUEST_BYTES,
        false => memory::EACH_BYTES,
    };
    runs::run(orders, how, each_bytes, |index, group| {
        slots[index].group = Some(PackedGroup::new(group)?);
        judge_ready(&mut slots)
    })
}

/// Judges an experiment on the runs of the orders that it needs, and notes its claims there.
/// Returns the runs.
fn judge_one(
    experiment: &Experiment,
    needed: &[usize],
    slots: &mut [Slot],
    quick: bool,
    tell: &mut impl FnMut(Event<'_>) -> Result<(), Failure>,
) -> Result<Vec<Group>, Failure> {
    let packed = needed.iter().filter_map(|&index| slots[index].group.as_ref());
    let groups: Vec<Group> = packed.map(PackedGroup::unpack).collect::<Result<_, _>>()?;
    let results = Results::of(groups.iter(), experiment, quick)?;
    let claims = judge(&experiment.subject(), &experiment.claims, &results);
    let judged: Judged<'_> = (experiment, results, claims);
    tell(Event::Judged(&judged))?;
    let (_, _, claims) = judged;
    for &index in needed {
        slots[index].claims.extend(claims.iter().cloned());
        slots[index].is_plain |= experiment.variants.is_empty();
    }
    Ok(groups)
}
