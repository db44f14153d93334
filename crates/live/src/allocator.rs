//! Large blocks of the C library's allocator.
//!
//! The allocator takes large blocks from the system, until one is freed. From then on it takes
//! blocks of that size from heaps of threads, which shrink seldom. A server is faster with that. A
//! program that makes and drops the maps of hundreds of drives keeps half a gigabyte.

/// Blocks of this size go back to the system as soon as they are freed, in bytes.
#[cfg(target_env = "gnu")]
const LARGE_BYTES: i32 = 1 << 20;

/// Has blocks of 1 MiB and more go back to the system as soon as they are freed, until the process
/// ends. Does nothing with other C libraries than GNU's.
#[allow(unsafe_code)]
pub fn give_back_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: `mallopt` takes two numbers and sets a parameter of the allocator under its own lock.
    // No pointer is passed, and every value is defined: one that is out of range is refused.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
    }
}
