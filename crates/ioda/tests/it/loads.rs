//! `ioda load` on servers that offer less than `ioda serve` does.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;
use live::nbd::wire::{
    GREETING_MAGIC, OPTION_MAGIC, REQUEST_BYTES, RequestHeader, command, command_flag, export_flag,
    handshake_flag, info, option, option_reply, put_option_reply, simple_reply,
};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

const SIZE_BYTES: u64 = 64 << 20;

/// What a server says of its export.
#[derive(Clone, Copy)]
struct Offer {
    flags: u16,
    /// Least, preferred and longest.
    blocks: [u32; 3],
}

/// A server for one client. It answers writes with an error, and of the reads every other one.
struct Server {
    socket: PathBuf,
    thread: JoinHandle<Vec<RequestHeader>>,
}

impl Server {
    fn start(folder: &Path, offer: Offer) -> Self {
        let socket = folder.join("n");
        let listener = UnixListener::bind(&socket).unwrap();
        let thread = std::thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            negotiate(&client, offer);
            answer(&client)
        });
        Self { socket, thread }
    }

    /// Loads it; what came of that, and what it was asked.
    fn load(self, words: &str) -> (common::Ran, Vec<RequestHeader>) {
        let address = self.socket.display().to_string();
        let mut all = vec!["--quiet", "load", "synthetic", "--address", &address];
        all.extend(words.split_whitespace());
        let ran = common::ioda_in(self.socket.parent().unwrap(), &all);
        (ran, self.thread.join().unwrap())
    }
}

fn negotiate(mut client: &UnixStream, offer: Offer) {
    let mut greeting = GREETING_MAGIC.to_be_bytes().to_vec();
    greeting.extend(OPTION_MAGIC.to_be_bytes());
    greeting.extend((handshake_flag::FIXED_NEWSTYLE | handshake_flag::NO_ZEROES).to_be_bytes());
    client.write_all(&greeting).unwrap();
    let mut front = [0; 4 + 16];
    client.read_exact(&mut front).unwrap();
    let length = u32::from_be_bytes(front[16..].try_into().unwrap());
    client.read_exact(&mut vec![0; length as usize]).unwrap();
    let mut export = info::EXPORT.to_be_bytes().to_vec();
    export.extend(SIZE_BYTES.to_be_bytes());
    export.extend(offer.flags.to_be_bytes());
    let mut blocks = info::BLOCK_SIZE.to_be_bytes().to_vec();
    blocks.extend(offer.blocks.iter().flat_map(|bytes| bytes.to_be_bytes()));
    let mut replies = Vec::new();
    put_option_reply(&mut replies, option::GO, option_reply::INFO, &export);
    put_option_reply(&mut replies, option::GO, option_reply::INFO, &blocks);
    put_option_reply(&mut replies, option::GO, option_reply::ACK, &[]);
    client.write_all(&replies).unwrap();
}

fn answer(mut client: &UnixStream) -> Vec<RequestHeader> {
    let mut asked: Vec<RequestHeader> = Vec::new();
    let mut bytes = [0; REQUEST_BYTES];
    while client.read_exact(&mut bytes).is_ok() {
        let request = RequestHeader::parse(&bytes).unwrap();
        let is_even = asked.len().is_multiple_of(2);
        let (error, data) = match request.command {
            command::WRITE => {
                client.read_exact(&mut vec![0; request.length_bytes as usize]).unwrap();
                (1, 0)
            }
            command::READ if is_even => (0, request.length_bytes as usize),
            command::READ => (5, 0),
            command::FLUSH => (0, 0),
            _ => break,
        };
        let (cookie, data) = (request.cookie, vec![0; data]);
        asked.push(request);
        let reply = [&simple_reply(error, cookie)[..], &data].concat();
        if client.write_all(&reply).is_err() {
            break;
        }
    }
    asked
}

const USUAL: [u32; 3] = [1, 4096, 32 << 20];

#[test]
fn what_a_server_does_not_take_is_refused_before_the_first_request() {
    let read_only = export_flag::HAS_FLAGS | export_flag::READ_ONLY;
    let offer = |flags, blocks| Offer { flags, blocks };
    let whole = [4096, 4096, 32 << 20];
    let short = [1, 4096, 64 << 10];
    for (offer, words, said) in [
        (
            offer(read_only, USUAL),
            "--rw randwrite --bs 4k",
            "error: the server offers the export for reading only, and the workload has a write of 4096 bytes at ",
        ),
        (
            offer(read_only, USUAL),
            "--rw randrw --rwmixread 99 --bs 4k",
            "error: the server offers the export for reading only, and the workload has a write",
        ),
        (
            offer(export_flag::HAS_FLAGS, whole),
            "--rw randread --bs 512",
            "error: the server takes whole blocks of 4096 bytes only, and the workload has a read of 512 bytes",
        ),
        (
            offer(export_flag::HAS_FLAGS, short),
            "--rw randread --bs 128k",
            "error: the server takes at most 65536 bytes at once, and the workload has a read of 131072 bytes",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let load = format!("{words} --rate_iops 3000 --number_ios 3000");
        let (ran, asked) = Server::start(folder.path(), offer).load(&load);
        assert!(ran.code == 2 && ran.stderr.contains(said), "{words}: {}", ran.stderr);
        assert_eq!(asked, [], "{words}");
    }
}

#[test]
fn errors_are_counted_by_their_kind() {
    let folder = tempfile::tempdir().unwrap();
    let offer = Offer { flags: export_flag::HAS_FLAGS, blocks: USUAL };
    let server = Server::start(folder.path(), offer);
    let (ran, asked) =
        server.load("--rw randrw --rwmixread 50 --bs 4k --iodepth 1 --number_ios 200");
    assert_eq!(asked.len(), 200);
    let of = |what: u16| asked.iter().filter(move |request| request.command == what).count();
    let failed = asked
        .iter()
        .enumerate()
        .filter(|(number, request)| request.command == command::READ && !number.is_multiple_of(2));
    let (failed, writes) = (failed.count(), of(command::WRITE));
    assert!(failed > 0 && writes > 0 && of(command::READ) > failed);
    let kinds = format!(
        "{} answered with an error ({failed} reads: EIO, a failure of the device; {writes} writes: EPERM, not permitted)",
        failed + writes
    );
    assert_eq!(ran.code, 4);
    assert!(ran.stderr.contains(&kinds), "{kinds}: {}", ran.stderr);
    assert!(ran.stdout.contains(&kinds), "{kinds}: {}", ran.stdout);
}

/// Requests of a trace: a read, two writes with FUA, one without, two flushes in a row, and a read.
const DURABLE: &str = "t_us,op,offset_bytes,size_bytes\n0,R,0,4096\n100,WF,4096,4096\n200,W,8192,4096\n\
                       300,FWFS,12288,4096\n400,F,0,0\n410,F,0,0\n500,R,0,4096\n";

#[test]
fn writes_with_fua_and_flushes_of_a_trace_are_sent_where_the_server_takes_them() {
    let asked = "of the trace, 2 writes ask for stable storage (FUA, or a flush ahead) and 2 lines are flushes; ";
    let no_flush = "; the server takes no flushes, so all were left out";
    for (flags, forced, said) in [
        (
            export_flag::SEND_FUA,
            vec![4096, 12288],
            format!("2 writes were sent with FUA{no_flush}"),
        ),
        (
            0,
            vec![],
            format!("the server takes no FUA, so all writes were sent without it{no_flush}"),
        ),
        (
            export_flag::SEND_FUA | export_flag::SEND_FLUSH,
            vec![4096, 12288],
            String::from(
                "2 writes were sent with FUA; 1 flushes were sent, each ahead of the request behind it, and took ",
            ),
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("t.csv"), DURABLE).unwrap();
        let offer = Offer { flags: export_flag::HAS_FLAGS | flags, blocks: USUAL };
        let server = Server::start(folder.path(), offer);
        let address = server.socket.display().to_string();
        let words = ["--quiet", "load", "t.csv", "--address", &address, "--json"];
        let ran = common::ioda_in(folder.path(), &words);
        let sent = server.thread.join().unwrap();
        let found: Vec<u64> = sent
            .iter()
            .filter(|request| request.flags & command_flag::FUA != 0)
            .map(|request| request.offset_bytes)
            .collect();
        let mut commands = vec![command::READ, command::WRITE, command::WRITE, command::WRITE];
        commands.extend((flags & export_flag::SEND_FLUSH != 0).then_some(command::FLUSH));
        commands.push(command::READ);
        let order: Vec<u16> = sent.iter().map(|request| request.command).collect();
        assert_eq!((order, found), (commands, forced), "{}", ran.stderr);
        let notes = ran.json()["manifest"]["notes"].to_string();
        let note = format!("{asked}{said}");
        assert!(notes.contains(&note), "{notes}");
    }
}
