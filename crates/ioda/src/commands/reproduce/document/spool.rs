//! The documents of groups of runs, kept in a file until all of them are known: together they are
//! many times as large as what is in memory at any time.

use report::Comparison;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{Error, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use study::Failure;

/// What stands in front of every line of a group after its first: it is an entry of a list in an
/// object.
const INDENT: &[u8] = b"    ";

/// The documents of groups of runs, in the order of the groups. The file has no name: whatever
/// becomes of the program, nothing is left that could pass for a document.
pub(in crate::commands::reproduce) struct Spool {
    file: File,
    /// Where the text of each group is, once it is there.
    places: Vec<Option<Range<u64>>>,
}

impl Spool {
    /// Room for `groups` groups, on the same disk as the document that will be written to `path`.
    pub(in crate::commands::reproduce) fn new(path: &Path, groups: usize) -> Result<Self, Failure> {
        let folder = match path.parent() {
            _ if study::files::is_stdout(path) || !study::files::is_replaceable(path) => None,
            Some(parent) if parent.as_os_str().is_empty() => Some(Path::new(".")),
            parent => parent,
        };
        let file = match folder {
            Some(folder) => tempfile::tempfile_in(folder),
            None => tempfile::tempfile(),
        };
        let file = file.map_err(|error| {
            Failure::internal(format!("cannot write {}: {error}", path.display()))
        })?;
        Ok(Self { file, places: vec![None; groups] })
    }

    /// Adds the document of the group with this index.
    pub(in crate::commands::reproduce) fn add(
        &mut self,
        index: usize,
        comparison: &Comparison,
    ) -> io::Result<()> {
        let start = self.file.seek(SeekFrom::End(0))?;
        let mut out = Indented { out: BufWriter::new(&self.file) };
        serde_json::to_writer_pretty(&mut out, comparison)?;
        out.flush()?;
        drop(out);
        self.places[index] = Some(start..self.file.stream_position()?);
        Ok(())
    }

    /// The text at `place`.
    fn read(&self, place: &Range<u64>) -> io::Result<String> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(place.start))?;
        let mut text = String::new();
        file.take(place.end - place.start).read_to_string(&mut text)?;
        Ok(text)
    }
}

impl Serialize for Spool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for place in self.places.iter().flatten() {
            let text = self.read(place).map_err(S::Error::custom)?;
            let text = RawValue::from_string(text).map_err(S::Error::custom)?;
            list.serialize_element(&text)?;
        }
        list.end()
    }
}

impl JsonSchema for Spool {
    fn schema_name() -> Cow<'static, str> {
        Vec::<Comparison>::schema_name()
    }

    fn inline_schema() -> bool {
        Vec::<Comparison>::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<Comparison>::json_schema(generator)
    }
}

/// Puts [`INDENT`] behind every line end. Strings of JSON have none.
struct Indented<W> {
    out: W,
}

impl<W: Write> Write for Indented<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.out.write_all(piece)?;
            if piece.ends_with(b"\n") {
                self.out.write_all(INDENT)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, PlanNumbers, Reproduction};
    use super::*;
    use report::Claim;
    use report::schema::{self, Document};

    /// The document as it would be if all of it were in memory.
    #[derive(Serialize, JsonSchema)]
    struct Whole {
        statements: Vec<report::statements::PaperStatements>,
        claims: Vec<Claim>,
        workloads: Vec<Comparison>,
        figures: Vec<Figure>,
        plans: Vec<PlanNumbers>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        published: Vec<report::published::PublishedTable>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        over_seeds: Vec<report::seeds::ClaimOverSeeds>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    }

    impl Document for Whole {
        const SCHEMA: &'static str = Reproduction::SCHEMA;
    }

    fn comparison(title: &str) -> Comparison {
        Comparison {
            title: title.to_owned(),
            runs: vec![report::Run {
                label: "a \"label\"\nof two lines".to_owned(),
                ..report::Run::default()
            }],
            claims: vec![Claim::default()],
            ..Comparison::default()
        }
    }

    #[test]
    fn what_is_written_piece_by_piece_is_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("document.json");
        for groups in [0, 1, 3] {
            let whole: Vec<Comparison> = (0..groups).map(|n| comparison(&n.to_string())).collect();
            // One more group than there are documents: it was not run to its end.
            let mut workloads = Spool::new(&path, groups + 1).unwrap();
            for index in (0..groups).rev() {
                workloads.add(index, &whole[index]).unwrap();
            }
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
            let claims = || vec![Claim::default(), Claim::default()];
            let figures = || vec![Figure::new("a figure", &comparison("0"))];
            let streamed = Reproduction {
                statements: Vec::new(),
                claims: claims(),
                workloads,
                figures: figures(),
                plans: Vec::new(),
                published: Vec::new(),
                over_seeds: Vec::new(),
                notes: Vec::new(),
            };
            let whole = Whole {
                statements: Vec::new(),
                claims: claims(),
                workloads: whole,
                figures: figures(),
                plans: Vec::new(),
                published: Vec::new(),
                over_seeds: Vec::new(),
                notes: Vec::new(),
            };
            let mut text = Vec::new();
            schema::write(&mut text, &streamed).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), schema::to_string(&whole));
        }
        // The test's words may differ.
        let schemas = [schema::of::<Reproduction>(), schema::of::<Whole>()];
        let of_lists = schemas.each_ref().map(|schema| {
            let list = &schema["properties"]["workloads"];
            (list["type"].clone(), list["items"].clone(), schema["required"].clone())
        });
        assert_eq!(of_lists[0], of_lists[1]);
        assert_eq!(schemas[0]["$defs"], schemas[1]["$defs"]);
    }
}
