//! Invariants that hold between any two inputs.

use super::Array;
use super::kinds::{Rewrite, Settle, Settler, Write};
use crate::action::OpId;
use crate::operation::{Phase, Work};
use units::Observe;

/// Whether an operation with media errors has something to wait for.
fn waits<O: Observe>(array: &Array<O>, op: OpId) -> bool {
    array.jobs.repairs.is_waiting(op) || !array.stripes.ops[op].fetch.outstanding().is_empty()
}

/// Panics if operations contradict the machines that serve them.
pub(super) fn check_operations<O: Observe>(array: &Array<O>) {
    let mut open = 0;
    for op in array.stripes.ops.open() {
        open += 1;
        let target = &array.stripes.ops[op];
        if target.phase() != Phase::Drain {
            target.fetch.check_invariants(&target.shape(&array.stripes.places.layout));
        }
        match target.phase() {
            Phase::WaitTurn | Phase::WaitWrite | Phase::WaitReaders | Phase::Commit => {
                let lent = matches!(
                    target.work,
                    Work::Rewrite(Rewrite { waiter: Some(_), .. })
                        | Work::Settle(Settle { owner: Settler::Repairs(Some(_)), .. })
                );
                let is_in = lent || array.stripes.queues.is_in(op);
                assert!(is_in, "{op:?} is in no queue: {target:?}");
            }
            Phase::WaitRepair => assert!(waits(array, op), "{op:?}"),
            Phase::Drain => assert!(!array.stripes.queues.is_in(op) && !target.has_nothing_out()),
            Phase::Fetch | Phase::Compute | Phase::Closed => {}
        }
        if let Work::Read { request, .. }
        | Work::Write(Write { request, .. })
        | Work::Deallocate { request } = target.work
            && target.phase() != Phase::Drain
        {
            assert!(array.requests.parts(request) > 0, "{op:?} works for nobody");
        }
    }
    assert_eq!(open, array.stripes.ops.len(), "operations that are not closed");
}
