use array::{Level, policy::PolicyKind};
use sim::*;
use units::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let drive = ssd::presets::preset(&a[1]).unwrap();
    let preset = workload::preset(&a[2]).unwrap();
    let rate: f64 = a[3].parse().unwrap();
    let n: u64 = a[4].parse().unwrap();
    let plans: Vec<Plan> = PolicyKind::ALL
        .iter()
        .map(|&policy| Plan {
            drive: drive.clone(),
            level: Level::Raid5,
            width: 4,
            chunk_bytes: drive.geometry.page_bytes as u64,
            policy,
            busy_time_window: None,
            rebuild_compute: Duration::from_micros(3),
            preparation: Preparation::Aged,
            seed: 1,
            verify: false,
            timeline: None,
        })
        .collect();
    let cap = plans[0].capacity_bytes().unwrap();
    let src = workload::Source::Preset { preset, seed: 1, requests: Some(n), rate };
    let t = std::time::Instant::now();
    let r = run_all(
        &plans,
        2,
        || {
            let w = src.open(cap)?;
            Ok::<_, workload::WorkloadError>((w.arrival(), w))
        },
        &Progress::new(6),
    )
    .unwrap();
    for r in &r {
        let d = r.drive_totals();
        print!(
            "{:6} n={} sim {} wall {:.1}s ",
            r.policy.label(),
            r.read.count(),
            r.simulated,
            r.wall.as_secs_f64()
        );
        for p in [50., 95., 99., 99.5, 99.9, 99.99] {
            print!("{}: {:.0} ", p, r.read.percentile(p).as_micros_f64());
        }
        println!(
            "w99.9 {:.0} waf {:.2} arrwa {:.2} coll {} viol {} stall {} ff {} rb {} resub {} busy {:?} act {:?} ops {:.1}M",
            r.write.percentile(99.9).as_micros_f64(),
            d.write_amplification(),
            r.array.write_amplification(),
            d.collections,
            d.contract_violations,
            d.stalled_writes_pages,
            r.array.fail_fasts,
            r.array.rebuilds,
            r.array.resubmitted,
            r.busy_members,
            r.array.busy_sub_ios,
            d.page_operations() as f64 / 1e6
        );
        for p in [99., 99.9] {
            let s = r.causes.at(r.read.percentile(p)).unwrap();
            print!("   p{p}: ");
            for (c, v) in nvme::Cause::ALL.iter().zip(s.parts) {
                if v.as_nanos() > 0 {
                    print!("{} {} ", c.label(), v);
                }
            }
            println!();
        }
    }
    println!("total {:?}", t.elapsed());
}
