//! A short, repeatable fuzz of all readers of bytes: valid conversations with seeded damage, in a
//! fixed number of rounds.
//!
//! A failure prints its seed and the line that repeats it. The real fuzzer is in `fuzz/`.

use super::fuzz;
use super::reader::{Conversation, damage};
use units::Rng;

const ROUNDS: u64 = 20_000;

#[test]
fn damaged_conversations_are_read_alike_in_pieces_and_refused_in_order() {
    for seed in testing::seeds(0..ROUNDS) {
        let mut rng = Rng::stream(seed, "pdu");
        let conversation = Conversation::draw(&mut rng);
        let mut bytes = conversation.bytes();
        damage(&mut rng, &mut bytes);
        let mut input = conversation.head(&mut rng).to_vec();
        input.extend(bytes);
        fuzz::check_all(&input);
    }
}

#[test]
fn damaged_structures_are_read_as_something_that_can_be_written() {
    for seed in testing::seeds(0..ROUNDS / 10) {
        let mut rng = Rng::stream(seed, "structures");
        let mut input = vec![0, 0, 0, 0, 0, 2 + (seed % 2) as u8];
        let length = rng.below(4200);
        // Mostly zeroes, as in most structures.
        let dense = rng.below(3);
        input.extend((0..length).map(|_| match rng.below(1 + 8 * dense) {
            0 => rng.next_u64() as u8,
            _ => 0,
        }));
        for _ in 0..rng.below(3) {
            let at = 6 + rng.below(length + 1) as usize;
            let word: &[u8] =
                [&b"IODA\x01\0"[..], b"nqn.x\0", b"\x7f\x40", b"PLML\x01\0"][rng.below(4) as usize];
            input.splice(at..at, word.iter().copied());
        }
        fuzz::check_all(&input);
    }
}
