//! What may be sent to a server, by what it has said of its export.

use live::nbd::wire::{command, command_flag};
use live::nbd::{Forbidden, Negotiated};
use study::Failure;
use workload::{Op, Request, Workload};

/// Bytes of the longest request, whatever a server takes: all of them are in memory.
const LONGEST_BYTES: u64 = 32 << 20;
/// Requests that are looked at before the first is sent. Each is looked at again when it is sent.
const LOOKED_AT_MAX: usize = 1_000_000;

/// Looks at a workload before anything is sent.
///
/// # Errors
///
/// If a request must not be sent, or the workload cannot be read.
pub(crate) fn permit_all(negotiated: &Negotiated, workload: Workload) -> Result<(), Failure> {
    for request in workload.take(LOOKED_AT_MAX) {
        permit(negotiated, &request?)?;
    }
    Ok(())
}

/// Whether a server takes writes with FUA.
pub(crate) fn takes_fua(negotiated: &Negotiated) -> bool {
    negotiated.check(command::WRITE, command_flag::FUA, 0, 0).is_ok()
}

/// Whether a server takes flushes.
pub(crate) fn takes_flushes(negotiated: &Negotiated) -> bool {
    negotiated.check(command::FLUSH, 0, 0, 0).is_ok()
}

/// Whether a request may be sent.
///
/// # Errors
///
/// What the server has said, what the workload does, and what to change.
pub(super) fn permit(negotiated: &Negotiated, request: &Request) -> Result<(), Failure> {
    let Request { op, offset_bytes, size_bytes, .. } = *request;
    let (what, command) = match op {
        Op::Read => ("read", command::READ),
        Op::Write => ("write", command::WRITE),
    };
    let refused = match u32::try_from(size_bytes) {
        Ok(length) if size_bytes <= LONGEST_BYTES => {
            negotiated.check(command, 0, offset_bytes, length).err()
        }
        _ => {
            return Err(Failure::data(format!(
                "the workload has a {what} of {size_bytes} bytes, but at most {LONGEST_BYTES} are sent at once over \
                 NBD; resize the workload"
            )));
        }
    };
    let Some(refused) = refused else { return Ok(()) };
    let change = match refused {
        Forbidden::ReadOnly => {
            "load it with reads only (--rw randread), or serve it for writing".to_owned()
        }
        Forbidden::Unaligned { block_bytes } => {
            format!(
                "choose offsets and sizes that are multiples of {block_bytes}, such as --bs {block_bytes}"
            )
        }
        Forbidden::TooLong { most_bytes } => {
            format!("choose sizes of at most {most_bytes} bytes, such as --bs {most_bytes}")
        }
        Forbidden::Outside { .. } => "choose a smaller --size, or --fit for a trace".to_owned(),
        Forbidden::Unsupported { .. } => "serve it with that, or load it without".to_owned(),
    };
    Err(Failure::usage(format!(
        "the server {refused}, and the workload has a {what} of {size_bytes} bytes at {offset_bytes}; {change}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use live::nbd::wire::export_flag;
    use units::Instant;

    fn said(negotiated: Negotiated, op: Op, offset_bytes: u64, size_bytes: u64) -> Option<String> {
        let request = Request {
            at: Instant::ZERO,
            op,
            offset_bytes,
            size_bytes,
            device: 0,
            durable: false,
            after_flush: false,
        };
        permit(&negotiated, &request).err().map(|failure| failure.to_string())
    }

    #[test]
    fn a_refusal_says_what_the_server_said_and_what_the_workload_does() {
        let usual = Negotiated { size_bytes: 1 << 30, ..Negotiated::default() };
        let flags = export_flag::HAS_FLAGS | export_flag::READ_ONLY;
        let read_only = Negotiated { flags, ..usual };
        assert_eq!(said(read_only, Op::Read, 0, 4096), None);
        assert_eq!(
            said(read_only, Op::Write, 8192, 4096).unwrap(),
            "the server offers the export for reading only, and the workload has a write of 4096 bytes at 8192; load \
             it with reads only (--rw randread), or serve it for writing"
        );
        let blocks = Negotiated { least_block_bytes: 4096, payload_bytes_max: 1 << 20, ..usual };
        let unaligned = said(blocks, Op::Read, 512, 4096).unwrap();
        assert!(unaligned.contains("takes whole blocks of 4096 bytes only"), "{unaligned}");
        let long = said(blocks, Op::Write, 0, 2 << 20).unwrap();
        assert!(long.contains("takes at most 1048576 bytes at once"), "{long}");
        assert_eq!(said(usual, Op::Write, 0, 32 << 20), None);
        assert!(said(usual, Op::Write, 0, 33 << 20).unwrap().contains("at most 33554432 are sent"));
        assert!(said(usual, Op::Read, 1 << 30, 512).unwrap().contains("has 1073741824 bytes only"));
    }
}
