//! What the fuzz target calls: our client, with a server that sends anything.

use super::client::Client;
use super::stream::Socket;
use super::uri::{Endpoint, Uri};
use super::wire::command;
use std::collections::BTreeSet;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

/// Requests that the client makes.
pub const REQUESTS: u64 = 12;
/// What a socket certainly takes at once.
const BYTES_MAX: usize = 64 << 10;

/// Bytes of data that the answer to a request has; 0 if it is none that reads.
#[must_use]
pub fn read_bytes(cookie: u64) -> u32 {
    if cookie % 3 == 2 { 0 } else { 512 << (cookie % 4) }
}

/// Lets a server send `bytes`, and close. Returns how many requests it answered, if the client came
/// as far.
///
/// # Panics
///
/// When the client does, waits for more than it was sent, or reports an answer to what nobody
/// asked, twice, or with other data than it says: that is what the fuzzer looks for.
pub fn check(bytes: &[u8]) -> Option<u64> {
    let bytes = &bytes[..bytes.len().min(BYTES_MAX)];
    let (ours, mut theirs) = UnixStream::pair().ok()?;
    theirs.write_all(bytes).ok()?;
    theirs.shutdown(Shutdown::Write).ok()?;
    let uri = Uri { endpoint: Endpoint::Unix("fuzz".into()), export: "a".into(), tls: false };
    let mut client = match Client::over(Socket::Unix(ours), &uri) {
        Ok(client) => client,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return None;
        }
    };
    let mut out = BTreeSet::new();
    for cookie in 0..REQUESTS {
        match read_bytes(cookie) {
            0 if cookie % 2 == 0 => client.send_flush(cookie),
            0 => client.send(command::TRIM, 0, cookie, 0, 4096),
            bytes => client.send_read(cookie, cookie << 20, bytes),
        }
        out.insert(cookie);
    }
    // The other end is there, and has room for so little.
    assert!(client.flush().is_ok() && !client.wants_write());
    let (mut answered, mut pauses) = (0, 0);
    loop {
        assert!(pauses < 1000, "it waits for more, and there is no more");
        match client.receive() {
            Ok(Some(reply)) => {
                assert!(out.remove(&reply.cookie), "{} was not out", reply.cookie);
                let bytes = if reply.error == 0 { read_bytes(reply.cookie) } else { 0 };
                assert_eq!(reply.data.len(), bytes as usize);
                answered += 1;
            }
            // All that is ever sent has been sent: it is read in some pieces, and then it ends.
            Ok(None) => pauses += 1,
            Err(_) => break,
        }
    }
    assert_eq!(client.in_flight(), out.len());
    Some(answered)
}
