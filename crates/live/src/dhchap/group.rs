//! Diffie-Hellman in the groups of RFC 7919. The generator is 2. Times do not depend on exponents.

use crypto_bigint::modular::{MontyForm, MontyParams};
use crypto_bigint::{Encoding, Odd, U320, U2048, U3072, Uint};
use nvme::wire::DhGroup;

/// RFC 7919, A.1.
const FFDHE2048: &str = "\
ffffffffffffffffadf85458a2bb4a9aafdc5620273d3cf1d8b9c583ce2d3695\
a9e13641146433fbcc939dce249b3ef97d2fe363630c75d8f681b202aec4617a\
d3df1ed5d5fd65612433f51f5f066ed0856365553ded1af3b557135e7f57c935\
984f0c70e0e68b77e2a689daf3efe8721df158a136ade73530acca4f483a797a\
bc0ab182b324fb61d108a94bb2c8e3fbb96adab760d7f4681d4f42a3de394df4\
ae56ede76372bb190b07a7c8ee0a6d709e02fce1cdf7e2ecc03404cd28342f61\
9172fe9ce98583ff8e4f1232eef28183c3fe3b1b4c6fad733bb5fcbc2ec22005\
c58ef1837d1683b2c6f34a26c1b2effa886b423861285c97ffffffffffffffff";

/// RFC 7919, A.2.
const FFDHE3072: &str = "\
ffffffffffffffffadf85458a2bb4a9aafdc5620273d3cf1d8b9c583ce2d3695\
a9e13641146433fbcc939dce249b3ef97d2fe363630c75d8f681b202aec4617a\
d3df1ed5d5fd65612433f51f5f066ed0856365553ded1af3b557135e7f57c935\
984f0c70e0e68b77e2a689daf3efe8721df158a136ade73530acca4f483a797a\
bc0ab182b324fb61d108a94bb2c8e3fbb96adab760d7f4681d4f42a3de394df4\
ae56ede76372bb190b07a7c8ee0a6d709e02fce1cdf7e2ecc03404cd28342f61\
9172fe9ce98583ff8e4f1232eef28183c3fe3b1b4c6fad733bb5fcbc2ec22005\
c58ef1837d1683b2c6f34a26c1b2effa886b4238611fcfdcde355b3b6519035b\
bc34f4def99c023861b46fc9d6e6c9077ad91d2691f7f7ee598cb0fac186d91c\
aefe130985139270b4130c93bc437944f4fd4452e2d74dd364f2e21e71f54bff\
5cae82ab9c9df69ee86d2bc522363a0dabc521979b0deada1dbf9a42d5c4484e\
0abcd06bfa53ddef3c1b20ee3fd59d7c25e41d2b66c62e37ffffffffffffffff";

/// g^x.
pub(super) fn public_value(group: DhGroup, exponent: &[u8]) -> Vec<u8> {
    match group {
        DhGroup::Null => Vec::new(),
        DhGroup::Ffdhe2048 => bytes(&power(&prime_2048(), &Uint::from(2u8), exponent)),
        DhGroup::Ffdhe3072 => bytes(&power(&prime_3072(), &Uint::from(2u8), exponent)),
    }
}

/// y^x; none if y is not from 2 to p - 2: with others the result would not depend on the exponent.
pub(super) fn shared_value(group: DhGroup, exponent: &[u8], peer: &[u8]) -> Option<Vec<u8>> {
    if peer.len() != group.value_bytes() {
        return None;
    }
    match group {
        DhGroup::Null => Some(Vec::new()),
        DhGroup::Ffdhe2048 => power_of(&prime_2048(), &U2048::from_be_slice(peer), exponent),
        DhGroup::Ffdhe3072 => power_of(&prime_3072(), &U3072::from_be_slice(peer), exponent),
    }
}

fn prime_2048() -> U2048 {
    U2048::from_be_hex(FFDHE2048)
}

fn prime_3072() -> U3072 {
    U3072::from_be_hex(FFDHE3072)
}

/// `value` to the power of `exponent`, if it is one that the group allows.
fn power_of<const LIMBS: usize>(
    prime: &Uint<LIMBS>,
    value: &Uint<LIMBS>,
    exponent: &[u8],
) -> Option<Vec<u8>>
where
    Uint<LIMBS>: Encoding,
{
    let two = Uint::from(2u8);
    let is_allowed = *value >= two && *value <= prime.wrapping_sub(&two);
    is_allowed.then(|| bytes(&power(prime, value, exponent)))
}

fn bytes(value: &impl Encoding) -> Vec<u8> {
    value.to_be_bytes().as_ref().to_vec()
}

fn power<const LIMBS: usize>(
    prime: &Uint<LIMBS>,
    base: &Uint<LIMBS>,
    exponent: &[u8],
) -> Uint<LIMBS> {
    let odd = Option::from(Odd::new(*prime)).expect("a prime of RFC 7919 is odd");
    let base = MontyForm::new(base, MontyParams::new_vartime(odd));
    base.pow(&U320::from_be_slice(exponent)).retrieve()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_come_to_the_same_value() {
        for group in [DhGroup::Ffdhe2048, DhGroup::Ffdhe3072] {
            let (mine, yours) = ([0x5a; 40], [0xc3; 40]);
            let values = (public_value(group, &mine), public_value(group, &yours));
            assert_eq!(
                (values.0.len(), values.1.len()),
                (group.value_bytes(), group.value_bytes())
            );
            let shared = shared_value(group, &mine, &values.1);
            assert!(shared.is_some() && shared == shared_value(group, &yours, &values.0));
        }
    }

    #[test]
    fn values_that_give_the_exponent_no_say_are_refused() {
        let prime = prime_2048();
        let refused = [U2048::ZERO, U2048::ONE, prime.wrapping_sub(&U2048::ONE), prime, U2048::MAX];
        for value in refused {
            assert_eq!(shared_value(DhGroup::Ffdhe2048, &[7; 40], &value.to_be_bytes()), None);
        }
        assert_eq!(shared_value(DhGroup::Ffdhe2048, &[7; 40], &[7; 255]), None);
    }
}
