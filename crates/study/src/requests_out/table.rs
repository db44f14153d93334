//! Columns of requests as Parquet has them.

use array::RequestKind;
use nvme::{Blocked, Cause};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use report::Manifest;
use sim::RequestColumns;
use std::io::Write;
use std::sync::Arc;

/// The name of the column that has the nanoseconds of a cause.
pub const fn cause_column(cause: Cause) -> &'static str {
    match cause {
        Cause::Transfer => "transfer_ns",
        Cause::NandRead => "nand_read_ns",
        Cause::BehindHostReads => "behind_host_reads_ns",
        Cause::BehindHostWrites => "behind_host_writes_ns",
        Cause::BehindCollectionRead => "behind_collection_read_ns",
        Cause::BehindCollectionProgram => "behind_collection_program_ns",
        Cause::BehindCollectionErase => "behind_collection_erase_ns",
        Cause::FailFast => "fail_fast_ns",
        Cause::Rebuild => "rebuild_ns",
        Cause::StripeLock => "stripe_lock_ns",
        Cause::LateAnswer => "late_answer_ns",
        Cause::HeldBack => "held_back_ns",
    }
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ColumnKind {
    /// A whole number that is never negative and below 2^63.
    Long,
    /// 64 bits.
    Bits,
    /// A whole number below 2^8.
    Byte,
    /// A whole number below 2^32.
    Count,
    Flag,
    /// One of a few words.
    Word,
}

impl ColumnKind {
    /// The type in the language of Parquet's schemas.
    fn in_schema(self, name: &str) -> String {
        match self {
            Self::Long => format!("required int64 {name};"),
            Self::Bits => format!("required int64 {name} (INTEGER(64,false));"),
            Self::Byte => format!("required int32 {name} (INTEGER(8,false));"),
            Self::Count => format!("required int32 {name} (INTEGER(32,false));"),
            Self::Flag => format!("required boolean {name};"),
            Self::Word => format!("required binary {name} (STRING);"),
        }
    }
}

/// All columns, in order.
fn columns() -> Vec<(&'static str, ColumnKind)> {
    let mut columns = vec![
        ("policy", ColumnKind::Word),
        ("number", ColumnKind::Long),
        ("host", ColumnKind::Byte),
        ("op", ColumnKind::Word),
        ("offset_bytes", ColumnKind::Long),
        ("size_bytes", ColumnKind::Long),
        ("arrived_ns", ColumnKind::Long),
        ("completed_ns", ColumnKind::Long),
        ("latency_ns", ColumnKind::Long),
    ];
    columns.extend(Cause::ALL.map(|cause| (cause_column(cause), ColumnKind::Long)));
    columns.extend([
        ("write_ns", ColumnKind::Long),
        ("busy_members", ColumnKind::Bits),
        ("reconstructions", ColumnKind::Count),
        ("blocked", ColumnKind::Word),
        ("failed", ColumnKind::Flag),
    ]);
    columns
}

/// What is known of the whole file.
pub(super) fn about(
    manifest: Manifest,
    hashes: impl Iterator<Item = (String, String)>,
) -> Vec<(String, String)> {
    let mut about = vec![
        ("ioda.version", manifest.ioda_version),
        ("ioda.command_line", manifest.command_line),
        ("ioda.configuration_toml", manifest.configuration_toml),
        ("ioda.seed", manifest.seed),
        ("ioda.workload", manifest.workload),
    ];
    about.extend(manifest.workload_hash.map(|hash| ("ioda.workload_hash", hash)));
    about.into_iter().map(|(key, value)| (key.to_owned(), value)).chain(hashes).collect()
}

/// A file that grows by row groups.
pub(super) struct Table<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    words: Words,
    /// Numbers as Parquet has them: no sign there is no bit more.
    longs: Vec<i64>,
    ints: Vec<i32>,
    texts: Vec<ByteArray>,
}

/// The words of the columns, in memory once.
struct Words {
    read: ByteArray,
    write: ByteArray,
    deallocate: ByteArray,
    no: ByteArray,
    queue: ByteArray,
    collection: ByteArray,
}

impl Words {
    fn of_kind(&self, kind: RequestKind) -> &ByteArray {
        match kind {
            RequestKind::Read => &self.read,
            RequestKind::Write => &self.write,
            RequestKind::Deallocate => &self.deallocate,
        }
    }

    fn of_blocked(&self, blocked: Blocked) -> &ByteArray {
        match blocked {
            Blocked::No => &self.no,
            Blocked::Queue => &self.queue,
            Blocked::Collection => &self.collection,
        }
    }
}

impl<W: Write + Send> Table<W> {
    /// A table without rows.
    pub(super) fn new(out: W) -> Result<Self, ParquetError> {
        let columns = columns();
        let fields: String =
            columns.iter().map(|&(name, kind)| kind.in_schema(name) + "\n").collect();
        let schema = parse_message_type(&format!("message requests {{\n{fields}}}"))?;
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("ioda {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::LZ4_RAW)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_dictionary_enabled(false);
        for &(name, kind) in &columns {
            let column = ColumnPath::from(name);
            properties = match kind {
                // Neighbours are alike, and most causes are zero.
                ColumnKind::Long | ColumnKind::Bits | ColumnKind::Byte | ColumnKind::Count => {
                    properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED)
                }
                ColumnKind::Word => properties.set_column_dictionary_enabled(column, true),
                ColumnKind::Flag => properties,
            };
        }
        let word = |word: &str| ByteArray::from(word);
        let words = Words {
            read: word("read"),
            write: word("write"),
            deallocate: word("deallocate"),
            no: word("no"),
            queue: word("queue"),
            collection: word("collection"),
        };
        let writer =
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))?;
        Ok(Self { writer, words, longs: Vec::new(), ints: Vec::new(), texts: Vec::new() })
    }

    /// Writes requests under `policy` as a row group.
    pub(super) fn write(
        &mut self,
        policy: &str,
        requests: &RequestColumns,
    ) -> Result<(), ParquetError> {
        let Self { writer, words, longs, ints, texts } = self;
        let mut group = Group { group: writer.next_row_group()?, longs, ints, texts };
        group.words(std::iter::repeat_n(&ByteArray::from(policy), requests.len()))?;
        group.longs(requests.number.iter().copied())?;
        group.ints(requests.host.iter().map(|&host| i32::from(host)))?;
        group.words(requests.kind.iter().map(|&kind| words.of_kind(kind)))?;
        group.longs(requests.offset_bytes.iter().copied())?;
        group.longs(requests.size_bytes.iter().copied())?;
        group.longs(requests.arrived_ns.iter().copied())?;
        group.longs(requests.completed_ns.iter().copied())?;
        let times = requests.completed_ns.iter().zip(&requests.arrived_ns);
        group.longs(times.map(|(completed, arrived)| completed - arrived))?;
        for cause in &requests.delays_ns {
            group.longs(cause.iter().copied())?;
        }
        group.longs(requests.write_ns.iter().copied())?;
        group.longs(requests.busy_members.iter().copied())?;
        group.ints(requests.reconstructions.iter().map(|count| count.cast_signed()))?;
        group.words(requests.blocked.iter().map(|&blocked| words.of_blocked(blocked)))?;
        group.flags(&requests.failed)?;
        group.group.close()?;
        Ok(())
    }

    /// No row follows. Returns what was written to.
    pub(super) fn finish(mut self, about: Vec<(String, String)>) -> Result<W, ParquetError> {
        for (key, value) in about {
            self.writer.append_key_value_metadata(KeyValue::new(key, value));
        }
        self.writer.into_inner()
    }
}

/// Columns of a row group, written one after the other.
struct Group<'a, W: Write + Send> {
    group: SerializedRowGroupWriter<'a, W>,
    longs: &'a mut Vec<i64>,
    ints: &'a mut Vec<i32>,
    texts: &'a mut Vec<ByteArray>,
}

impl<W: Write + Send> Group<'_, W> {
    fn longs(&mut self, values: impl Iterator<Item = u64>) -> Result<(), ParquetError> {
        self.longs.clear();
        self.longs.extend(values.map(u64::cast_signed));
        let mut column = self.group.next_column()?.ok_or_else(too_many)?;
        column.typed::<Int64Type>().write_batch(self.longs, None, None)?;
        column.close()
    }

    fn ints(&mut self, values: impl Iterator<Item = i32>) -> Result<(), ParquetError> {
        self.ints.clear();
        self.ints.extend(values);
        let mut column = self.group.next_column()?.ok_or_else(too_many)?;
        column.typed::<Int32Type>().write_batch(self.ints, None, None)?;
        column.close()
    }

    fn words<'b>(
        &mut self,
        values: impl Iterator<Item = &'b ByteArray>,
    ) -> Result<(), ParquetError> {
        self.texts.clear();
        self.texts.extend(values.cloned());
        let mut column = self.group.next_column()?.ok_or_else(too_many)?;
        column.typed::<ByteArrayType>().write_batch(self.texts, None, None)?;
        column.close()
    }

    fn flags(&mut self, values: &[bool]) -> Result<(), ParquetError> {
        let mut column = self.group.next_column()?.ok_or_else(too_many)?;
        column.typed::<BoolType>().write_batch(values, None, None)?;
        column.close()
    }
}

fn too_many() -> ParquetError {
    ParquetError::General("the schema has fewer columns than are written".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn a_table_is_what_was_written() {
        let mut requests = RequestColumns::with_capacity(3);
        for number in 1..=3 {
            requests.push(&sim::RequestRecord {
                number,
                host: 255,
                kind: [RequestKind::Read, RequestKind::Write, RequestKind::Deallocate]
                    [number as usize - 1],
                failed: number == 2,
                offset_bytes: number << 40,
                size_bytes: 4096,
                arrived: units::Instant::from_nanos(number),
                completed: units::Instant::from_nanos(10 * number),
                delays: nvme::Delays::ZERO,
                write: units::Duration::from_nanos(9 * number),
                reconstructions: u32::MAX,
                blocked: [Blocked::No, Blocked::Queue, Blocked::Collection][number as usize - 1],
                busy_members: 1 << 63 | number,
            });
        }
        let mut table = Table::new(Vec::new()).unwrap();
        table.write("base", &requests).unwrap();
        table.write("ioda", &requests).unwrap();
        let file = table.finish(vec![("key".to_owned(), "value".to_owned())]).unwrap();
        let reader = SerializedFileReader::new(bytes(file)).unwrap();
        let about = reader.metadata().file_metadata();
        let pair = KeyValue::new("key".to_owned(), "value".to_owned());
        assert_eq!(about.key_value_metadata(), Some(&vec![pair]));
        let rows: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows.len(), 6);
        let causes = Cause::ALL.map(|cause| format!("{}: 0, ", cause_column(cause))).concat();
        assert_eq!(
            rows[4],
            format!(
                "{{policy: \"ioda\", number: 2, host: 255, op: \"write\", offset_bytes: 2199023255552, \
                 size_bytes: 4096, arrived_ns: 2, completed_ns: 20, latency_ns: 18, {causes}write_ns: 18, \
                 busy_members: 9223372036854775810, reconstructions: 4294967295, blocked: \"queue\", \
                 failed: true}}"
            )
        );
    }

    fn bytes(file: Vec<u8>) -> impl parquet::file::reader::ChunkReader + 'static {
        let mut out = tempfile::tempfile().unwrap();
        out.write_all(&file).unwrap();
        out
    }

    #[test]
    fn every_column_is_documented() {
        let page = include_str!("../../../../docs/requests.md");
        for (name, _) in columns() {
            assert!(page.contains(&format!("| `{name}` |")), "docs/requests.md lacks {name}");
        }
    }
}
