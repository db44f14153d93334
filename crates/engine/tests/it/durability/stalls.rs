//! Progress without the clock: writes are held only until the writes and syncs that they wait for
//! are done.

use super::states::Bench;
use array::Level;
use units::{DriveId, Instant};

const NOW: Instant = Instant::ZERO;

/// Ends all I/O that the machine asks for, until it asks for none. No time passes, and no deadline
/// comes.
fn settle(bench: &mut Bench) -> String {
    let mut said = bench.asked();
    loop {
        match bench.end_ios() {
            more if more.is_empty() => return said,
            more => said = format!("{said} {more}"),
        }
    }
}

#[test]
fn writes_go_on_as_soon_as_it_is_written_down_that_a_drive_is_rebuilt() {
    for level in [Level::Raid4, Level::Raid5, Level::Raid6, Level::Raid10] {
        let mut bench = Bench::new(level, 4);
        bench.machine.handle_drive_failed(NOW, DriveId(3));
        settle(&mut bench);
        bench.machine.handle_drive_replaced(NOW, DriveId(3));
        settle(&mut bench);
        bench.machine.handle_drive_rebuilt(NOW, DriveId(3));
        bench.write(1, &[0, 1, 3]);
        let said = settle(&mut bench);
        assert!(said.contains("superblock3"), "{level:?}: {said}");
        assert!(said.ends_with("release0 release1 release3"), "{level:?}: {said}");
    }
}

/// When the journal is no longer written, records that count would be replayed over newer data.
#[test]
fn the_journal_is_emptied_when_no_drive_is_missing_any_more() {
    let mut bench = Bench::new(Level::Raid5, 3);
    bench.machine.handle_drive_failed(NOW, DriveId(2));
    settle(&mut bench);
    bench.machine.handle_drive_replaced(NOW, DriveId(2));
    settle(&mut bench);
    bench.write(1, &[0, 1]);
    assert!(settle(&mut bench).contains("record0 record1"));
    bench.end_changes();
    bench.machine.handle_drive_rebuilt(NOW, DriveId(2));
    let said = settle(&mut bench);
    assert!(said.ends_with("header0 header1 header2"), "{said}");
    bench.write(2, &[0, 1]);
    let said = settle(&mut bench);
    assert!(!said.contains("record"), "{said}");
}
