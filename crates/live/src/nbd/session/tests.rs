//! Tests of the transmission phase, byte by byte.

use super::*;
use crate::nbd::LENGTH_BYTES_MAX;
use crate::nbd::wire::{Fields, chunk, command, command_flag};
use proptest::prelude::*;

const TERMS: Terms = Terms { size_bytes: 1 << 30, structured: true, allocation: true };
const PLAIN: Terms = Terms { structured: false, allocation: false, ..TERMS };

fn header(command: u16, cookie: u64, offset_bytes: u64, length_bytes: u32) -> RequestHeader {
    RequestHeader { flags: 0, command, cookie, offset_bytes, length_bytes }
}

/// Gives bytes to a session as far as it has room; their number.
fn offer(session: &mut Session, bytes: &[u8]) -> usize {
    let mut count = 0;
    for part in &mut session.receive_buffers() {
        let here = part.len().min(bytes.len() - count);
        part[..here].copy_from_slice(&bytes[count..count + here]);
        count += here;
    }
    session.received(count);
    count
}

/// Gives all bytes, one request at a time.
fn feed(session: &mut Session, mut bytes: &[u8], pool: &mut Pool) -> Vec<Request> {
    let mut requests = Vec::new();
    while !bytes.is_empty() {
        let count = offer(session, bytes);
        bytes = &bytes[count..];
        while let Some(request) = session.poll_request(pool) {
            requests.push(request);
        }
    }
    requests
}

/// What the array would see of a request.
type Seen = (Kind, u64, u32, bool, Option<Vec<u8>>);

fn seen(request: &Request) -> Seen {
    let length = request.length_bytes as usize;
    let data = request.data.as_ref().map(|data| data.bytes()[..length].to_vec());
    (request.kind, request.offset_bytes, request.length_bytes, request.fua, data)
}

fn answer(session: &mut Session, request: &Request) {
    match request.kind {
        Kind::Read => session.read_reply(request.cookie).fill(request.offset_bytes as u8),
        Kind::BlockStatus { .. } => session.reply_extents(request.cookie, &[]),
        _ => session.reply_done(request.cookie),
    }
}

/// Requests that were seen, and replies, when bytes come in pieces of these sizes.
fn converse(bytes: &[u8], pieces: &[usize], terms: Terms) -> (Vec<Seen>, Vec<u8>) {
    let mut session = Session::new(terms, &[], &[]);
    let mut pool = Pool::default();
    let (mut requests, mut replies) = (Vec::new(), Vec::new());
    let mut sizes = pieces.iter().cycle();
    let mut rest = bytes;
    while !rest.is_empty() && session.wants_bytes() {
        let piece = sizes.next().map_or(rest.len(), |size| rest.len().min(*size));
        let count = offer(&mut session, &rest[..piece]);
        rest = &rest[count..];
        while let Some(request) = session.poll_request(&mut pool) {
            requests.push(seen(&request));
            answer(&mut session, &request);
            pool.give(request.data.unwrap_or_else(|| Buffer::zeroed(0)));
        }
        replies.extend_from_slice(session.unsent());
        session.sent(session.unsent().len());
    }
    session.end_input();
    assert!(session.is_finished());
    (requests, replies)
}

fn any_request() -> impl Strategy<Value = Vec<u8>> {
    let header = (0u16..10, 0u16..40, any::<u64>(), 0u64..(1 << 30) + 9000, 0u32..9000);
    (header, any::<u8>()).prop_map(|((command, flags, cookie, offset_bytes, length), fill)| {
        let flags = if flags < 32 { flags } else { 0 };
        // Most offsets lie inside, or hardly any request would be carried out.
        let header = RequestHeader { flags, command, cookie, offset_bytes, length_bytes: length };
        let mut bytes = header.bytes().to_vec();
        if command == command::WRITE {
            bytes.extend(std::iter::repeat_n(fill, length as usize));
        }
        bytes
    })
}

proptest! {
    #![proptest_config(testing::cases(256))]

    #[test]
    fn any_split_gives_the_same_requests_and_replies(
        requests in proptest::collection::vec(any_request(), 0..20),
        pieces in proptest::collection::vec(1usize..5000, 1..8),
        structured: bool,
    ) {
        let bytes = requests.concat();
        let terms = Terms { structured, allocation: structured, ..TERMS };
        let whole = converse(&bytes, &[usize::MAX], terms);
        prop_assert_eq!(&converse(&bytes, &pieces, terms), &whole);
    }
}

#[test]
fn one_byte_at_a_time_is_enough() {
    let mut bytes = header(command::WRITE, 1, 4096, 5000).bytes().to_vec();
    bytes.extend((0..5000).map(|at| at as u8));
    bytes.extend(header(command::READ, 2, 4096, 100).bytes());
    let (requests, _) = converse(&bytes, &[1], TERMS);
    assert_eq!(requests.len(), 2);
    let data: Vec<u8> = (0..5000).map(|at| at as u8).collect();
    assert_eq!(requests[0], (Kind::Write, 4096, 5000, false, Some(data)));
}

#[test]
fn equal_cookies_of_a_client_are_told_apart() {
    let mut session = Session::new(PLAIN, &[], &[]);
    let mut pool = Pool::default();
    let bytes = [header(command::READ, 9, 0, 10).bytes(), header(command::READ, 9, 0, 20).bytes()];
    let requests = feed(&mut session, bytes.as_flattened(), &mut pool);
    assert_ne!(requests[0].cookie, requests[1].cookie);
    assert_eq!(session.read_reply(requests[1].cookie).len(), 20);
    assert_eq!(session.read_reply(requests[0].cookie).len(), 10);
    // The place is used again, under another cookie.
    let again = feed(&mut session, &header(command::FLUSH, 9, 0, 0).bytes(), &mut pool);
    assert!(requests.iter().all(|request| request.cookie != again[0].cookie));
}

#[test]
fn replies_look_as_the_protocol_says() {
    let mut pool = Pool::default();
    let bytes = [header(command::READ, 0x0102, 0x3000, 2).bytes()];
    let mut session = Session::new(PLAIN, &[], &[]);
    let read = feed(&mut session, bytes.as_flattened(), &mut pool).remove(0);
    session.read_reply(read.cookie).copy_from_slice(&[7, 8]);
    let simple = [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 7, 8];
    assert_eq!(session.unsent(), simple);

    let mut session = Session::new(TERMS, &[], &[]);
    let read = feed(&mut session, bytes.as_flattened(), &mut pool).remove(0);
    session.read_reply(read.cookie).copy_from_slice(&[7, 8]);
    let front = [0x66, 0x8e, 0x33, 0xef, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 10];
    let rest = [0, 0, 0, 0, 0, 0, 0x30, 0, 7, 8];
    assert_eq!(session.unsent(), [&front[..], &rest].concat());

    session.sent(session.unsent().len());
    let read = feed(&mut session, bytes.as_flattened(), &mut pool).remove(0);
    session.reply_error(read.cookie, Errno::InputOutput, "no");
    let front = [0x66, 0x8e, 0x33, 0xef, 0, 1, 0x80, 1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 8];
    assert_eq!(session.unsent(), [&front[..], &[0, 0, 0, 5, 0, 2, b'n', b'o']].concat());
}

#[test]
fn a_long_sentence_is_cut_between_characters() {
    let mut session = Session::new(TERMS, &[], &[]);
    let flush = header(command::FLUSH, 1, 0, 0).bytes();
    let request = feed(&mut session, &flush, &mut Pool::default()).remove(0);
    session.reply_error(request.cookie, Errno::Shutdown, &"€".repeat(1000));
    let text = &session.unsent()[CHUNK_BYTES + 6..];
    assert!(text.len() <= MESSAGE_BYTES_MAX && text.len() > MESSAGE_BYTES_MAX - 3);
    assert!(std::str::from_utf8(text).is_ok());
}

/// The extents of the only reply that waits to be sent.
fn extents(session: &mut Session) -> Vec<(u32, u32)> {
    let mut fields = Fields(session.unsent());
    assert_eq!(fields.u32(), Some(wire::CHUNK_MAGIC));
    assert_eq!((fields.u16(), fields.u16()), (Some(chunk::DONE), Some(chunk::BLOCK_STATUS)));
    let _cookie = fields.u64();
    assert_eq!(fields.u32().map(|length| length as usize), Some(fields.0.len()));
    assert_eq!(fields.u32(), Some(wire::ALLOCATION_ID));
    let mut found = Vec::new();
    while let (Some(length), Some(flags)) = (fields.u32(), fields.u32()) {
        found.push((length, flags));
    }
    session.sent(session.unsent().len());
    found
}

#[test]
fn extents_are_joined_and_cut() {
    let mut session = Session::new(TERMS, &[], &[]);
    let mut pool = Pool::default();
    let extent = |length_bytes, hole| Extent { length_bytes, hole, zero: hole };
    let given = [extent(10, false), extent(0, true), extent(20, false), extent(500, true)];
    for (flags, expected) in [(0, vec![(30, 0), (70, 3)]), (command_flag::REQ_ONE, vec![(30, 0)])] {
        let ask = RequestHeader { flags, ..header(command::BLOCK_STATUS, 1, 5, 100) };
        let request = feed(&mut session, &ask.bytes(), &mut pool).remove(0);
        session.reply_extents(request.cookie, &given);
        assert_eq!(extents(&mut session), expected);
        let request = feed(&mut session, &ask.bytes(), &mut pool).remove(0);
        session.reply_extents(request.cookie, &[]);
        assert_eq!(extents(&mut session), [(100, 0)]);
    }
    let ask = header(command::BLOCK_STATUS, 1, 5, 1 << 20);
    let request = feed(&mut session, &ask.bytes(), &mut pool).remove(0);
    let many: Vec<Extent> = (0..3 * EXTENTS_MAX).map(|at| extent(1, at % 2 == 0)).collect();
    session.reply_extents(request.cookie, &many);
    assert_eq!(extents(&mut session).len(), EXTENTS_MAX);
}

#[test]
fn data_in_flight_and_unsent_replies_hold_further_requests_back() {
    let mut session = Session::new(PLAIN, &[], &[]);
    let mut pool = Pool::default();
    let long = LENGTH_BYTES_MAX - 100;
    let asked: Vec<u8> =
        (0..10).flat_map(|at| header(command::READ, at, 0, long).bytes()).collect();
    let first = feed(&mut session, &asked, &mut pool);
    assert!(session.held_bytes() <= HELD_BYTES_MAX && first.len() < 4, "{}", first.len());
    assert!(!session.wants_bytes() && !session.is_ready());
    // A reply that is not sent counts as well.
    session.read_reply(first[0].cookie)[0] = 1;
    assert!(session.poll_request(&mut pool).is_none());
    session.sent(session.unsent().len());
    assert!(session.is_ready());
    assert!(session.poll_request(&mut pool).is_some());
    assert!(session.poll_request(&mut pool).is_none());
}

#[test]
fn only_so_many_requests_are_let_in() {
    let mut session = Session::new(PLAIN, &[], &[]);
    let mut pool = Pool::default();
    let count = IN_FLIGHT_MAX as u64 + 1;
    let asked: Vec<u8> =
        (0..count).flat_map(|at| header(command::FLUSH, at, 0, 0).bytes()).collect();
    let requests = feed(&mut session, &asked, &mut pool);
    assert_eq!(requests.len(), IN_FLIGHT_MAX);
    assert!(!session.wants_bytes());
    session.reply_done(requests[17].cookie);
    let last = session.poll_request(&mut pool).unwrap();
    assert!(requests.iter().all(|request| request.cookie != last.cookie));
    assert!(session.wants_bytes());
}

#[test]
fn the_payload_of_a_refused_write_is_thrown_away() {
    let mut session = Session::new(TERMS, &[], &[]);
    let mut pool = Pool::default();
    let length = (32 << 20) + 1;
    let requests = feed(&mut session, &header(command::WRITE, 1, 0, length).bytes(), &mut pool);
    assert!(requests.is_empty() && session.unsent().is_empty());
    let payload = vec![0x25; length as usize];
    assert!(feed(&mut session, &payload, &mut pool).is_empty());
    assert_eq!(session.held_bytes(), session.unsent().len() as u64);
    assert_eq!(session.unsent()[23], 22, "EINVAL");
    let flush = feed(&mut session, &header(command::FLUSH, 2, 0, 0).bytes(), &mut pool);
    assert_eq!(flush.len(), 1, "still in step");
}

#[test]
fn an_end_within_a_write_leaves_nothing_behind() {
    let mut session = Session::new(TERMS, &[], &[]);
    let mut pool = Pool::default();
    let mut bytes = header(command::FLUSH, 1, 0, 0).bytes().to_vec();
    bytes.extend(header(command::WRITE, 2, 0, 4096).bytes());
    bytes.extend([1; 4095]);
    let requests = feed(&mut session, &bytes, &mut pool);
    assert_eq!(requests.len(), 1);
    session.end_input();
    assert!(!session.is_finished() && !session.wants_bytes());
    session.reply_done(requests[0].cookie);
    assert_eq!(session.unsent().len(), SIMPLE_REPLY_BYTES);
    session.sent(SIMPLE_REPLY_BYTES);
    assert!(session.is_finished());
    assert_eq!(session.held_bytes(), 0);
}

#[test]
fn requests_that_arrived_before_the_end_are_carried_out() {
    let mut session = Session::new(PLAIN, &[], &[]);
    let mut pool = Pool::default();
    let mut bytes = header(command::WRITE, 1, 0, 3).bytes().to_vec();
    bytes.extend([1; 3]);
    bytes.extend(header(command::FLUSH, 2, 0, 0).bytes());
    assert_eq!(offer(&mut session, &bytes), bytes.len());
    session.end_input();
    let requests: Vec<_> = std::iter::from_fn(|| session.poll_request(&mut pool)).collect();
    assert_eq!(requests.len(), 2);
    assert!(!session.is_finished());
}

#[test]
fn a_disconnect_and_garbage_end_the_session_but_not_requests_in_flight() {
    for end in [header(command::DISCONNECT, 0, 0, 0).bytes(), [0x55; REQUEST_BYTES]] {
        let mut session = Session::new(PLAIN, &[], &[]);
        let mut pool = Pool::default();
        let mut bytes = header(command::READ, 1, 0, 512).bytes().to_vec();
        bytes.extend(end);
        bytes.extend(header(command::READ, 2, 0, 512).bytes());
        offer(&mut session, &bytes);
        let request = session.poll_request(&mut pool).unwrap();
        assert!(session.poll_request(&mut pool).is_none());
        assert!(!session.wants_bytes() && !session.is_finished());
        session.read_reply(request.cookie).fill(1);
        session.sent(512 + SIMPLE_REPLY_BYTES);
        assert!(session.is_finished());
    }
}

#[test]
fn for_a_client_that_is_gone_only_writes_are_carried_out() {
    let mut session = Session::new(TERMS, &[], &[]);
    let mut pool = Pool::default();
    session.discard_replies();
    let mut bytes = Vec::new();
    for command in [command::READ, command::WRITE, command::BLOCK_STATUS, command::TRIM] {
        bytes.extend(header(command, 1, 0, 4).bytes());
        if command == command::WRITE {
            bytes.extend([5; 4]);
        }
    }
    let requests = feed(&mut session, &bytes, &mut pool);
    let kinds: Vec<_> = requests.iter().map(|request| request.kind).collect();
    assert_eq!(kinds, [Kind::Write, Kind::Trim]);
}

#[test]
fn a_request_waits_for_room_and_goes_on_when_there_is_some() {
    let mut session = Session::new(TERMS, &[], &[]);
    let mut pool = Pool::default();
    session.set_room(10_000);
    let mut bytes = Vec::new();
    for cookie in 0..3 {
        bytes.extend(header(command::READ, cookie, 0, 4096).bytes());
    }
    let requests = feed(&mut session, &bytes, &mut pool);
    assert_eq!(requests.len(), 2);
    assert!(session.wanted_room() == Some(4096) && !session.is_ready());
    // Room is not what is let go by itself: whoever gives it knows what others hold.
    answer(&mut session, &requests[0]);
    let unsent = session.unsent().len();
    session.sent(unsent);
    assert!(session.poll_request(&mut pool).is_none());
    session.set_room(4096);
    assert!(session.is_ready() && session.wanted_room().is_none());
    assert!(session.poll_request(&mut pool).is_some());
    assert!(session.wanted_room().is_none(), "nothing else was sent");
    // What is refused has an answer as well.
    session.set_room(0);
    assert_eq!(offer(&mut session, &header(99, 7, 0, 0).bytes()), REQUEST_BYTES);
    assert!(session.poll_request(&mut pool).is_none() && session.wanted_room().is_some());
}
