//! What an array is asked.

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestKind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Nothing is needed any more of these bytes. A hint: of every row of a stripe all of whose
    /// data is meant, the drives are told; the rest stays as it is.
    Deallocate,
}

/// The driver's name for a request; it comes back in the
/// [`Outcome`](crate::Outcome).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub u64);

/// A request of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The driver's name for it.
    pub id: RequestId,
    /// Which host asks; 0 if there is only one.
    pub host: u8,
    /// What it asks for.
    pub kind: RequestKind,
    /// First byte. Any alignment.
    pub offset_bytes: u64,
    /// Number of bytes, at least 1.
    pub size_bytes: u64,
}
