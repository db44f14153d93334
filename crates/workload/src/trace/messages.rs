//! Lines that are certainly no requests: tables and messages that tools print among events.

use super::SkipReason;

/// Beginnings of lines in the tables that blkparse prints for CPUs, devices and programs.
const TABLE: [&str; 12] = [
    "Reads Queued:",
    "Read Dispatches:",
    "Reads Requeued:",
    "Reads Completed:",
    "Read Merges:",
    "Read depth:",
    "PC Reads ",
    "PC Read ",
    "IO unplugs:",
    "Allocation wait:",
    "Dispatch wait:",
    "Completion wait:",
];

/// Beginnings of messages.
const MESSAGES: [&str; 9] = [
    "blktrace: ",
    "blkparse: ",
    "bpftrace: ",
    "fio: ",
    "BLKTRACE",
    "Possibly lost ",
    "Lost ",
    "Bad fs action ",
    "Bad pc action ",
];

/// Reason to skip a line that cannot be read, in a trace of any format; `None` if the line may be a
/// request.
pub(super) fn certainly_no_request(line: &str) -> Option<SkipReason> {
    if is_table(line) {
        Some(SkipReason::Summary)
    } else {
        is_message(line.trim()).then_some(SkipReason::Message)
    }
}

/// Whether a line is part of a table of blkparse or blktrace.
fn is_table(line: &str) -> bool {
    let text = line.trim();
    let is_title = ["CPU", "Total"].iter().any(|name| {
        text.strip_prefix(name).is_some_and(|rest| {
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            rest.starts_with(" (") && rest.ends_with("):")
        })
    });
    let is_row = line.starts_with(' ') && starts(text, &TABLE);
    // `  CPU  0:   96 events,   5 KiB data` below `=== sda ===`.
    let is_of_blktrace = line.starts_with(' ')
        && starts(text, &["CPU", "Total:"])
        && text.contains(" events")
        && text.ends_with("data");
    is_title
        || is_row
        || is_of_blktrace
        || starts(text, &["Throughput (R/W): ", "Events (", "Skips: "])
        || text.starts_with("=== ") && text.ends_with(" ===")
}

/// Whether a line is the title of a program's table, `name (pid)` or `name (pid, ...)`.
pub(super) fn is_title_of_program(line: &str) -> bool {
    let inner = line.trim_end().strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    inner.is_some_and(|(name, pid)| {
        let pid = pid.strip_suffix(", ...").unwrap_or(pid);
        !name.is_empty() && !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Whether `text` is a message of a tool to its user.
fn is_message(text: &str) -> bool {
    let attaches = text.starts_with("Attaching ") && text.contains(" probe");
    let traces = text.starts_with("Tracing ") && text.contains("Ctrl");
    let adds = text.starts_with("Input file ") && text.ends_with(" added");
    let loses = text.starts_with("lost ") && text.contains(" events on CPU");
    let starts_jobs = text.starts_with("Starting ")
        && ["process", "processes", "thread", "threads"].iter().any(|end| text.ends_with(end));
    let is_fio = text.strip_prefix("fio-").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains([',', ' ', ';', '\t'])
    });
    let is_interrupt = text == "^C";
    attaches
        || traces
        || adds
        || loses
        || starts_jobs
        || is_fio
        || is_interrupt
        || starts(text, &MESSAGES)
}

fn starts(text: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| text.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_messages_are_told_from_requests() {
        for line in [
            "CPU0 (sdb):",
            "Total (8,16):",
            " Reads Queued:          46,      184KiB\t Writes Queued:          21,       84KiB",
            " PC Reads Queued:        0,        0KiB\t PC Writes Queued:        0,        0KiB",
            "Throughput (R/W): 13333KiB/s / 6666KiB/s",
            "Events (sdb): 1,096 entries",
            "Skips: 0 forward (0 -   0.0%)",
            "=== sdb ===",
            "  CPU  0:                   96 events,        5 KiB data",
            "  Total:                    96 events (dropped 0),        5 KiB data",
        ] {
            assert_eq!(certainly_no_request(line), Some(SkipReason::Summary), "{line}");
        }
        for line in [
            "Input file sdb.blktrace.0 added",
            "Attaching 4 probes...",
            "Tracing block I/O... Hit Ctrl-C to end.",
            "Possibly lost 12 samples",
            "lost 5 events on CPU #3",
            "^C",
            "fio-3.33",
            "Starting 1 process",
        ] {
            assert_eq!(certainly_no_request(line), Some(SkipReason::Message), "{line}");
        }
        for line in [
            "",
            "8,16 0 1 0.1 5 D R 0",
            "CPU0,1,2",
            "Total,1,2,3",
            "Read,0,512,1.5",
            "Reads Queued",
            "0,16,3584,w",
            "fio-0,R,0,512",
            "Starting,R,0,512",
        ] {
            assert_eq!(certainly_no_request(line), None, "{line}");
        }
        assert!(is_title_of_program("fio (1000)") && is_title_of_program("a b (1, ...)"));
        assert!(!is_title_of_program("8,16 (x)") && !is_title_of_program(" (1)"));
    }
}
