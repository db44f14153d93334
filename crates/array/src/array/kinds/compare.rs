//! Members that are compared, one answer after the other.

use crate::members::MemberSet;

/// The members that do not match so far, and the number of answers to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Comparison {
    /// Members that do not match.
    pub(crate) wrong: MemberSet,
    left: u32,
}

impl Comparison {
    /// No member is compared.
    pub(crate) const NONE: Self = Self { wrong: MemberSet::EMPTY, left: 0 };

    /// The comparison of `members`, beside others that are known to be wrong.
    pub(crate) const fn of(members: MemberSet, wrong: MemberSet) -> Self {
        Self { wrong, left: members.len() }
    }

    /// Notes an answer. Returns the wrong members after the last one.
    pub(crate) fn note(&mut self, member: u8, fits: bool) -> Option<MemberSet> {
        assert!(self.left > 0, "member {member} was compared, and nothing more was to be");
        self.left -= 1;
        if !fits {
            self.wrong.insert(member);
        }
        (self.left == 0).then_some(self.wrong)
    }
}
