//! The Network Block Device protocol, server and client.

/// A client that is past the handshake.
#[derive(Debug)]
pub struct Connection {}
