//! Parity compared with its data.

use super::{Around, Input, Next};
use crate::action::OpId;
use crate::array::stripes::Stripes;
use crate::fetch::StripeShape;
use crate::members::MemberSet;
use crate::operation::{Comparison, Phase, Work};

pub(super) fn step(stripes: &mut Stripes, op: OpId, input: Input, around: &Around<'_>) -> Next {
    match input {
        Input::Turn => plan(stripes, op),
        Input::Known if around.has_data => compare(stripes, op),
        Input::Known => Next::Finish,
        Input::Compared { member, fits } => compared(stripes, op, member, fits),
    }
}

/// Reads what is compared.
fn plan(stripes: &mut Stripes, op: OpId) -> Next {
    let target = &stripes.ops[op];
    let StripeShape { data, parity, .. } = target.shape(&stripes.layout);
    let readable = match stripes.availability.is_in_doubt(target.stripe) {
        true => MemberSet::EMPTY,
        false => (data | parity) - stripes.unreadable(target.stripe),
    };
    let target = &mut stripes.ops[op];
    target.phase = Phase::Fetch;
    target.fetch.begin(readable);
    if !(data - readable).is_empty() || !parity.meets(readable) {
        // Nothing to compare: not an error if nothing is missing (there is no parity).
        target.failed = !parity.is_empty();
        return Next::Finish;
    }
    Next::Read(readable)
}

fn compare(stripes: &mut Stripes, op: OpId) -> Next {
    let target = &mut stripes.ops[op];
    target.phase = Phase::Compute;
    let parities = target.fetch.wanted() & stripes.layout.parity_set(target.stripe);
    if let Work::Check { compared, .. } = &mut target.work {
        *compared = Comparison::of(parities, MemberSet::EMPTY);
    }
    Next::CheckParity(parities)
}

/// After the last parity of the stripe those are known that do not fit.
fn compared(stripes: &mut Stripes, op: OpId, member: u8, fits: bool) -> Next {
    let Work::Check { rewrites, compared, .. } = &mut stripes.ops[op].work else {
        return Next::Wait;
    };
    let rewrites = *rewrites;
    match compared.note(member, fits) {
        None => Next::Wait,
        Some(members) if members.is_empty() => Next::Finish,
        Some(members) => Next::Mismatch { members, rewrites },
    }
}
