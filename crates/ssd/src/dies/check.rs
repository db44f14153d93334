//! Checks of the dies: their operations, queues, deadlines and channels agree.

use crate::config::PreemptionScope;
use crate::dies::DieArray;
use crate::dies::die::{State, Step};
use crate::dies::ops::{Op, Task};
use alloc::vec::Vec;
use units::{Duration, Instant};

/// Flash pages that are allocated and not mapped yet: those of copies, and of programs that wait or
/// are in service. Pages of RAIN stripes are left out.
pub(crate) fn pages_in_flight(dies: &DieArray) -> impl Iterator<Item = u32> + '_ {
    dies.dies.iter().flat_map(|die| {
        let queued = die.queue.iter(&dies.ops).filter_map(|op| target_of(op.task));
        let now = [Some(die.state), die.interruption.state_before()];
        queued.chain(now.into_iter().flatten().filter_map(|state| match state {
            State::Serving(task, _) => target_of(task),
            State::Copying(copy, _) => Some(copy.to),
            _ => None,
        }))
    })
}

/// Operations that wait or are in service, each with its die.
pub(crate) fn tasks(dies: &DieArray) -> impl Iterator<Item = (u32, Task)> + '_ {
    dies.dies.iter().zip(0..).flat_map(|(die, number)| {
        let now = [Some(die.state), die.interruption.state_before()];
        let served = now.into_iter().flatten().filter_map(|state| match state {
            State::Serving(task, _) => Some(task),
            _ => None,
        });
        let queued = die.queue.iter(&dies.ops).map(|op| op.task);
        let planes = dies.planes.iter().flat_map(move |planes| planes.tasks(number));
        queued.chain(served).chain(planes).map(move |task| (number, task))
    })
}

/// Checks that queues, deadlines and channels agree with what the dies do.
pub(crate) fn check_invariants(dies: &DieArray) {
    let (mut held_up, mut queued) = (0, 0);
    for (die, index) in dies.dies.iter().zip(0..) {
        let due = dies.deadlines.get(index);
        assert!(
            die.follows.is_none() || (die.state == State::Held && die.collection.is_some()),
            "die {index} follows another and is not held"
        );
        let waits = match die.state {
            State::Held => true,
            State::Serving(_, step)
            | State::Copying(_, step)
            | State::Scrubbing(_, step)
            | State::Gathering(step)
            | State::Relocating(step) => step == Step::WaitChannel,
            State::Reading => {
                assert!(dies.is_reading(index as u32), "die {index} reads on no plane");
                true
            }
            State::Idle => {
                assert!(die.queue.front().is_none(), "die {index} idles while work waits");
                // A collection may stand back for others on its channel, or for the host's turn.
                let stands_back = dies.scheduling.preemption_scope == PreemptionScope::Channel
                    || dies.scheduling.turns.is_some();
                assert!((die.job.is_none() || stands_back) && !die.interruption.is_suspended());
                continue;
            }
            State::Erasing | State::Suspending => false,
        };
        assert_eq!(
            waits,
            due == Instant::NEVER,
            "die {index} in {:?} is due at {due:?}",
            die.state
        );
        assert!(die.job.is_none() || die.collection.is_some(), "a job without a collection");
        let waiting = |op: &&Op| op.held_up;
        let behind = die.queue.iter(&dies.ops).filter(waiting).count();
        assert_eq!(behind, die.queue.held_up as usize, "operations held up on die {index}");
        let work = die.queue.iter(&dies.ops).map(|op| op.service);
        assert_eq!(work.fold(Duration::ZERO, |sum, one| sum + one), die.queue.work);
        held_up += die.queue.held_up;
        queued += die.queue.iter(&dies.ops).count();
    }
    assert_eq!(held_up, dies.held_up, "operations held up on all dies");
    assert_eq!(queued, dies.ops.len(), "operations in queues");
    for (channel, number) in dies.channels.iter().zip(0..) {
        let moving = dies.dies.iter().filter(|die| die.channel == number);
        let moving = moving.filter(|die| is_in(die.state, Step::Transfer)).count()
            + dies.planes_in(Step::Transfer, number);
        assert_eq!(moving, usize::from(channel.busy), "pages on channel {number}");
        let (planes, waiting): (Vec<u32>, Vec<u32>) =
            channel.waiting.iter().partition(|&&source| source >= dies.len());
        assert!(waiting.iter().all(|&die| is_in(dies.die(die).state, Step::WaitChannel)));
        assert_eq!(planes.len(), dies.planes_in(Step::WaitChannel, number));
    }
}

/// The flash page that an operation programs and that is mapped when it is done.
fn target_of(task: Task) -> Option<u32> {
    match task {
        Task::Program { flash, .. } | Task::Flush { flash, .. } => Some(flash),
        _ => None,
    }
}

fn is_in(state: State, wanted: Step) -> bool {
    match state {
        State::Serving(_, step)
        | State::Copying(_, step)
        | State::Scrubbing(_, step)
        | State::Gathering(step)
        | State::Relocating(step) => step == wanted,
        _ => false,
    }
}
