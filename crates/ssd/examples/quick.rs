use nvme::*;
use units::*;
fn main() {
    for (name, prep) in
        [("femu-artifact", true), ("femu-artifact", false), ("femu", false), ("ttflash", false)]
    {
        let mut c = ssd::presets::preset(name).unwrap();
        if name == "ttflash" {
            c.collection.blocking = ssd::Blocking::Die;
        }
        let t = std::time::Instant::now();
        let mut d = ssd::Ssd::new(c).unwrap();
        if prep {
            println!("{:?}", d.precondition(1));
        } else {
            d.age(1);
        }
        println!("{name} prep {:?} free {}", t.elapsed(), d.free_share());
        let n = d.logical_blocks();
        let mut rng = Rng::new(3);
        let mut now = Instant::ZERO;
        let t = std::time::Instant::now();
        let mut issue = |d: &mut ssd::Ssd, now, id: u32, rng: &mut Rng| {
            let op = if rng.below(10) < 7 { Opcode::Read } else { Opcode::Write };
            d.handle_command(
                now,
                &Command {
                    id: CommandId(id),
                    opcode: op,
                    lba: Lba(rng.below(n)),
                    blocks: 1,
                    pl: PlFlag::Off,
                },
            );
        };
        for id in 0..256 {
            issue(&mut d, now, id, &mut rng);
        }
        let mut done = 0u64;
        while done < 8_000_000 {
            now = d.next_deadline();
            d.handle_deadline(now);
            while let Some(c) = d.poll_completion() {
                done += 1;
                issue(&mut d, now, c.completion.id.0, &mut rng);
            }
        }
        let e = t.elapsed().as_secs_f64();
        let c = d.counters();
        println!(
            "{name} host {:.2} M/s, page ops {:.2} M/s waf {:.3} {:?} simulated {:?}",
            done as f64 / e / 1e6,
            c.page_operations() as f64 / e / 1e6,
            c.write_amplification(),
            c,
            now
        );
    }
}
