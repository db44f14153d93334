//! Readers of trace files: one file per format, one reader that drives them.

mod clock;
mod counts;
mod csv;
mod detect;
mod evidence;
mod fields;
mod format;
mod gaps;
mod input;
mod lines;
mod merge;
mod odd;
mod ops;
mod options;
mod order;
mod parsed;
mod parser;
mod reader;
mod shape;

mod alibaba;
mod blkparse;
mod blkreplay;
mod disksim;
mod fio_iolog;
mod msr;
mod spc;
mod systor;
mod tencent;
mod vscsi;

pub use clock::TraceClock;
pub use counts::{Counts, SkipReason};
pub use csv::ColumnMap;
pub use detect::Detected;
pub use format::{Compression, Format, TimeUnit};
pub use gaps::{Gap, Gaps};
pub use merge::{Align, Merge, MergeOptions, Merged};
pub use options::{BlkparseEvent, ReadOptions};
pub use parsed::{FileIdentity, HELD_REQUESTS_MOST, Trace, TraceRequests};
pub use reader::TraceReader;
