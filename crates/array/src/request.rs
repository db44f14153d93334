//! Requests of a host to an array.

/// Kind of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestKind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// The host no longer needs these bytes. A hint: drives deallocate only rows of a stripe whose
    /// data is deallocated as a whole; other rows stay as they are.
    Deallocate,
}

/// The driver's identifier of a request; it comes back in the [`Outcome`](crate::Outcome).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub u64);

/// A request of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The driver's identifier.
    pub id: RequestId,
    /// Number of the host; 0 if there is only one.
    pub host: u8,
    /// Read, write or deallocation.
    pub kind: RequestKind,
    /// First byte. Any alignment.
    pub offset_bytes: u64,
    /// Number of bytes, at least 1.
    pub size_bytes: u64,
}
