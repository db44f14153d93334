//! Messages between PLM-light's coordinator and an array: log page C0h and the data of feature C0h,
//! and bytes that are neither.

use super::layout::Layout;
use super::values::hex;
use nvme::wire::plm_light::{
    Answered, COUNTS_BYTES, CountsData, TRAFFIC_LOG_BYTES, TRAFFIC_MAX, TrafficLog,
};
use nvme::{WindowCounts, WindowTraffic};
use units::{Duration, Instant, Rng};

fn counts() -> CountsData {
    let counts = WindowCounts { window: 0x0102_0304_0506, reads: [83, 80, 78], writes: 30 };
    CountsData { generation: 7, counts }
}

fn window(rng: &mut Rng, window: u64) -> WindowTraffic {
    let reads = std::array::from_fn(|_| rng.next_u64() >> rng.below(64));
    WindowTraffic {
        window,
        ended: Instant::from_nanos(rng.next_u64()),
        reads,
        writes: rng.below(9),
    }
}

fn log(rng: &mut Rng) -> TrafficLog {
    let first = rng.next_u64() >> (1 + rng.below(63));
    let answered =
        Answered { window: 1 + rng.below(9), after: Duration::from_nanos(rng.below(99)) };
    let windows = rng.below(TRAFFIC_MAX as u64 + 1);
    TrafficLog {
        generation: rng.next_u64() as u32,
        length: Duration::from_nanos(rng.next_u64()),
        answered: (rng.below(3) > 0).then_some(answered),
        windows: (0..windows).map(|number| window(rng, first + number)).collect(),
    }
}

#[test]
fn the_data_of_counts() {
    let table = "
        0  4 magic =4c4d4c50
        +  2 version =1
        8  4 generation
        16 8 window
        +  8 high
        +  8 medium
        +  8 low
        +  8 writes";
    let layout = Layout::new(COUNTS_BYTES, table);
    layout.check(CountsData::decode, CountsData::encode, &[counts()]);
    insta::assert_snapshot!("window-counts", layout.dump(&counts().encode()));
    for at in 0..6 {
        let mut data = counts().encode();
        data[at] ^= 1;
        assert_eq!(CountsData::decode(&data), None, "byte {at}");
    }
}

#[test]
fn a_page_of_traffic_is_read_as_it_was_written() {
    let mut most = 0;
    for seed in testing::seeds(0..500) {
        let log = log(&mut Rng::new(seed));
        most = most.max(log.windows.len());
        assert_eq!(TrafficLog::decode(&log.encode()), Some(log));
    }
    assert!(testing::is_repeat() || most == TRAFFIC_MAX);
    let traffic = |window| WindowTraffic {
        window,
        ended: Instant::from_nanos(0x0102_0304),
        reads: [40, 24, 16],
        writes: 31,
    };
    let log = TrafficLog {
        generation: 3,
        length: Duration::from_millis(1),
        answered: Some(Answered { window: 8, after: Duration::from_micros(150) }),
        windows: vec![traffic(9), traffic(10)],
    };
    insta::assert_snapshot!("traffic-log", hex(&log.encode()[..3 * 64]));
    assert_eq!(log.encode()[3 * 64..], [0; TRAFFIC_LOG_BYTES - 3 * 64]);
    // With too many windows the last ones are kept.
    let many = TrafficLog { windows: (1..=70).map(traffic).collect(), ..log };
    let read = TrafficLog::decode(&many.encode()).unwrap();
    assert_eq!((read.windows.len(), read.windows[0].window), (TRAFFIC_MAX, 8));
}

#[test]
fn a_page_that_is_none_is_refused() {
    let mut rng = Rng::new(1);
    let windows: Vec<_> = (5..8).map(|number| window(&mut rng, number)).collect();
    let length = Duration::from_millis(1);
    let good = TrafficLog { generation: 1, length, answered: None, windows };
    assert!(TrafficLog::decode(&good.encode()).is_some());
    for (at, byte) in [(0, b'p'), (4, 2), (12, 64), (15, 1), (64, 6), (128, 5), (192, 9)] {
        let mut page = good.encode();
        page[at] = byte;
        assert_eq!(TrafficLog::decode(&page), None, "byte {at}");
    }
    // No number follows the highest.
    let mut page = good.encode();
    page[64..72].fill(0xff);
    page[128..136].fill(0);
    assert_eq!(TrafficLog::decode(&page), None);
}

#[test]
fn damaged_bytes_are_refused_or_read_as_something_that_can_be_written() {
    let (mut refused, mut read) = (0, 0);
    for seed in testing::seeds(0..3_000) {
        let mut rng = Rng::stream(seed, "plm-light");
        let mut page = log(&mut rng).encode();
        let mut data = counts().encode();
        for _ in 0..1 + rng.below(4) {
            // Half of the damage is in the head.
            let bytes = if rng.below(2) == 0 { 64 } else { TRAFFIC_LOG_BYTES };
            let at = rng.below(bytes as u64);
            page[at as usize] = rng.next_u64() as u8;
            data[rng.below(COUNTS_BYTES as u64) as usize] = rng.next_u64() as u8;
        }
        match TrafficLog::decode(&page) {
            None => refused += 1,
            Some(log) => {
                read += 1;
                assert!(log.windows.len() <= TRAFFIC_MAX);
                assert_eq!(TrafficLog::decode(&log.encode()), Some(log));
            }
        }
        if let Some(counts) = CountsData::decode(&data) {
            assert_eq!(CountsData::decode(&counts.encode()), Some(counts));
        }
    }
    assert!(testing::is_repeat() || (refused > 100 && read > 100), "{refused} and {read}");
}
