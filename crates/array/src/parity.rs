//! Sums over GF(2^8) that give parity, parity updates and reconstructed members.

use crate::action::{Slot, Term};
use crate::gf;
use crate::layout::{Layout, Role};
use crate::members::MemberSet;
use alloc::vec::Vec;
use units::DriveId;

const fn old(member: u8) -> Slot {
    Slot { new: false, member }
}

const fn new(member: u8) -> Slot {
    Slot { new: true, member }
}

/// Weight of data chunk `chunk` in a parity.
fn weight(parity: Role, chunk: u32) -> u8 {
    match parity {
        Role::P => 1,
        Role::Q => gf::power(chunk),
        Role::Data(_) => unreachable!("data is not a parity"),
    }
}

/// New parity `member` from the new data of `written` members and the old data of the others.
pub(crate) fn full(layout: &Layout, stripe: u64, member: u8, written: MemberSet) -> Vec<Term> {
    let parity = layout.role(stripe, DriveId(member));
    (layout.member_set(stripe) - layout.parity_set(stripe))
        .iter()
        .map(|data| Term {
            coefficient: data_weight(layout, stripe, parity, data),
            slot: if written.contains(data) { new(data) } else { old(data) },
        })
        .collect()
}

/// New parity `member` from its old value and the change of the `written` members.
pub(crate) fn delta(layout: &Layout, stripe: u64, member: u8, written: MemberSet) -> Vec<Term> {
    let parity = layout.role(stripe, DriveId(member));
    let mut terms = alloc::vec![Term { coefficient: 1, slot: old(member) }];
    for data in written {
        let coefficient = data_weight(layout, stripe, parity, data);
        terms.push(Term { coefficient, slot: old(data) });
        terms.push(Term { coefficient, slot: new(data) });
    }
    terms
}

fn data_weight(layout: &Layout, stripe: u64, parity: Role, member: u8) -> u8 {
    match layout.role(stripe, DriveId(member)) {
        Role::Data(chunk) => weight(parity, chunk),
        Role::P | Role::Q => unreachable!("parity is not data"),
    }
}

/// Sums that compute each member of `missing` from `present`, which must hold at least as many
/// members as there are data chunks.
///
/// The stripe satisfies one equation per parity, `parity + Σ weight × data = 0`. Members that are
/// neither missing nor present must be parities: their equations are left out. The rest is solved
/// by elimination. P and Q of RAID-6 make every system of two equations in two unknowns solvable
/// (Anvin, "The mathematics of RAID-6"). For mirrors every equation has the datum and one copy.
pub(crate) fn reconstruct(
    layout: &Layout,
    stripe: u64,
    missing: MemberSet,
    present: MemberSet,
) -> Vec<(u8, Vec<Term>)> {
    let unknowns: Vec<u8> = missing.iter().collect();
    let all = layout.member_set(stripe);
    let absent = all - missing - present;
    let parities = layout.parity_set(stripe);
    assert!((absent - parities).is_empty(), "absent data must be a missing member");
    // Each row: coefficient of every member of the stripe, by drive.
    let mut equations: Vec<Vec<u8>> = (parities - absent)
        .iter()
        .map(|parity| {
            let role = layout.role(stripe, DriveId(parity));
            let mut equation = alloc::vec![0; layout.width() as usize];
            for member in all {
                equation[usize::from(member)] = match layout.role(stripe, DriveId(member)) {
                    Role::Data(chunk) => weight(role, chunk),
                    _ => u8::from(member == parity),
                };
            }
            equation
        })
        .collect();
    for (step, &unknown) in unknowns.iter().enumerate() {
        let pivot = (step..equations.len())
            .find(|&row| equations[row][unknown as usize] != 0)
            .expect("RAID parities are independent");
        equations.swap(step, pivot);
        let factor = gf::inverse(equations[step][unknown as usize]);
        equations[step].iter_mut().for_each(|c| *c = gf::multiply(*c, factor));
        let pivot_row = equations[step].clone();
        for (row, equation) in equations.iter_mut().enumerate() {
            let factor = equation[unknown as usize];
            if row != step && factor != 0 {
                gf::multiply_add(equation, &pivot_row, factor);
            }
        }
    }
    let solution = |step: usize, unknown: u8| {
        let terms = present
            .iter()
            .map(|member| Term { coefficient: equations[step][member as usize], slot: old(member) })
            .filter(|term| term.coefficient != 0)
            .collect();
        (unknown, terms)
    };
    unknowns.iter().enumerate().map(|(step, &unknown)| solution(step, unknown)).collect()
}

/// A member of a stripe, and the other members with their coefficients in GF(2^8) that sum to it.
pub type MemberSum = (DriveId, Vec<(u8, DriveId)>);

impl Layout {
    /// Each member of `stripe` that is not in `known`, as a sum over known members. `None` if more
    /// members are unknown than the stripe can miss.
    #[must_use]
    pub fn reconstruction(&self, stripe: u64, known: MemberSet) -> Option<Vec<MemberSum>> {
        let all = self.member_set(stripe);
        let missing = all - known;
        if missing.len() > self.parities() {
            return None;
        }
        let solved = reconstruct(self, stripe, missing, all - missing);
        let sums = solved.into_iter().map(|(member, terms)| {
            let terms = terms.iter().map(|term| (term.coefficient, DriveId(term.slot.member)));
            (DriveId(member), terms.collect())
        });
        Some(sums.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Level;
    use units::Rng;

    /// A stripe of single bytes with correct parity.
    fn stripe_bytes(layout: &Layout, stripe: u64, rng: &mut Rng) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..layout.width()).map(|_| rng.next_u64() as u8).collect();
        for parity in layout.parity_set(stripe) {
            let terms = full(layout, stripe, parity, MemberSet::EMPTY);
            bytes[parity as usize] = evaluate(&terms, &bytes);
        }
        bytes
    }

    fn evaluate(terms: &[Term], bytes: &[u8]) -> u8 {
        terms.iter().fold(0, |sum, term| {
            sum ^ gf::multiply(term.coefficient, bytes[term.slot.member as usize])
        })
    }

    #[test]
    fn any_k_members_can_be_reconstructed() {
        let mut rng = Rng::new(5);
        for (level, width, stripe_width) in [
            (Level::Raid4, 3, 3),
            (Level::Raid5, 4, 4),
            (Level::Raid6, 4, 4),
            (Level::Raid6, 7, 7),
            (Level::Raid5, 7, 3),
            (Level::Raid1, 4, 4),
            (Level::Raid1, 5, 3),
            (Level::Raid10, 6, 2),
        ] {
            let layout = Layout::striped(level, width, stripe_width, 1, 100).unwrap();
            for stripe in 0..u64::from(width * stripe_width) {
                let bytes = stripe_bytes(&layout, stripe, &mut rng);
                let all = layout.members(stripe);
                for missing in (1..=all).filter(|missing| missing & !all == 0) {
                    if missing.count_ones() > layout.parities() {
                        continue;
                    }
                    let present = all & !missing;
                    for (member, terms) in {
                        let [missing, present] = [missing, present].map(MemberSet::from_bits);
                        reconstruct(&layout, stripe, missing, present)
                    } {
                        assert_eq!(evaluate(&terms, &bytes), bytes[member as usize]);
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_unknown_is_a_sum_of_what_is_known_unless_too_much_is() {
        let mut rng = Rng::new(7);
        let layout = Layout::striped(Level::Raid6, 6, 5, 1, 100).unwrap();
        for stripe in 0..30 {
            let bytes = stripe_bytes(&layout, stripe, &mut rng);
            for known in 0..64 {
                let lacks = layout.members(stripe) & !known;
                let solved = layout.reconstruction(stripe, MemberSet::from_bits(known));
                assert_eq!(solved.is_some(), lacks.count_ones() <= 2);
                for (member, terms) in solved.into_iter().flatten() {
                    let sum = terms.iter().fold(0, |sum, (coefficient, of)| {
                        sum ^ gf::multiply(*coefficient, bytes[of.index()])
                    });
                    assert_eq!(sum, bytes[member.index()]);
                    assert!(lacks >> member.0 & 1 == 1);
                }
            }
        }
    }

    #[test]
    fn one_parity_may_be_left_out_when_one_member_is_missing() {
        let mut rng = Rng::new(6);
        let layout = Layout::new(Level::Raid6, 6, 1, 100).unwrap();
        for stripe in 0..6 {
            let bytes = stripe_bytes(&layout, stripe, &mut rng);
            for absent in layout.parity_set(stripe) {
                for missing in 0..6u8 {
                    if missing == absent {
                        continue;
                    }
                    let present = layout.members(stripe) & !(1 << missing) & !(1 << absent);
                    let solved = reconstruct(
                        &layout,
                        stripe,
                        MemberSet::of(missing),
                        MemberSet::from_bits(present),
                    );
                    assert_eq!(evaluate(&solved[0].1, &bytes), bytes[missing as usize]);
                }
            }
        }
    }
}
