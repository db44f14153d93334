//! Drives that answer later than they say: what is held against them, and what it means for
//! operations.

use super::{Array, drives};
use crate::action::OpId;
use crate::commands::CommandRecord;
use crate::event::Event;
use crate::trust::{ReadAnswer, Trust, Verdict};
use alloc::vec::Vec;
use nvme::Status;
use units::{Duration, Instant, Observe};

/// Holds what a drive has answered to a read for or against it.
#[inline]
pub(super) fn judge<O: Observe>(
    array: &mut Array<O>,
    now: Instant,
    record: &CommandRecord,
    status: Status,
    latency: Duration,
) {
    let Some(trust) = array.rules.trust_mut() else { return };
    let CommandRecord { drive, blocks, flag, .. } = *record;
    trust.answered(now, &ReadAnswer { drive, blocks, flag, status, latency });
    if trust.has_verdicts() {
        tell_verdicts(array, now);
    }
}

/// Tells whom the array has begun, or ceased, to distrust.
#[cold]
pub(super) fn tell_verdicts<O: Observe>(array: &mut Array<O>, now: Instant) {
    let verdicts = array.rules.trust_mut().map_or(Vec::new(), Trust::take_verdicts);
    drives::note_missing(array, now);
    for Verdict { drive, distrusted } in verdicts {
        array.out.emit_event(now, || match distrusted {
            true => Event::DriveDistrusted { drive },
            false => Event::DriveTrusted { drive },
        });
    }
}

/// Tells an operation which members are on drives that are not to be read.
pub(super) fn shun_distrusted<O: Observe>(array: &mut Array<O>, op: OpId) {
    let distrusted = array.rules.distrusted();
    if !distrusted.is_empty() {
        let stripe = array.ops[op].stripe;
        let shunned = array.relocation.members_on(&array.layout, stripe, distrusted);
        array.ops[op].fetch.shun(shunned);
    }
}

/// Of the members that an operation does not read because their drives are distrusted, the one that
/// is expected to come soonest, and how long that takes.
pub(super) fn fastest_shunned<O: Observe>(array: &Array<O>, op: OpId) -> Option<(u8, Duration)> {
    let (target, trust) = (&array.ops[op], array.rules.trust()?);
    let members = target.fetch.shunned_readable().iter();
    let expected = members.map(|member| {
        let place = array.relocation.locate(&array.layout, target.stripe, target.first_row, member);
        (member, trust.expected(place.drive))
    });
    expected.min_by_key(|&(_, expected)| expected)
}
