use sim::torture::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (from, to): (u64, u64) = (args[1].parse().unwrap(), args[2].parse().unwrap());
    let steps: usize = args[3].parse().unwrap();
    let hole = args.get(4).is_some_and(|a| a == "hole");
    let demands = Demands { write_hole: hole };
    let mut counts = Counts::default();
    let mut coverage = Coverage::default();
    let start = std::time::Instant::now();
    let mut failures = 0;
    for seed in from..to {
        let history = History::draw(seed, None, steps);
        let verdict = std::panic::catch_unwind(|| torture(&history, demands, false));
        let verdict = match verdict {
            Ok(v) => v,
            Err(_) => {
                println!("seed {seed}: panic");
                failures += 1;
                continue;
            }
        };
        counts.add(&verdict.counts);
        coverage.add(&verdict.coverage);
        if let Some(f) = verdict.failure {
            failures += 1;
            println!("seed {seed} ({}): {f}", history.shape);
            if to - from == 1 {
                let short = shrink(&history, demands, |_| {});
                for line in torture(&short, demands, true).story {
                    println!("{line}");
                }
            }
        }
        if failures > 60 {
            break;
        }
    }
    println!("{counts:?}\n{coverage}\n{:?}", start.elapsed());
}
