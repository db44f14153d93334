//! Requests that a device answered with an error, by their kind.

use live::nbd::error_name;
use std::collections::BTreeMap;
use std::fmt;
use workload::Op;

/// Kind of a request that is sent to a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SentKind {
    Read,
    Write,
    Flush,
}

impl From<Op> for SentKind {
    fn from(op: Op) -> Self {
        match op {
            Op::Read => Self::Read,
            Op::Write => Self::Write,
        }
    }
}

/// How many requests were answered with which error.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Errors {
    counts: BTreeMap<(&'static str, u32), u64>,
}

impl Errors {
    /// Counts one.
    pub(super) fn note(&mut self, kind: SentKind, error: u32) {
        let what = match kind {
            SentKind::Read => "reads",
            SentKind::Write => "writes",
            SentKind::Flush => "flushes",
        };
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
        use SentKind::{Flush, Read, Write};
        for (kind, error) in
            [(Write, 1), (Write, 28), (Read, 5), (Write, 1), (Read, 77), (Flush, 5)]
        {
            errors.note(kind, error);
        }
        assert_eq!(
            errors.to_string(),
            "6 answered with an error (1 flushes: EIO, a failure of the device; 1 reads: EIO, a failure of the \
             device; 1 reads: error 77; 2 writes: EPERM, not permitted; 1 writes: ENOSPC, no space left)"
        );
    }
}
