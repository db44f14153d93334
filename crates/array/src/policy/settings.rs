//! What can be set about policies.

/// Settings of all policies that have any; each reads its own.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PolicySettings {}
