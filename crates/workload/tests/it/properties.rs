//! Written requests are read back, and no bytes make a reader panic.

use ioda_workload::{
    Format, Op, ReadOptions, Request, TraceReader, TraceWriter, WriteFormat, fuzz,
};
use proptest::prelude::*;
use std::io::Cursor;
use units::Instant;

/// Requests in order of time, as a reader delivers them: the first at zero, times in multiples of
/// `grain` nanoseconds, devices numbered in order of appearance.
fn requests(grain: u64) -> impl Strategy<Value = Vec<Request>> {
    let one = (0_u64..1 << 40, any::<bool>(), 0_u64..1 << 50, 1_u64..=1 << 30, 0_u32..4);
    prop::collection::vec(one, 1..60).prop_map(move |all| {
        let mut now = 0;
        let mut devices = Vec::new();
        let mut list = Vec::new();
        for (index, (gap, reads, offset_bytes, size_bytes, device)) in all.into_iter().enumerate() {
            if index > 0 {
                now += gap / grain * grain;
            }
            let number = devices.iter().position(|seen| *seen == device).unwrap_or_else(|| {
                devices.push(device);
                devices.len() - 1
            });
            list.push(Request {
                at: Instant::from_nanos(now),
                op: if reads { Op::Read } else { Op::Write },
                offset_bytes,
                size_bytes,
                device: number as u32,
                durable: false,
                after_flush: false,
            });
        }
        list
    })
}

fn round_trip(requests: &[Request], format: WriteFormat) -> Vec<Request> {
    let mut writer = TraceWriter::new(Vec::new(), format).expect("what was written can be read");
    for request in requests {
        writer.write(request).expect("what was written can be read");
    }
    let bytes = writer.finish().expect("what was written can be read");
    // No host sends requests of a gigabyte.
    let options = ReadOptions { allow_odd: true, ..ReadOptions::default() };
    let reader = TraceReader::from_reader(Cursor::new(bytes), "written", &options)
        .expect("what was written can be read");
    assert_eq!(reader.detected().format.name(), format.name());
    reader.map(Result::unwrap).collect()
}

proptest! {
    #![proptest_config(testing::cases(128))]

    #[test]
    fn csv_is_read_back(list in requests(1)) {
        prop_assert_eq!(round_trip(&list, WriteFormat::Csv), list);
    }

    #[test]
    fn msr_is_read_back(list in requests(100)) {
        prop_assert_eq!(round_trip(&list, WriteFormat::Msr), list);
    }

    #[test]
    fn fio_iolog_is_read_back(list in requests(1_000)) {
        prop_assert_eq!(round_trip(&list, WriteFormat::FioIologV3), list);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzz::check(None, &bytes);
        for format in Format::ALL {
            fuzz::check(Some(format), &bytes);
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "[0-9RWD ,;.+:#\\-\n\ta-f\\[\\]()]{0,300}") {
        fuzz::check(None, text.as_bytes());
        for format in Format::ALL {
            fuzz::check(Some(format), text.as_bytes());
        }
    }
}
