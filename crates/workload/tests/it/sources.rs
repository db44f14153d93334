//! Opening any source for an array: its description, and that it is the same every time.

use ioda_workload::{
    Arrival, Cut, Fit, ReadOptions, Request, Source, Synthetic, Trace, TraceSource, Transform,
    presets,
};
use std::path::PathBuf;
use units::GIB;

/// Creates a trace file for one test.
fn trace_file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ioda-workload-{}-{name}", std::process::id()));
    std::fs::write(&path, text).expect("the temporary folder is writable");
    path
}

const TEXT: &str =
    "t_us,op,offset_bytes,size_bytes\n0,R,0,4096\n10,W,1073741824,4096\n20,R,512,512\n";

#[test]
fn a_trace_says_what_it_is_and_how_much_is_replayed() {
    let path = trace_file("said", TEXT);
    let transform = Transform {
        cut: Cut { take: Some(2), ..Cut::default() },
        repeat: 2,
        speed: 4.0,
        ..Transform::default()
    };
    let trace = Trace::open(&path, &ReadOptions::default()).unwrap();
    let source = TraceSource { trace, transform };
    let mut workload = Source::from(source).open(GIB).unwrap();
    assert_eq!(workload.arrival(), Arrival::Open);
    assert_eq!(
        workload.description(),
        format!(
            "trace {} (csv), cut from 0ns up to 2 requests, repeated 2 times, 4 times as fast, \
             devices folded by concatenate, addresses fitted by wrap",
            path.display()
        )
    );
    assert_eq!(
        workload.identity().unwrap().sha256,
        "d541c06c3a20922cf4d60dc649885c85af3eabc58985c684470e91ffa26d1858"
    );
    assert_eq!(workload.identity().unwrap().bytes, TEXT.len() as u64);
    assert_eq!(workload.statistics().unwrap().requests, 3);
    assert_eq!(workload.counts().unwrap().lines, 4);
    assert_eq!(workload.replayed().to_string(), "0 of 6 requests replayed; not reached 6");
    let times: Vec<u64> = workload.by_ref().map(|request| request.unwrap().at.as_nanos()).collect();
    assert_eq!(times, [0, 2_500, 5_000, 7_500]);
    assert_eq!(
        workload.replayed().to_string(),
        "4 of 6 requests replayed; dropped: beyond the count 2; wrapped 2"
    );
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_is_wrong_with_a_trace_is_known_before_it_is_replayed() {
    let path = trace_file("wrong", &format!("{TEXT}oops\n"));
    let error = Trace::open(&path, &ReadOptions::default()).err().unwrap().to_string();
    assert!(
        error.contains(", line 5: found 1 columns in \"oops\" where csv has 4 or 5"),
        "{error}"
    );
    std::fs::write(&path, TEXT).unwrap();
    let transform = Transform { fit: Fit::Refuse, ..Transform::default() };
    let trace = Trace::open(&path, &ReadOptions::default()).unwrap();
    let source = TraceSource { trace, transform };
    let mut workload = Source::from(source).open(GIB).unwrap();
    assert!(workload.next().unwrap().is_ok());
    let error = workload.next().unwrap().unwrap_err().to_string();
    assert!(error.starts_with("request 2 of the trace ends at byte 1073745920, beyond"), "{error}");
    assert!(workload.next().is_none());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn presets_and_synthetic_workloads_say_what_they_are() {
    let tpcc: Source = "tpcc".parse().unwrap();
    let workload = tpcc.open(16 * GIB).unwrap();
    assert_eq!(
        workload.description(),
        "preset tpcc (TPC-C database benchmark (SNIA)), 513000 requests, 1 times as fast, \
         footprint 16 GiB, seed 1"
    );
    assert_eq!(workload.replayed().of, Some(513_000));
    assert!("tpc".parse::<Source>().unwrap_err().to_string().starts_with("preset \"tpc\" is not"));
    let mut closed =
        Source::from(Synthetic { iodepth: 4.into(), ..Synthetic::default() }).open(GIB).unwrap();
    assert_eq!(closed.arrival(), Arrival::Closed { iodepth: 4.into(), runtime: None });
    assert_eq!(closed.by_ref().count(), 262_144);
    assert_eq!(closed.replayed().taken, 262_144);
}

/// FNV-1a over every field of every request.
fn fingerprint(requests: impl Iterator<Item = Request>) -> u64 {
    let fields = requests.flat_map(|request| {
        [
            request.at.as_nanos(),
            request.op as u64,
            request.offset_bytes,
            request.size_bytes,
            request.device.into(),
        ]
    });
    fields.flat_map(u64::to_le_bytes).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// A change of these values changes every published figure, so it must be intended.
#[test]
fn a_seed_gives_the_same_requests_on_every_machine() {
    let found: Vec<(&str, u64)> = presets()
        .iter()
        .map(|row| {
            let generator = row.generator(42, 8 * GIB, Some(10_000), 8.0).unwrap();
            (row.name, fingerprint(generator))
        })
        .collect();
    assert_eq!(found, PINNED);
    let mut synthetic = Synthetic::default();
    for (option, value) in [
        ("rw", "randrw"),
        ("bs", "4k,64k"),
        ("rate_iops", "20000"),
        ("random_distribution", "zipf:1.1"),
        ("number_ios", "10000"),
    ] {
        synthetic.set(option, value).unwrap();
    }
    let zipf = fingerprint(synthetic.generator(GIB).unwrap());
    synthetic.set("random_distribution", "pareto:0.3").unwrap();
    let pareto = fingerprint(synthetic.generator(GIB).unwrap());
    assert_eq!([zipf, pareto], PINNED_SYNTHETIC);
}

const PINNED: [(&str, u64); 20] = [
    ("azure", 0x6015_d04c_a126_5b48),
    ("bingidx", 0x79cb_45cc_60c1_f1e5),
    ("bingsel", 0x15bb_bf9c_ce09_84c4),
    ("cosmos", 0xb661_04c6_d29e_d30f),
    ("dtrs", 0xb7dd_0a85_b8f9_86fc),
    ("exch", 0x68a2_e9b6_5c16_d80e),
    ("lmbe", 0x897b_e5b8_d677_ed14),
    ("msnfs", 0xab89_a505_91a0_ff5c),
    ("tpcc", 0xf9af_ecd5_3974_fe4b),
    ("dtrs-recorded", 0x80f0_c312_80b6_3dfe),
    ("exch-recorded", 0x3c64_ea71_7a89_4b0e),
    ("lmbe-recorded", 0xa92f_c6c5_6a2a_09c0),
    ("msnfs-recorded", 0x14cf_b0fd_b83d_7687),
    ("tpcc-recorded", 0xdaa4_2775_564d_644a),
    ("hm_1", 0x2a4a_ad71_c9c2_41af),
    ("ads_0", 0x4d67_eaa5_8a7d_5cce),
    ("lun0", 0x2d41_32dd_ad48_fabc),
    ("lun1", 0x6432_a0fb_9f14_ad34),
    ("wdev_0", 0xbd2d_9678_a901_8e9f),
    ("src2_0", 0xd32e_6b5a_fc09_34b1),
];
const PINNED_SYNTHETIC: [u64; 2] = [0x454b_3a2d_8290_973d, 0x79c9_1590_dc5f_ec8f];
