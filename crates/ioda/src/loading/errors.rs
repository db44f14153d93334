//! Requests that a device answered with an error, by their kind.

use live::nbd::error_name;
use std::collections::BTreeMap;
use std::fmt;
use workload::Op;

/// How many requests were answered with which error.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Errors {
    counts: BTreeMap<(&'static str, u32), u64>,
}

impl Errors {
    /// Counts one.
    pub(super) fn note(&mut self, op: Op, error: u32) {
        let what = if op == Op::Read { "reads" } else { "writes" };
        *self.counts.entry((what, error)).or_default() += 1;
    }

    /// All of them.
    pub(crate) fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}

impl fmt::Display for Errors {
    /// Their number, and of each kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answered with an error", self.total())?;
        let kind = |((what, error), count): (&(&str, u32), &u64)| {
            format!("{count} {what}: {}", error_name(*error))
        };
        let kinds: Vec<String> = self.counts.iter().map(kind).collect();
        match kinds.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", kinds.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_apart_by_request_and_number() {
        let mut errors = Errors::default();
        assert_eq!(errors.to_string(), "0 answered with an error");
        for (op, error) in
            [(Op::Write, 1), (Op::Write, 28), (Op::Read, 5), (Op::Write, 1), (Op::Read, 77)]
        {
            errors.note(op, error);
        }
        assert_eq!(
            errors.to_string(),
            "5 answered with an error (1 reads: EIO, a failure of the device; 1 reads: error 77; \
             2 writes: EPERM, not permitted; 1 writes: ENOSPC, no space left)"
        );
    }
}
