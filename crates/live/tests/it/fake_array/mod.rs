//! A thread that answers orders as an array would, with numbers that grow.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot talk to its array fails")]

use live::control::{
    AdminCommand, Answer, ArrayHandle, BusyWindow, CauseStatus, DriveStatus, FlashCounters,
    Identity, Inbox, JobStatus, Message, PolicyCounters, PrefillStatus, Recorder, RequestStatus,
    Status, TallyStatus, channel,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The policy changes after so long.
pub(crate) const CHANGE: Duration = Duration::from_millis(2_500);
/// Length of the windows, one drive after the other.
const WINDOW_NANOSECONDS: u64 = 100_000_000;
const DRIVES: u8 = 4;

/// Begins to answer. The thread ends after a shutdown and gives the orders that it was given,
/// without questions after its status.
pub(crate) fn start() -> (ArrayHandle, JoinHandle<Vec<AdminCommand>>) {
    let (handle, inbox) = channel().unwrap();
    (handle, std::thread::spawn(move || answer(&inbox)))
}

fn answer(inbox: &Inbox) -> Vec<AdminCommand> {
    let start = Instant::now();
    let (mut reads, mut writes, mut lateness) =
        (Recorder::default(), Recorder::default(), Recorder::default());
    let mut orders = Vec::new();
    loop {
        std::thread::sleep(Duration::from_millis(2));
        inbox.acknowledge();
        let uptime = start.elapsed();
        // Under Base one read of twenty waits for a collection.
        for read in 0..20 {
            let waits = read == 0 && uptime < CHANGE;
            reads.record(if waits { 20_000_000 } else { 150_000 + read * 1_000 });
            lateness.record(900 + read);
        }
        writes.record(300_000);
        while let Some(message) = inbox.take() {
            let Message::Admin(order, answers) = message else { panic!("{message:?}") };
            let answer = match &order {
                AdminCommand::Status => {
                    Answer::Status(Box::new(status(uptime, &reads, &writes, &lateness)))
                }
                AdminCommand::Fail { drive, .. } if *drive >= DRIVES => {
                    Answer::Refused { reason: format!("there is no drive {drive}") }
                }
                _ => Answer::Done { text: "done".to_owned() },
            };
            // Whoever asked may have gone.
            let _ = answers.send(answer);
            match order {
                AdminCommand::Status => {}
                AdminCommand::Shutdown => {
                    orders.push(order);
                    return orders;
                }
                order => orders.push(order),
            }
        }
    }
}

fn status(uptime: Duration, reads: &Recorder, writes: &Recorder, lateness: &Recorder) -> Status {
    let now = uptime.as_nanos() as u64;
    let changed = uptime >= CHANGE;
    let cycle = WINDOW_NANOSECONDS * u64::from(DRIVES);
    let drives = (0..DRIVES).map(|drive| {
        let first = WINDOW_NANOSECONDS * u64::from(drive);
        let opened = (0..).map(|turn| first + turn * cycle).take_while(|&opened| opened <= now);
        let windows: Vec<BusyWindow> = opened
            .map(|opened| BusyWindow {
                opened_nanoseconds: opened,
                closed_nanoseconds: Some(opened + WINDOW_NANOSECONDS).filter(|&end| end <= now),
            })
            .collect();
        DriveStatus {
            drive,
            place: "memory".to_owned(),
            state: if drive == 3 { "rebuilding" } else { "serving" }.to_owned(),
            emulated: true,
            in_window: windows.last().is_some_and(|window| window.closed_nanoseconds.is_none()),
            recent_windows: windows[windows.len().saturating_sub(16)..].to_vec(),
            free_share: 0.25,
            flash: FlashCounters {
                write_amplification: 1.5,
                read_pages: now / 1000,
                ..FlashCounters::default()
            },
            ..DriveStatus::default()
        }
    });
    Status {
        identity: Identity {
            version: "0.1.0".to_owned(),
            uuid: "0123-4567".to_owned(),
            level: "raid5".to_owned(),
            capacity_bytes: 3 << 30,
        },
        policy: if changed { "IODA" } else { "Base" }.to_owned(),
        policy_since_nanoseconds: if changed { CHANGE.as_nanos() as u64 } else { 0 },
        uptime_nanoseconds: now,
        busy_window_nanoseconds: Some(WINDOW_NANOSECONDS),
        restoring: Some(JobStatus {
            what: "rebuild".to_owned(),
            drive: Some(3),
            stripes_done: 25,
            stripes: 100,
            mismatches: 0,
        }),
        drives: drives.collect(),
        prefill: Some(PrefillStatus {
            done_bytes: 1 << 30,
            bytes: 4 << 30,
            state: "running".to_owned(),
        }),
        requests: RequestStatus {
            connections: 2,
            read: reads.latency(),
            write: writes.latency(),
            lateness: lateness.latency(),
            causes: vec![CauseStatus {
                // What a page or a monitor must not take for its own.
                cause: "a \"collection\" \\ <b>\nof dies".to_owned(),
                latency: reads.latency(),
            }],
            ..RequestStatus::default()
        },
        counters: PolicyCounters {
            busy_sub_ios: vec![90, 10, 1],
            tallies: vec![TallyStatus { name: "permits".to_owned(), count: 7 }],
            ..PolicyCounters::default()
        },
        ..Status::default()
    }
}

/// Sends `request` and gives everything that comes back until the other side closes, or the time
/// is over.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // The other side may refuse before it has read everything.
    let _ = stream.write_all(request);
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    String::from_utf8_lossy(&reply).into_owned()
}

/// The status code and the body of a GET.
pub(crate) fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let reply = exchange(address, request.as_bytes());
    let (head, body) = reply.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{reply:?}"));
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, body.to_owned())
}
