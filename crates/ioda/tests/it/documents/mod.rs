//! Documents do what they say: every fenced block is typed, compared, read or compiled, each as its
//! language is, and what a page shows must come.
//!
//! - ```` ```console ````: a line `$ COMMAND` is typed, and the lines below are what it prints,
//!   both channels together. A line `...` stands for any lines; a line `? N` says that the exit
//!   code is N.
//! - ```` ```sh ````: every line is typed and must end well. A block ```` ```text ```` below is
//!   what it prints, but for blanks, and for numbers where they differ from one time to the next.
//! - ```` ```toml ```` and ```` ```csv ````: the program reads it. ```` ```rust ````: a crate
//!   compiles it.
//! - A command between single backquotes is parsed.
//!
//! The commands of a page run one after the other in one folder, which is empty at first; `/tmp`,
//! `/srv`, `/var/lib/ioda`, `/dev/loop` and `/dev/nvme` are that folder, and the usual ports are
//! others that are free. `ioda serve` goes on until the next one or the end of the page. What is
//! checked in another way is in [`exceptions`], with the reason.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod blocks;
mod check;
mod exceptions;
mod pages;
mod says;
mod terminal;

use check::Report;
use exceptions::EXCEPTIONS;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Pages that are checked side by side: most of the time one waits for a server or its own clock.
const SIDE_BY_SIDE: usize = 4;

/// One page only, such as `docs/sweep.md`, for whoever writes it.
const PAGE: &str = "IODA_PAGE";

/// Checks all pages.
fn reports(pages: Vec<String>) -> BTreeMap<String, Report> {
    let left = Mutex::new(pages);
    let next = || left.lock().unwrap().pop();
    let work = || {
        let mut done = Vec::new();
        while let Some(page) = next() {
            let report = check::check(&page);
            done.push((page, report));
        }
        done
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..SIDE_BY_SIDE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

#[test]
fn every_block_of_every_document_is_right() {
    let all = pages::all();
    let only = std::env::var(PAGE).ok();
    let wanted = all.iter().filter(|page| only.as_ref().is_none_or(|only| *page == only));
    let reports = reports(wanted.cloned().collect());
    let mut wrong: String = reports.values().map(|report| report.wrong.as_str()).collect();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for (way, count) in reports.values().flat_map(|report| &report.counts) {
        *counts.entry(way).or_default() += count;
    }
    for (way, count) in counts {
        println!("{count:>5} {way}");
    }
    for (index, exception) in EXCEPTIONS.iter().enumerate() {
        let is_used = reports.values().any(|report| report.used.contains(&index));
        if is_used {
            let what = exception.what.trim().lines().next().unwrap_or_default();
            println!("not as it stands: {}: `{what}` {}", exception.page, exception.why);
        } else if only.is_none() {
            wrong += &format!("the table has an exception that no document has: {exception:?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
