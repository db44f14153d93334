//! 4 KiB random reads of block devices over TCP or a Unix socket, by this crate's own initiator of
//! NVMe/TCP and its own client of NBD: `scripts/bench-wire` starts the devices and calls it.
//!
//! `wire [--rounds N] [--seconds N] [--depths N,N] [--json FILE] NAME=ADDRESS NAME=ADDRESS`: rounds
//! alternate between the two, and what counts is the median of the ratios of the first to the
//! second. An address is `nvme+tcp://HOST:PORT/NQN` or one of NBD. Both are written from end to end
//! first. Clients do not spin: they sleep in `poll` until something came, both in the same way.
#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be run ends")]

use ioda_live::buffer::Buffer;
use ioda_live::nbd::client::Client;
use ioda_live::nbd::uri::Uri;
use ioda_live::storage::{
    Backing, Ending, IoMethod, RemoteAddress, RemoteDrive, RemoteOptions, Storage, Work,
};
use nvme::PlFlag;
use nvme::wire::Nqn;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::Write;
use std::time::{Duration, Instant};
use units::{DriveId, Rng};

const PAGE: usize = 4096;
const FILL: usize = 128 << 10;
const DRIVE: DriveId = DriveId(0);
/// More than any depth, less than a drive takes at least.
const COMMANDS: u16 = 256;
/// Name by which drives know this program.
const HOST: &str = "nqn.2026-01.org.example:bench-wire";

/// A block device behind one of the two protocols.
enum Device {
    Nvme(Box<Storage>),
    Nbd(Box<Client>),
}

impl Device {
    fn connect(address: &str) -> Self {
        if !RemoteAddress::is_meant(address) {
            let uri: Uri = address.parse().unwrap();
            return Self::Nbd(Box::new(Client::connect(&uri).unwrap()));
        }
        let options = RemoteOptions {
            commands: COMMANDS,
            ..RemoteOptions::of(Nqn::new(HOST).unwrap(), [7; 16])
        };
        let mut drive = RemoteDrive::open(&address.parse().unwrap(), &options).unwrap();
        let facts = drive.facts();
        let bytes = facts.blocks << facts.block_shift;
        drive.set_bytes(bytes - ioda_live::storage::DATA_OFFSET_BYTES).unwrap();
        let mut storage = Storage::new(IoMethod::Best);
        storage.add(DRIVE, Backing::Remote(Box::new(drive))).unwrap();
        Self::Nvme(Box::new(storage))
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Nvme(storage) => storage.backing(DRIVE).unwrap().bytes(),
            Self::Nbd(client) => client.size_bytes(),
        }
    }

    fn read(&mut self, tag: usize, offset_bytes: u64, buffer: &mut Option<Buffer>) {
        match self {
            Self::Nvme(storage) => {
                let buffer = buffer.take().unwrap();
                let work = Work::Read { offset_bytes, buffer, length_bytes: PAGE, pl: PlFlag::Off };
                storage.submit(tag as u64, DRIVE, work);
            }
            Self::Nbd(client) => client.send_read(tag as u64, offset_bytes, PAGE as u32),
        }
    }

    fn write(&mut self, tag: usize, offset_bytes: u64, data: &Buffer) {
        match self {
            Self::Nvme(storage) => {
                let work = Work::Write { offset_bytes, buffer: data.share(), length_bytes: FILL };
                storage.submit(tag as u64, DRIVE, work);
            }
            Self::Nbd(client) => client.send_write(tag as u64, offset_bytes, data.bytes(), false),
        }
    }

    /// Sends what was asked for, and waits for what is done: its tag, and the buffer of a drive.
    fn next(&mut self, into: &mut Vec<(usize, Option<Buffer>)>) {
        into.clear();
        while into.is_empty() {
            match self {
                Self::Nvme(storage) => {
                    storage.kick().unwrap();
                    while let Some(finished) = storage.poll() {
                        assert_eq!(finished.result.unwrap(), Ending::Done);
                        into.push((finished.tag as usize, finished.buffer));
                    }
                    if into.is_empty() {
                        poll(&mut [PollFd::new(&storage.fd().unwrap(), PollFlags::IN)], None)
                            .unwrap();
                    }
                }
                Self::Nbd(client) => {
                    client.flush().unwrap();
                    while let Some(reply) = client.receive().unwrap() {
                        assert_eq!(reply.error, 0);
                        // As the bytes of a drive are: moved to a buffer of the caller.
                        let mut buffer = Buffer::zeroed(reply.data.len());
                        buffer.bytes_mut().copy_from_slice(reply.data);
                        into.push((reply.cookie as usize, Some(buffer)));
                    }
                    if into.is_empty() {
                        let mut interest = PollFlags::IN;
                        interest.set(PollFlags::OUT, client.wants_write());
                        poll(&mut [PollFd::new(&client.fd(), interest)], None).unwrap();
                    }
                }
            }
        }
    }

    fn fill(&mut self) {
        let mut data = Buffer::zeroed(FILL);
        data.bytes_mut().fill(0x5a);
        let (mut offset, mut in_flight, mut done) = (0, 0, Vec::new());
        loop {
            while in_flight < 16 && offset + FILL as u64 <= self.bytes() {
                self.write((offset / FILL as u64) as usize, offset, &data);
                (offset, in_flight) = (offset + FILL as u64, in_flight + 1);
            }
            if in_flight == 0 {
                return;
            }
            self.next(&mut done);
            in_flight -= done.len();
        }
    }

    /// Reads at random for this time, after a quarter of it that does not count.
    fn measure(&mut self, depth: usize, time: Duration, rng: &mut Rng) -> Figures {
        let pages = self.bytes() / PAGE as u64;
        let mut buffers: Vec<Option<Buffer>> =
            (0..depth).map(|_| Some(Buffer::zeroed(PAGE))).collect();
        let mut sent = vec![Instant::now(); depth];
        let (mut free, mut done): (Vec<usize>, _) = ((0..depth).collect(), Vec::new());
        let mut latencies = Vec::new();
        let begin = Instant::now() + time / 4;
        let end = begin + time;
        loop {
            let now = Instant::now();
            if now < end {
                for tag in free.drain(..) {
                    sent[tag] = now;
                    self.read(tag, rng.below(pages) * PAGE as u64, &mut buffers[tag]);
                }
            } else if free.len() == depth {
                break;
            }
            self.next(&mut done);
            let now = Instant::now();
            for (tag, buffer) in done.drain(..) {
                buffers[tag] = buffer;
                free.push(tag);
                if (begin..end).contains(&now) {
                    latencies.push((now - sent[tag]).as_nanos() as u64);
                }
            }
        }
        latencies.sort_unstable();
        let at = |share: f64| latencies[(latencies.len() as f64 * share) as usize] as f64 / 1000.0;
        Figures {
            iops: latencies.len() as f64 / time.as_secs_f64(),
            p50_us: at(0.5),
            p99_us: at(0.99),
            p999_us: at(0.999),
        }
    }
}

struct Figures {
    iops: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[half - 1], values[half])
    } else {
        values[half]
    }
}

fn main() {
    let (mut rounds, mut seconds, mut depths, mut json) =
        (3usize, 2.0, vec![1usize, 32, 128], None);
    let mut devices = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap();
        match word.as_str() {
            "--rounds" => rounds = value().parse().unwrap(),
            "--seconds" => seconds = value().parse().unwrap(),
            "--depths" => depths = value().split(',').map(|depth| depth.parse().unwrap()).collect(),
            "--json" => json = Some(value()),
            word if word.starts_with("--") => {}
            word => devices.push(word.to_owned()),
        }
    }
    let [first, second] = &devices[..] else {
        return println!("wire: nothing to measure; scripts/bench-wire names two devices");
    };
    let [mut first, mut second] = [first, second].map(|text| {
        let (name, address) = text.split_once('=').unwrap();
        let mut device = Device::connect(address);
        device.fill();
        (name.to_owned(), device)
    });
    let mut rng = Rng::new(1);
    let time = Duration::from_secs_f64(seconds);
    for depth in depths {
        println!("depth {depth}");
        let (mut ratios, mut lines) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let both = [&mut first, &mut second].map(|(name, device)| {
                let figures = device.measure(depth, time, &mut rng);
                let Figures { iops, p50_us, p99_us, p999_us } = figures;
                println!("  {name:24} {iops:9.0} IOPS   p50 {p50_us:8.1} us   p99 {p99_us:8.1} us   p99.9 {p999_us:8.1} us");
                lines.push(serde_json::json!({
                    "name": name, "iops": iops, "p50_us": p50_us, "p99_us": p99_us, "p999_us": p999_us,
                }));
                iops
            });
            ratios.push(both[0] / both[1]);
        }
        let ratio = median(ratios);
        println!("  {} / {}: {ratio:.2} x, median of {rounds} rounds", first.0, second.0);
        if let Some(path) = &json {
            let line = serde_json::json!({ "depth": depth, "ratio": ratio, "measurements": lines });
            let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
            writeln!(file, "{line}").unwrap();
        }
    }
}
