//! Bugs that once lost data, each with the shortest scripts that meet it, with a power cut at every
//! command of the disks.
//!
//! A failure names the script; `ioda torture --story --script …` prints its story.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use array::Level;
use ioda_sim::torture::{Case, Demands, History, torture};

/// Demands: with the journal always on, drives may be lost in a cut.
const PROMISED: Demands = Demands { write_hole: false };

/// Lives through scripts, `LEVEL:ACTS:LOSS`, once for each command at which the power can fail.
fn survive(scripts: &[&str]) {
    for script in scripts {
        let mut cuts = 0;
        for after in 0.. {
            let case: Case = format!("{script}:{after}").parse().unwrap();
            let verdict = torture(&case.history(), PROMISED, false);
            assert_eq!(verdict.failure, None, "{case}");
            if verdict.counts.cuts == 0 {
                break;
            }
            cuts += 1;
        }
        assert!(cuts > 20, "{script} was cut {cuts} times");
    }
}

#[test]
fn the_journal_goes_to_the_drives_that_serve_now_and_not_to_those_that_did_when_it_began() {
    survive(&[
        "raid5:fail-last,replace,moment,fail,write:everything",
        "raid5-degraded:fail-last,replace,moment,fail,write:everything",
        "raid6:fail-last,fail,replace-last,moment,fail-second,write:everything",
        "raid6-degraded:fail-last,fail,replace-last,moment,fail-second,write:mixed",
    ]);
}

#[test]
fn what_was_written_before_a_failure_is_stable_before_the_failure_is_written_down() {
    survive(&["raid5:write,fail,write:everything", "raid5-degraded:write,fail,write:sectors"]);
}

#[test]
fn drives_that_are_lost_in_the_moment_of_a_crash_leave_right_data() {
    survive(&["raid4:write,die:writes", "raid5:write:missing", "raid6:write,die:missing"]);
}

#[test]
fn an_old_copy_of_a_drive_is_known_by_its_generation() {
    survive(&[
        "raid6:copy,fail-last,write:stale",
        "raid10:copy,fail-last,write:stale",
        "raid5:copy,restart,write:stale",
    ]);
}

#[test]
fn drives_that_failed_before_and_after_a_replacement_did_not_go_on_apart() {
    survive(&[
        "raid6:fail-last,fail-second,replace-last,moment,restart:mixed",
        "raid10:fail-last,fail-second,replace-last,moment,restart:mixed",
    ]);
}

#[test]
fn a_replacement_that_is_ordered_while_the_failed_drive_is_busy_is_carried_out() {
    for level in ["raid1", "raid4", "raid5", "raid6", "raid10"] {
        let case: Case = format!("{level}:write,fail,replace,moment").parse().unwrap();
        let verdict = torture(&case.history(), PROMISED, true);
        assert_eq!(verdict.failure, None, "{case}");
        let line = |text: &str| verdict.story.iter().position(|line| line.contains(text));
        let (rebuilt, end) = (line("Rebuild(DriveId(0)) has ended"), line("nothing more goes"));
        assert!(rebuilt.unwrap() < end.unwrap(), "{case}: nobody had to order it again");
    }
}

/// Lives through a history that no script covers.
fn survive_seed(level: Level, seed: u64) {
    survive_steps(level, seed, 200);
}

fn survive_steps(level: Level, seed: u64, steps: usize) {
    let verdict = torture(&History::draw(seed, Some(level), steps), PROMISED, false);
    assert_eq!(verdict.failure, None, "{level:?}, seed {seed}");
}

/// After a crash the copies of a mirror differ, and one is unreadable for a moment: a client reads
/// the other. After another crash it reads the same.
#[test]
fn of_copies_that_differ_the_one_that_was_found_is_kept() {
    survive_seed(Level::Raid10, 8317);
}

/// A drive has lost checksums and the record of a stable batch. The reconstructed blocks of the
/// drive do not fit into its half of the journal. Unreadable blocks are left out of the record.
#[test]
fn a_batch_counts_also_if_a_drive_without_its_record_has_lost_checksums() {
    survive_seed(Level::Raid5, 7_000_471);
}

/// A drive has lost the record of a stable batch of trims. Blocks of zeros take no room in the
/// reconstructed record.
#[test]
fn a_record_of_zeros_fits_where_it_was_lost() {
    survive_seed(Level::Raid5, 11_029_907);
}

/// A client reads from a slow drive while its stripe is resynced. The drive fails when the parity
/// already fits.
#[test]
fn a_read_that_began_before_the_resync_is_reconstructed_behind_it() {
    survive_seed(Level::Raid4, 11_034_263);
}

/// A drive dies in a cut, without a journal, and is found again. Nothing was written to it after
/// its death: checksums that it could not read are not replaced by lost ones.
#[test]
fn a_dead_drive_that_is_found_again_has_taken_nothing_since_its_death() {
    survive_seed(Level::Raid4, 13_054_141);
}

/// A trim failed because a pair of drives was lost. It was done on the other pair after a read had
/// found the old content.
#[test]
fn a_trim_that_fails_behind_a_read_may_be_done_in_part() {
    survive_steps(Level::Raid10, 14_074_702, 30_000);
}
