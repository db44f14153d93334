//! `ioda survey merge` and `ioda sweep merge`: the runs of several folders in one.

use crate::exit::Code;
use crate::output::remark;
use crate::talk::Talk;
use clap::Args;
use std::path::PathBuf;
use study::Failure;
use study::jobs::{self, Kept, Merged};

/// Options of `ioda survey merge` and `ioda sweep merge`.
#[derive(Args, Clone, Debug)]
pub(crate) struct MergeArgs {
    /// The folders of shards, in any order
    #[arg(value_name = "FOLDER", required = true)]
    folders: Vec<PathBuf>,
    /// Where their runs go, beside those that are kept there already
    #[arg(long, value_name = "FOLDER")]
    output: PathBuf,
}

/// Puts them together, and says what comes next.
pub(crate) fn run<R: Kept>(args: &MergeArgs, talk: Talk) -> Result<Code, Failure> {
    let Merged { runs, new } = jobs::merge::<R>(&args.folders, &args.output)?;
    if !talk.quiet {
        let (of, output) = (R::OF, args.output.display());
        remark(&format!("{runs} runs in {output}, {new} of them new"));
        remark(&format!(
            "now the same ioda {of} with --output {output} and without --shard: it finds them, and shows \
             everything"
        ));
    }
    Ok(Code::Ok)
}
