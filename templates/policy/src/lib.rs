//! The policy, and its comparison with policies of `ioda`.

pub mod comparison;
pub mod policy;
