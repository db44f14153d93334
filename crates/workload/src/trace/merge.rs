//! Merge of several traces by time.

use super::input::{self, Opened};
use super::{Counts, Detected, Gaps, ReadOptions, TraceClock, TraceReader};
use crate::Request;
use crate::error::{OptionError, TraceError};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use units::{Duration, Instant};

/// Alignment of the times of several traces: times that count as the same moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Align {
    /// Equal times, of clocks with the same origin.
    #[default]
    Clock,
    /// The first requests of all traces.
    Start,
}

impl fmt::Display for Align {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clock => "clock",
            Self::Start => "start",
        })
    }
}

impl FromStr for Align {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        match text {
            "clock" => Ok(Self::Clock),
            "start" => Ok(Self::Start),
            _ => Err(OptionError::NotUnderstood {
                option: "align",
                value: text.to_owned(),
                expected: "one of clock, start",
            }),
        }
    }
}

/// Options of a merge.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MergeOptions {
    /// Alignment of the times.
    pub align: Align,
    /// Time added to each trace, in their order; empty for none.
    pub shifts: Vec<Duration>,
    /// Whether devices of the same name in several traces are one device.
    pub same_devices: bool,
}

/// A trace that is being merged.
pub struct Merged {
    reader: TraceReader,
    name: String,
    /// Next request of the trace.
    head: Option<Request>,
    /// Time added to the times of the trace.
    later: Duration,
    /// Number of each device in the merged trace; `None` before its first request.
    devices: Vec<Option<u32>>,
}

impl Merged {
    /// The file as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Format and units of the trace, with the evidence.
    #[must_use]
    pub fn detected(&self) -> &Detected {
        self.reader.detected()
    }

    /// Counts of the lines so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        self.reader.counts()
    }

    /// Pauses between the requests so far.
    #[must_use]
    pub fn gaps(&self) -> &Gaps {
        self.reader.gaps()
    }

    /// Time of the first request in the merged trace.
    #[must_use]
    pub fn first(&self) -> Duration {
        self.later
    }

    /// Devices so far: the number in the merged trace, and the name in this one.
    #[must_use]
    pub fn devices(&self) -> Vec<(u32, String)> {
        let names = self.reader.device_names();
        let numbered = self.devices.iter().zip(names);
        numbered.filter_map(|(number, name)| number.map(|number| (number, name))).collect()
    }

    /// Reads the next request.
    fn advance(&mut self) -> Result<(), TraceError> {
        self.head = self.reader.next().transpose()?;
        Ok(())
    }

    /// Time of the next request in the merged trace.
    fn at(&self) -> Option<Instant> {
        self.head.map(|request| request.at + self.later)
    }
}

/// The requests of several traces in order of time, the first at zero. Requests at the same time
/// come in the order of their traces.
///
/// Memory is bounded by the reorder windows of the traces. Nothing follows the first error.
pub struct Merge {
    inputs: Vec<Merged>,
    /// The next request of each input that has one.
    next: BinaryHeap<Reverse<(Instant, usize)>>,
    clocks: String,
    same_devices: bool,
    /// Numbers of devices by name, if traces share devices.
    numbers: HashMap<String, u32>,
    devices: u32,
    failed: bool,
}

impl Merge {
    /// Opens the files or pipes at `paths`, all with the options `reading`. Calls `waiting` for a
    /// pipe that is silent for long.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or is part of another trace, or its times cannot be compared with
    /// those of the others.
    pub fn open(
        paths: &[impl AsRef<Path>],
        reading: &ReadOptions,
        options: &MergeOptions,
        waiting: fn(&str),
    ) -> Result<Self, TraceError> {
        let mut readers = Vec::new();
        let mut files: Vec<(PathBuf, String)> = Vec::new();
        for path in paths {
            let Opened { name, content, identity, .. } = input::open(path.as_ref(), waiting)?;
            for file in identity.files() {
                let file = file.canonicalize().unwrap_or_else(|_| file.clone());
                if let Some((_, other)) = files.iter().find(|(known, _)| *known == file) {
                    let reason = format!(
                        "{} is a part of {other} already, for the files of all CPUs are read together; name one of \
                         them",
                        file.display()
                    );
                    return Err(TraceError::Unusable { name, reason });
                }
                files.push((file, name.clone()));
            }
            let reader = TraceReader::of_content(content, &name, reading)?;
            readers.push((name, reader));
        }
        Self::new(readers, options)
    }

    /// Merges `readers`, each with the name of its file.
    ///
    /// # Errors
    ///
    /// As [`Merge::open`].
    pub fn new(
        readers: Vec<(String, TraceReader)>,
        options: &MergeOptions,
    ) -> Result<Self, TraceError> {
        let (moved, count) = (options.shifts.len(), readers.len());
        if moved > 0 && moved != count {
            return Err(OptionError::OutOfRange {
                option: "shift",
                value: format!("{moved} times"),
                limit: format!("one for each of the {count} traces"),
            }
            .into());
        }
        let mut inputs = Vec::new();
        for (name, reader) in readers {
            let (head, later, devices) = (None, Duration::ZERO, Vec::new());
            let mut input = Merged { reader, name, head, later, devices };
            input.advance()?;
            inputs.push(input);
        }
        let (clocks, firsts) = align(&inputs, options)?;
        let start = firsts.iter().min().copied().unwrap_or_default();
        let mut next = BinaryHeap::new();
        for (index, (input, first)) in inputs.iter_mut().zip(firsts).enumerate() {
            input.later = Duration::from_nanos(first - start);
            next.extend(input.at().map(|at| Reverse((at, index))));
        }
        let same_devices = options.same_devices;
        let (numbers, devices, failed) = (HashMap::new(), 0, false);
        Ok(Self { inputs, next, clocks, same_devices, numbers, devices, failed })
    }

    /// The traces in their order.
    #[must_use]
    pub fn inputs(&self) -> &[Merged] {
        &self.inputs
    }

    /// Sentence about the times that count as the same moment.
    #[must_use]
    pub fn clocks(&self) -> &str {
        &self.clocks
    }

    /// Number of devices so far.
    #[must_use]
    pub fn devices(&self) -> u32 {
        self.devices
    }

    /// Number of an input's device in the merged trace.
    fn device(&mut self, index: usize, device: u32) -> u32 {
        let input = &mut self.inputs[index];
        let place = device as usize;
        if input.devices.len() <= place {
            input.devices.resize(place + 1, None);
        }
        if let Some(number) = input.devices[place] {
            return number;
        }
        let name = input.reader.device_name(device);
        let known = self.numbers.get(name).copied().filter(|_| self.same_devices);
        let number = known.unwrap_or(self.devices);
        if known.is_none() {
            self.devices += 1;
            if self.same_devices {
                self.numbers.insert(name.to_owned(), number);
            }
        }
        input.devices[place] = Some(number);
        number
    }
}

/// Sentence about the clocks, and the time of the first request of each input, in nanoseconds from
/// a common moment.
fn align(inputs: &[Merged], options: &MergeOptions) -> Result<(String, Vec<u64>), TraceError> {
    let clocks: Vec<(TraceClock, u64)> =
        inputs.iter().filter_map(|input| input.reader.clock()).collect();
    let shift = |index: usize| options.shifts.get(index).map_or(0, |shift| shift.as_nanos());
    let shifted = |firsts: Vec<u64>| -> Vec<u64> {
        (0..).zip(firsts).map(|(index, first)| first.saturating_add(shift(index))).collect()
    };
    let mut said = String::new();
    let firsts = match (options.align, clocks.first()) {
        (Align::Start, _) | (_, None) => {
            said.push_str(
                "the first requests of all come at the same time, as was asked for (align)",
            );
            vec![0; inputs.len()]
        }
        (Align::Clock, Some((clock, _))) => {
            let other = clocks.iter().position(|(other, _)| other != clock);
            if let Some((input, (other, _))) =
                other.and_then(|at| Some((inputs.get(at)?, clocks[at])))
            {
                return Err(TraceError::Unusable {
                    name: input.name.clone(),
                    reason: format!(
                        "{other}, where of {} {clock}, so which of them come first cannot be told; type \
                         --align start to let all begin at the same time, with --shift to move them",
                        inputs[0].name
                    ),
                });
            }
            said.push_str(match clock {
                TraceClock::Date => "all times are dates and taken as they are",
                TraceClock::Midnight => "all times are times of day and taken as those of one day",
                TraceClock::Start => {
                    "no times are dates, so all are taken to count from the same moment; if each \
                     trace counts from its own, --align start lets all begin at the same time"
                }
            });
            clocks.iter().map(|(_, first)| *first).collect()
        }
    };
    if !options.shifts.is_empty() {
        let shifts: Vec<String> = options.shifts.iter().map(ToString::to_string).collect();
        said.push_str(&format!(
            "; they come later by {}, as was asked for (shift)",
            shifts.join(", ")
        ));
    }
    Ok((said, shifted(firsts)))
}

impl Iterator for Merge {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let Reverse((at, index)) = self.next.pop()?;
        let input = &mut self.inputs[index];
        let head = input.head.take()?;
        if let Err(error) = input.advance() {
            self.failed = true;
            return Some(Err(error));
        }
        self.next.extend(input.at().map(|at| Reverse((at, index))));
        let device = self.device(index, head.device);
        Some(Ok(Request { at, device, ..head }))
    }
}
