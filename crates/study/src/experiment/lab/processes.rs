//! Child processes that end with us: a kernel of the laboratory has processes of its own, in groups
//! of their own.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether a child has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long processes have to end by themselves when they are asked to.
const GRACE: Duration = Duration::from_secs(2);
/// So many lines of what a process said are shown.
const SHOWN_LINES: usize = 5;

/// Waits until `child` ends; none if `stop` came first, and then none of its processes is left.
pub(super) fn wait(child: &mut Child, stop: &AtomicBool) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if stop.load(Ordering::Acquire) {
            end(child)?;
            return Ok(None);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Ends `child` and all processes below it. First those below are asked to, so that the child can
/// tidy up.
fn end(child: &mut Child) -> std::io::Result<()> {
    let below = Tree::now().below(child.id());
    send(&below, Signal::TERM);
    let until = Instant::now() + GRACE;
    while Instant::now() < until && child.try_wait()?.is_none() {
        std::thread::sleep(LOOK_EVERY);
    }
    // Whatever was born since, and whatever lost its parent meanwhile.
    let tree = Tree::now();
    let left = below.into_iter().filter(|(pid, began)| tree.began(*pid) == Some(*began));
    let left: Vec<(u32, u64)> = left.chain(tree.below(child.id())).collect();
    send(&left, Signal::KILL);
    if child.try_wait()?.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

/// Sends a signal to processes, some of which may have ended.
fn send(processes: &[(u32, u64)], signal: Signal) {
    for (pid, _) in processes {
        let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
    }
}

/// All processes: the parent of each, and when it began, which tells it from a later one with the
/// same number.
struct Tree(BTreeMap<u32, (u32, u64)>);

impl Tree {
    fn now() -> Self {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let process = |entry: std::fs::DirEntry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let text = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((pid, parent_and_beginning(&text)?))
        };
        Self(entries.filter_map(process).collect())
    }

    fn began(&self, pid: u32) -> Option<u64> {
        self.0.get(&pid).map(|(_, began)| *began)
    }

    /// The children of `root`, their children and so on, each with when it began.
    fn below(&self, root: u32) -> Vec<(u32, u64)> {
        let mut found: Vec<(u32, u64)> = Vec::new();
        let mut parents = vec![root];
        while let Some(parent) = parents.pop() {
            for (&pid, &(of, began)) in &self.0 {
                if of == parent && found.iter().all(|(known, _)| *known != pid) {
                    found.push((pid, began));
                    parents.push(pid);
                }
            }
        }
        found
    }
}

/// The parent of a process and when it began, from its `/proc/N/stat`.
fn parent_and_beginning(text: &str) -> Option<(u32, u64)> {
    // Its name, in parentheses, may have anything in it.
    let (_, rest) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    Some((fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?))
}

/// The last lines of what a process said, in one.
pub(super) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    if last.is_empty() { "it said nothing".to_owned() } else { last.join(" | ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let text = "17 (a ) b) S 4 17 17 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 0 0";
        assert_eq!(parent_and_beginning(text), Some((4, 4711)));
        assert_eq!(parent_and_beginning("17 (a"), None);
    }

    #[test]
    fn a_child_ends_with_its_children_in_other_groups() {
        // `timeout` makes a group of its own, as in the laboratory; the shell would wait for it.
        let mut child = Command::new("sh")
            .args(["-c", "timeout 600 sh -c 'sleep 600; true' || true; sleep 600; true"])
            .spawn()
            .unwrap();
        let below = || Tree::now().below(child.id());
        while below().len() < 3 {
            std::thread::sleep(LOOK_EVERY);
        }
        let all = below();
        let stop = AtomicBool::new(true);
        assert!(wait(&mut child, &stop).unwrap().is_none());
        let tree = Tree::now();
        let is_left = |(pid, began): &&(u32, u64)| tree.began(*pid) == Some(*began);
        let zombies = |pid: u32| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            text.contains(") Z ")
        };
        let left: Vec<_> = all.iter().filter(is_left).filter(|(pid, _)| !zombies(*pid)).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn what_a_process_said_last_is_one_line() {
        assert_eq!(last_lines("a\n\n b \n"), "a | b");
        assert_eq!(last_lines("1\n2\n3\n4\n5\n6\n"), "2 | 3 | 4 | 5 | 6");
        assert_eq!(last_lines("\n"), "it said nothing");
    }
}
