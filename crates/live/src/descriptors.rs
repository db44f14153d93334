//! How many descriptors the process may have: each connection is one, and shells allow few.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Allows the process as many descriptors as the system lets it have without a privilege. A refusal
/// is logged: the process goes on with those that it has.
pub fn allow_most() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::debug!(%error, "no more descriptors are allowed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_are_allowed_are_used() {
        allow_most();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
