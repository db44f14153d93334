//! The same questions for programs in the same process, in the words of the command line.
//!
//! A question is a list of options as somebody would have typed them ([`Words`]). It is read by the
//! same parser as the command line, so names, units, defaults and the sentences of errors are the
//! same. What comes of it are the documents and the results themselves; nothing is printed.

mod documents;
mod error;
mod kept;
mod simulation;
mod words;

pub use documents::{plan, policies};
pub use error::Error;
pub use kept::{Job, Maker, Store, merge, shard};
pub use simulation::{Command, Done, Entry, Question, Simulation};
pub use words::{Value, Words};

pub use study::requests_out::cause_column;
