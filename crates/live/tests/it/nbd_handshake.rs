//! The handshake, byte by byte: what the protocol's description demands of a server.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use live::nbd::handshake::{Choice, Export, Handshake, Progress, TlsPolicy};
use live::nbd::wire::{self, Fields, export_flag, info, option, option_reply};
use proptest::prelude::*;
use std::sync::Arc;

fn exports() -> Arc<[Export]> {
    let export = |name: &str, size_bytes| Export {
        name: name.into(),
        description: format!("the disk {name}"),
        size_bytes,
        preferred_block_bytes: 4096,
    };
    Arc::new([export("one", 1 << 20), export("two", 1 << 21)])
}

/// A handshake past the greeting, with a client that knows the fixed newstyle.
fn begun(policy: TlsPolicy) -> Handshake {
    let (mut handshake, greeting) = Handshake::new(exports(), policy);
    assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
    let mut output = Vec::new();
    assert_eq!(handshake.advance(&[0, 0, 0, 3], &mut output), (4, Progress::More));
    assert!(output.is_empty());
    handshake
}

/// Kinds and data of the replies to one option, and how it went on.
fn ask(handshake: &mut Handshake, option: u32, data: &[u8]) -> (Vec<(u32, Vec<u8>)>, Progress) {
    let (mut input, mut output) = (Vec::new(), Vec::new());
    wire::put_option(&mut input, option, data);
    let (count, progress) = handshake.advance(&input, &mut output);
    assert_eq!(count, input.len());
    let mut fields = Fields(&output);
    let mut replies = Vec::new();
    while let Some(magic) = fields.u64() {
        assert_eq!((magic, fields.u32()), (wire::OPTION_REPLY_MAGIC, Some(option)));
        let kind = fields.u32().unwrap();
        replies.push((kind, fields.string().unwrap().to_vec()));
    }
    (replies, progress)
}

/// The kinds of the replies to one option.
fn kinds(handshake: &mut Handshake, option: u32, data: &[u8]) -> Vec<u32> {
    ask(handshake, option, data).0.into_iter().map(|reply| reply.0).collect()
}

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

fn go(name: &str, wanted: &[u16]) -> Vec<u8> {
    let count = (wanted.len() as u16).to_be_bytes();
    let wanted: Vec<u8> = wanted.iter().flat_map(|kind| kind.to_be_bytes()).collect();
    [&string(name)[..], &count, &wanted].concat()
}

fn queries(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = string(name);
    data.extend((queries.len() as u32).to_be_bytes());
    queries.iter().for_each(|query| data.extend(string(query)));
    data
}

const PLAIN: Choice =
    Choice { export: 0, size_bytes: 1 << 20, structured: false, allocation: false };

#[test]
fn go_describes_the_export_and_begins() {
    for name in ["", "one"] {
        let mut handshake = begun(TlsPolicy::Off);
        let wanted = [info::NAME, info::DESCRIPTION, info::BLOCK_SIZE, 99];
        let (described, progress) = ask(&mut handshake, option::INFO, &go(name, &wanted));
        assert_eq!(progress, Progress::More, "a question is not a choice");
        let (replies, progress) = ask(&mut handshake, option::GO, &go(name, &wanted));
        assert_eq!(progress, Progress::Done(PLAIN));
        assert_eq!(replies, described);
        assert_eq!(replies.last().unwrap(), &(option_reply::ACK, Vec::new()));
        let about = |kind: u16| {
            let mut found = replies.iter().filter(|reply| {
                reply.0 == option_reply::INFO && reply.1[..2] == kind.to_be_bytes()
            });
            let data = found.next().unwrap().1[2..].to_vec();
            assert!(found.next().is_none());
            data
        };
        let export = about(info::EXPORT);
        assert_eq!(export[..8], (1u64 << 20).to_be_bytes());
        let flags = u16::from_be_bytes([export[8], export[9]]);
        let always = export_flag::HAS_FLAGS | export_flag::SEND_FLUSH | export_flag::SEND_FUA;
        assert_eq!(flags & always, always);
        assert_eq!(flags & (export_flag::SEND_DF | export_flag::READ_ONLY), 0);
        assert_eq!(about(info::NAME), b"one");
        assert_eq!(about(info::DESCRIPTION), b"the disk one");
        let sizes = [1u32, 4096, 32 << 20].map(u32::to_be_bytes).concat();
        assert_eq!(about(info::BLOCK_SIZE), sizes);
    }
    let mut handshake = begun(TlsPolicy::Off);
    assert_eq!(kinds(&mut handshake, option::GO, &go("three", &[])), [option_reply::ERR_UNKNOWN]);
    let choice = Choice { export: 1, size_bytes: 1 << 21, ..PLAIN };
    assert_eq!(ask(&mut handshake, option::GO, &go("two", &[])).1, Progress::Done(choice));
}

#[test]
fn the_oldest_way_ends_in_zeros_unless_both_sides_omit_them() {
    for (flags, length) in [(0, 134), (1, 134), (2, 10), (3, 10)] {
        let (mut handshake, _) = Handshake::new(exports(), TlsPolicy::Allowed);
        let mut output = Vec::new();
        handshake.advance(&[0, 0, 0, flags], &mut output);
        let mut input = Vec::new();
        wire::put_option(&mut input, option::EXPORT_NAME, b"two");
        let choice = Choice { export: 1, size_bytes: 1 << 21, ..PLAIN };
        assert_eq!(handshake.advance(&input, &mut output).1, Progress::Done(choice));
        assert_eq!(output.len(), length);
        assert_eq!(output[..8], (1u64 << 21).to_be_bytes());
        assert!(output[10..].iter().all(|byte| *byte == 0));
    }
    let mut unknown = begun(TlsPolicy::Off);
    assert_eq!(ask(&mut unknown, option::EXPORT_NAME, b"three"), (vec![], Progress::Close));
}

#[test]
fn exports_are_listed() {
    let mut handshake = begun(TlsPolicy::Off);
    let (replies, _) = ask(&mut handshake, option::LIST, &[]);
    let one = [&string("one")[..], b"the disk one"].concat();
    let two = [&string("two")[..], b"the disk two"].concat();
    let server = option_reply::SERVER;
    assert_eq!(replies, [(server, one), (server, two), (option_reply::ACK, vec![])]);
    assert_eq!(kinds(&mut handshake, option::LIST, b"x"), [option_reply::ERR_INVALID]);
}

#[test]
fn what_is_not_known_or_makes_no_sense_is_refused_and_forgotten() {
    let mut handshake = begun(TlsPolicy::Off);
    for unknown in [0, 4, 11, 77, u32::MAX] {
        let data = vec![1; 65536];
        assert_eq!(kinds(&mut handshake, unknown, &data), [option_reply::ERR_UNSUP]);
    }
    let whole = go("one", &[info::NAME]);
    for damaged in [&whole[..whole.len() - 1], &[&whole[..], b"x"].concat(), &[0xff; 9], &[]] {
        assert_eq!(kinds(&mut handshake, option::GO, damaged), [option_reply::ERR_INVALID]);
    }
    let long = go(&"x".repeat(4097), &[]);
    assert_eq!(kinds(&mut handshake, option::INFO, &long), [option_reply::ERR_INVALID]);
    assert_eq!(ask(&mut handshake, option::GO, &go("", &[])).1, Progress::Done(PLAIN));
}

#[test]
fn too_much_data_garbage_and_a_farewell_end_the_connection() {
    let mut output = Vec::new();
    let mut input = Vec::new();
    wire::put_option(&mut input, option::LIST, &[0; 65537]);
    // It is not waited for.
    let (_, progress) = begun(TlsPolicy::Off).advance(&input[..16], &mut output);
    assert_eq!(progress, Progress::Close);
    assert_eq!(output[12..16], option_reply::ERR_TOO_BIG.to_be_bytes());

    output.clear();
    assert_eq!(begun(TlsPolicy::Off).advance(b"GET / HTTP/1.1", &mut output).1, Progress::Close);
    assert!(output.is_empty());
    let (mut unknown_flags, _) = Handshake::new(exports(), TlsPolicy::Off);
    assert_eq!(unknown_flags.advance(&[0, 0, 0, 4], &mut output).1, Progress::Close);

    let mut handshake = begun(TlsPolicy::Off);
    let (replies, progress) = ask(&mut handshake, option::ABORT, &[]);
    assert_eq!((replies[0].0, progress), (option_reply::ACK, Progress::Close));
    assert_eq!(handshake.advance(&input, &mut output), (0, Progress::Close));
}

#[test]
fn extents_need_structured_replies_and_the_same_export() {
    let mut handshake = begun(TlsPolicy::Off);
    let chosen = queries("one", &["base:allocation", "qemu:dirty-bitmap:x"]);
    let (set, list) = (option::SET_META_CONTEXT, option::LIST_META_CONTEXT);
    assert_eq!(kinds(&mut handshake, set, &chosen), [option_reply::ERR_INVALID]);
    assert_eq!(kinds(&mut handshake, option::STRUCTURED_REPLY, b"1"), [option_reply::ERR_INVALID]);
    assert_eq!(kinds(&mut handshake, option::STRUCTURED_REPLY, &[]), [option_reply::ACK]);

    let found = [option_reply::META_CONTEXT, option_reply::ACK];
    for asked in [&[][..], &["base:"], &["base:allocation"]] {
        assert_eq!(kinds(&mut handshake, list, &queries("", asked)), found, "{asked:?}");
    }
    assert_eq!(kinds(&mut handshake, list, &queries("", &["x:"])), [option_reply::ACK]);
    assert_eq!(kinds(&mut handshake, set, &queries("", &["base:"])), [option_reply::ACK]);
    let nobody = queries("three", &["base:allocation"]);
    assert_eq!(kinds(&mut handshake, set, &nobody), [option_reply::ERR_UNKNOWN]);
    let mut lies = chosen.clone();
    lies[10] = 200;
    assert_eq!(kinds(&mut handshake, set, &lies), [option_reply::ERR_INVALID]);

    let (replies, _) = ask(&mut handshake, set, &chosen);
    let context = [&wire::ALLOCATION_ID.to_be_bytes(), b"base:allocation".as_slice()].concat();
    assert_eq!(replies[0], (option_reply::META_CONTEXT, context));
    let choice = Choice { structured: true, allocation: true, ..PLAIN };
    assert_eq!(ask(&mut handshake, option::GO, &go("", &[])).1, Progress::Done(choice));

    for last in [&queries("one", &[])[..], &queries("two", &["base:allocation"]), b"nonsense"] {
        let mut handshake = begun(TlsPolicy::Off);
        kinds(&mut handshake, option::STRUCTURED_REPLY, &[]);
        kinds(&mut handshake, set, &chosen);
        kinds(&mut handshake, set, last);
        let choice = Choice { allocation: false, ..choice };
        assert_eq!(ask(&mut handshake, option::GO, &go("one", &[])).1, Progress::Done(choice));
    }
}

#[test]
fn tls_is_refused_offered_or_demanded() {
    let start = option::STARTTLS;
    let mut off = begun(TlsPolicy::Off);
    assert_eq!(kinds(&mut off, start, &[]), [option_reply::ERR_POLICY]);

    let mut allowed = begun(TlsPolicy::Allowed);
    assert_eq!(kinds(&mut allowed, start, b"x"), [option_reply::ERR_INVALID]);
    kinds(&mut allowed, option::STRUCTURED_REPLY, &[]);
    let (replies, progress) = ask(&mut allowed, start, &[]);
    assert_eq!((replies[0].0, progress), (option_reply::ACK, Progress::StartTls));
    let mut output = Vec::new();
    assert_eq!(allowed.advance(b"plain", &mut output), (0, Progress::StartTls));
    allowed.tls_started();
    assert_eq!(kinds(&mut allowed, start, &[]), [option_reply::ERR_INVALID]);
    // What a third party may have agreed on before does not count.
    assert_eq!(ask(&mut allowed, option::GO, &go("", &[])).1, Progress::Done(PLAIN));

    let mut required = begun(TlsPolicy::Required);
    for option in (3..20).filter(|option| *option != start) {
        let refused = ask(&mut required, option, &go("one", &[]));
        assert_eq!((refused.0[0].0, refused.1), (option_reply::ERR_TLS_REQD, Progress::More));
    }
    assert_eq!(ask(&mut required, start, &[]).1, Progress::StartTls);
    required.tls_started();
    assert_eq!(ask(&mut required, option::GO, &go("", &[])).1, Progress::Done(PLAIN));
    let mut name = begun(TlsPolicy::Required);
    assert_eq!(ask(&mut name, option::EXPORT_NAME, b"one"), (vec![], Progress::Close));
    let mut farewell = begun(TlsPolicy::Required);
    assert_eq!(kinds(&mut farewell, option::ABORT, &[]), [option_reply::ACK]);
}

#[test]
fn a_client_without_fixed_newstyle_can_only_name_an_export() {
    let (mut handshake, _) = Handshake::new(exports(), TlsPolicy::Off);
    handshake.advance(&[0; 4], &mut Vec::new());
    assert_eq!(ask(&mut handshake, option::LIST, &[]), (vec![], Progress::Close));
}

fn any_option() -> impl Strategy<Value = Vec<u8>> {
    let data = prop_oneof![
        Just(go("one", &[info::NAME])),
        Just(queries("", &["base:allocation"])),
        Just(Vec::new()),
        proptest::collection::vec(any::<u8>(), 0..300),
    ];
    (0u32..13, data).prop_map(|(option, data)| {
        let mut bytes = Vec::new();
        wire::put_option(&mut bytes, option, &data);
        bytes
    })
}

/// What is answered, and how it ends, when bytes come in pieces of these sizes.
fn converse(bytes: &[u8], pieces: &[usize], policy: TlsPolicy) -> (Vec<u8>, Progress, usize) {
    let (mut handshake, _) = Handshake::new(exports(), policy);
    let mut output = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut sizes = pieces.iter().cycle();
    loop {
        let (count, progress) = handshake.advance(&bytes[start..end], &mut output);
        start += count;
        match progress {
            Progress::More if count > 0 => {}
            Progress::More if end == bytes.len() => return (output, progress, start),
            Progress::More => end = bytes.len().min(end.saturating_add(*sizes.next().unwrap())),
            Progress::StartTls => handshake.tls_started(),
            Progress::Done(_) => return (output, progress, start),
            // How much was thrown away depends on how much was there.
            Progress::Close => return (output, progress, 0),
        }
    }
}

proptest! {
    #![proptest_config(testing::cases(256))]

    #[test]
    fn any_split_gives_the_same_answers(
        options in proptest::collection::vec(any_option(), 0..10),
        pieces in proptest::collection::vec(1usize..400, 1..6),
        tls in 0..3,
    ) {
        let policy = [TlsPolicy::Off, TlsPolicy::Allowed, TlsPolicy::Required][tls as usize];
        let bytes = [&[0, 0, 0, 3][..], &options.concat()].concat();
        prop_assert_eq!(converse(&bytes, &pieces, policy), converse(&bytes, &[usize::MAX], policy));
    }
}
