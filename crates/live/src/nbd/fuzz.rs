//! What the fuzz target calls: a server without a socket that is given bytes of a hostile client.

use super::handshake::{Choice, Export, Handshake, OPTION_DATA_BYTES_MAX, Progress, TlsPolicy};
use super::request::{Errno, Extent, Kind, LENGTH_BYTES_MAX, Request, Terms};
use super::session::{HELD_BYTES_MAX, IN_FLIGHT_MAX, Session};
use crate::buffer::Pool;
use std::sync::Arc;

/// Size of the export that the client can choose.
const SIZE_BYTES: u64 = 1 << 40;

/// Lets a client send `bytes`, in pieces whose sizes the first bytes decide, and answers it in an
/// order that they decide as well.
///
/// # Panics
///
/// When a request goes past the export, memory grows past its limits, or the handshake or the
/// session takes more than was sent: that is what the fuzzer looks for. Whatever is merely wrong
/// with the bytes is fine.
pub fn check(bytes: &[u8]) {
    let Some((&[mode, pieces], mut bytes)) = bytes.split_first_chunk() else { return };
    let policy = match mode % 4 {
        0 | 1 => TlsPolicy::Off,
        2 => TlsPolicy::Allowed,
        _ => TlsPolicy::Required,
    };
    let piece = 1 + usize::from(pieces) * usize::from(pieces) / 8;
    // Without a handshake, half of the time: few inputs get through one.
    let mut choice = Choice {
        export: 0,
        size_bytes: SIZE_BYTES,
        structured: mode & 16 != 0,
        allocation: mode & 48 == 48,
    };
    if mode & 8 == 0 {
        match negotiate(policy, bytes, piece) {
            Some((rest, chosen)) => (bytes, choice) = (rest, chosen),
            None => return,
        }
    }
    assert!(choice.export < 2 && (choice.structured || !choice.allocation), "{choice:?}");
    // How many requests wait before any is answered: none, some, or as many as are let in.
    let patience = match (mode & 64 != 0, mode & 128 != 0) {
        (false, _) => 0,
        (true, false) => piece % 64,
        (true, true) => usize::MAX,
    };
    transmit(choice, bytes, piece, patience);
}

fn negotiate(policy: TlsPolicy, bytes: &[u8], piece: usize) -> Option<(&[u8], Choice)> {
    let export = |name: &str| Export {
        name: name.into(),
        description: "fuzz".into(),
        size_bytes: SIZE_BYTES,
        preferred_block_bytes: 4096,
    };
    let (mut handshake, _) = Handshake::new(Arc::new([export("a"), export("b")]), policy);
    let mut output = Vec::new();
    let (mut start, mut end) = (0, 0);
    while end < bytes.len() {
        end = (end + piece).min(bytes.len());
        loop {
            let before = output.len();
            let (count, progress) = handshake.advance(&bytes[start..end], &mut output);
            assert!(count <= end - start, "took more than was there");
            start += count;
            assert!(output.len() - before < 1 << 20, "an answer without end");
            match progress {
                Progress::More if count > 0 => {}
                Progress::More => break,
                Progress::Done(choice) => return Some((&bytes[start..], choice)),
                Progress::StartTls => {
                    assert!(policy != TlsPolicy::Off, "TLS without a certificate");
                    // What follows stands for what would be in the tunnel.
                    handshake.tls_started();
                }
                Progress::Close => {
                    let again = handshake.advance(&bytes[start..], &mut Vec::new());
                    assert_eq!(again, (0, Progress::Close), "went on after the end");
                    return None;
                }
            }
            output.clear();
        }
        let longest = OPTION_DATA_BYTES_MAX as usize + 16;
        assert!(end - start < longest + piece, "waits for more than an option can hold");
    }
    None
}

fn transmit(choice: Choice, bytes: &[u8], piece: usize, patience: usize) {
    let Choice { size_bytes, structured, allocation, .. } = choice;
    let terms = Terms { size_bytes, structured, allocation };
    let mut session = Session::new(terms, &[], &[]);
    let mut pool = Pool::default();
    let mut waiting: Vec<Request> = Vec::new();
    let mut rest = bytes;
    while session.wants_bytes() && !rest.is_empty() {
        let mut left = piece.min(rest.len());
        let mut space = session.receive_buffers();
        let mut count = 0;
        for part in &mut space {
            let here = left.min(part.len());
            part[..here].copy_from_slice(&rest[count..count + here]);
            count += here;
            left -= here;
        }
        assert!(count > 0, "wants bytes and has no room");
        session.received(count);
        rest = &rest[count..];
        while let Some(request) = session.poll_request(&mut pool) {
            verify(&request, &terms);
            waiting.push(request);
            check_memory(&session);
            if patience == 0 {
                answer(&mut session, &mut pool, &mut waiting);
            }
        }
        check_memory(&session);
        if waiting.len() >= patience || !session.wants_bytes() {
            while !waiting.is_empty() {
                answer(&mut session, &mut pool, &mut waiting);
            }
        }
        let sent = session.unsent().len();
        session.sent(sent);
        while let Some(request) = session.poll_request(&mut pool) {
            verify(&request, &terms);
            waiting.push(request);
        }
    }
    session.end_input();
    while !session.is_finished() {
        let before = (session.in_flight(), session.unsent().len(), session.is_ready());
        if let Some(request) = session.poll_request(&mut pool) {
            verify(&request, &terms);
            waiting.push(request);
        } else if !waiting.is_empty() {
            answer(&mut session, &mut pool, &mut waiting);
        } else {
            let sent = session.unsent().len();
            session.sent(sent);
            assert!(
                session.is_finished() || session.is_ready() || before.1 > 0,
                "stuck with {before:?}"
            );
        }
        check_memory(&session);
    }
    let counts = session.counts();
    assert_eq!(session.held_bytes(), 0, "something is held for nobody");
    assert!(counts.received_bytes <= bytes.len() as u64, "counted more than was sent");
    assert!(counts.sent_bytes >= 16 * (counts.requests + counts.refused), "an answer is missing");
}

fn check_memory(session: &Session) {
    // The last answer may be an error with its sentence.
    assert!(session.held_bytes() <= HELD_BYTES_MAX + (64 << 10), "holds too much");
    assert!(session.in_flight() <= IN_FLIGHT_MAX, "lets in too many");
}

fn verify(request: &Request, terms: &Terms) {
    let end = request.offset_bytes.checked_add(request.length_bytes.into());
    assert!(end.is_some_and(|end| end <= terms.size_bytes), "past the end: {request:?}");
    let moves_data = matches!(request.kind, Kind::Read | Kind::Write);
    assert!(!moves_data || request.length_bytes <= LENGTH_BYTES_MAX, "too long: {request:?}");
    assert_eq!(request.length_bytes == 0, request.kind == Kind::Flush, "{request:?}");
    assert_eq!(request.data.is_some(), request.kind == Kind::Write, "{request:?}");
    if let Some(data) = &request.data {
        assert!(data.len() >= request.length_bytes as usize, "payload cut off: {request:?}");
    }
}

/// Answers one of the requests that wait, not the oldest one.
fn answer(session: &mut Session, pool: &mut Pool, waiting: &mut Vec<Request>) {
    let request = waiting.swap_remove(waiting.len() / 2);
    let odd = request.offset_bytes % 2 == 1;
    if request.offset_bytes % 7 == 3 {
        session.reply_error(request.cookie, Errno::InputOutput, "the fuzzer wants it so");
    } else {
        match request.kind {
            // Data of all the reads that a fuzzer can think of would only measure memory.
            Kind::Read if request.length_bytes > 1 << 16 => {
                session.reply_error(request.cookie, Errno::NoMemory, "");
            }
            Kind::Read => {
                let data = session.read_reply(request.cookie);
                assert_eq!(data.len(), request.length_bytes as usize, "{request:?}");
                data.fill(0x5a);
            }
            Kind::BlockStatus { .. } => {
                let half = request.length_bytes / 2;
                let extents = [half, u32::MAX, 7].map(|length_bytes| Extent {
                    length_bytes,
                    hole: odd,
                    zero: length_bytes == half,
                });
                session.reply_extents(request.cookie, &extents[..usize::from(odd) * 3]);
            }
            _ => session.reply_done(request.cookie),
        }
    }
    if let Some(buffer) = request.data {
        pool.give(buffer);
    }
}
