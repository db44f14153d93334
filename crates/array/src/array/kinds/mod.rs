//! What a stripe operation does next, by its kind: each kind looks at the stripes alone and answers
//! with [`Next`]. The executor carries that out.

mod check;
mod repair;
mod rewrite;
mod settle;
mod write;

use super::stripes::Stripes;
use crate::action::OpId;
use crate::coordinate::Coordinator;
use crate::members::MemberSet;
use crate::operation::Work;
use crate::policy::Rules;
use units::Instant;

/// What has happened to an operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Input {
    /// Nothing else that changes the stripe is ahead of it. A read has begun.
    Turn,
    /// Everything that it wanted is known.
    Known,
    /// A member was compared.
    Compared {
        /// The member.
        member: u8,
        /// Whether it fits.
        fits: bool,
    },
}

/// What an operation does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Nothing before it hears more.
    Wait,
    /// It waits until its rows are settled, and begins again.
    Settle,
    /// Gets these members, as the policy says.
    Fetch(MemberSet),
    /// Reads these members for a job, as they are.
    Read(MemberSet),
    /// Reconstructs what [`Fetch::begin_lost`](crate::fetch::Fetch::begin_lost) has noted.
    Reconstruct,
    /// Hands these members to the host.
    Deliver(MemberSet),
    /// Has these parities compared with their data.
    CheckParity(MemberSet),
    /// Has these copies compared with another.
    CompareCopies {
        /// The copies.
        members: MemberSet,
        /// The other.
        with: u8,
    },
    /// Reports parities that do not fit, and writes them again if that was ordered.
    Mismatch {
        /// The parities.
        members: MemberSet,
        /// Whether it was.
        rewrites: bool,
    },
    /// Writes these members, whose content is known.
    Write(MemberSet),
    /// Writes these members with what another holds, on stable storage.
    Copy {
        /// The other.
        from: u8,
        /// The members.
        members: MemberSet,
    },
    /// Changes its rows for the host as soon as no reader computes with them.
    Commit,
    /// It cannot get what it needs.
    Fail,
    /// It is over.
    Finish,
}

/// What a kind may look at beside the stripes.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) now: Instant,
    /// Who may collect when.
    pub(super) coordinator: &'a Coordinator,
    /// The policy.
    pub(super) rules: &'a Rules,
    /// Whether the driver compares and computes.
    pub(super) has_data: bool,
}

/// The next thing that an operation does.
#[inline]
pub(super) fn step(stripes: &mut Stripes, op: OpId, input: Input, around: &Around<'_>) -> Next {
    match stripes.ops[op].work {
        Work::Read { touched, .. } => match input {
            Input::Turn if stripes.must_settle(op) => Next::Settle,
            Input::Turn => Next::Fetch(touched),
            Input::Known => Next::Deliver(touched),
            Input::Compared { .. } => Next::Wait,
        },
        Work::Write { .. } => write::step(stripes, op, input, around),
        Work::Deallocate { .. } => match input {
            Input::Turn => Next::Commit,
            Input::Known | Input::Compared { .. } => Next::Wait,
        },
        Work::Repair { .. } => repair::step(stripes, op, input, around),
        Work::Check { .. } => check::step(stripes, op, input, around),
        Work::Rewrite { members, .. } => rewrite::step(stripes, op, input, members),
        Work::Settle { .. } => settle::step(stripes, op, input, around),
    }
}
