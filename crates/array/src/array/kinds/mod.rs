//! Kinds of stripe operations. A kind owns its work, sees the array only through `At`, and answers
//! with [`Next`]. The executor carries the answer out.

mod check;
mod compare;
mod next;
mod repair;
mod rewrite;
mod settle;
mod write;

pub(crate) use check::Check;
pub(crate) use next::{At, Input, Next};
pub(crate) use repair::Repair;
pub(crate) use rewrite::Rewrite;
pub(crate) use settle::{Settle, Settler};
pub(crate) use write::Write;

use crate::operation::Work;

/// Steps an operation with an input.
#[inline]
pub(super) fn step(work: &mut Work, input: Input, at: &At<'_>) -> Next {
    match work {
        Work::Read { touched, .. } => match input {
            Input::Turn if at.must_settle() => Next::Settle,
            Input::Turn => Next::Fetch(*touched),
            Input::Known => Next::Deliver(*touched),
            Input::Compared { .. } => Next::Wait,
        },
        Work::Write(write) => write.step(input, at),
        Work::Deallocate { .. } => match input {
            Input::Turn => Next::Commit,
            Input::Known | Input::Compared { .. } => Next::Wait,
        },
        Work::Repair(repair) => repair.step(input, at),
        Work::Check(check) => check.step(input, at),
        Work::Rewrite(rewrite) => rewrite.step(input, at),
        Work::Settle(settle) => settle.step(input, at),
    }
}
