//! The cryptography of DH-HMAC-CHAP, and secrets as people write them.
//!
//! Knows: SHA-2, HMAC, powers in the groups of RFC 7919, the text form of a secret. Does not know:
//! messages and whose turn it is, which is [`nvme::target`].

mod group;
mod secret;

pub use secret::{SecretError, host_secrets};

use group::{public_value, shared_value};
use hmac::{Hmac, Mac};
use nvme::target::{Cryptography, Digest};
use nvme::wire::HashFunction;
use sha2::{Sha256, Sha384, Sha512};

/// What [`nvme::target::AuthenticationConfig`] computes with.
pub const CRYPTOGRAPHY: Cryptography = Cryptography { hash, hmac, public_value, shared_value };

fn hash(function: HashFunction, bytes: &[u8]) -> Digest {
    use sha2::Digest as _;
    match function {
        HashFunction::Sha256 => Digest::new(&Sha256::digest(bytes)),
        HashFunction::Sha384 => Digest::new(&Sha384::digest(bytes)),
        HashFunction::Sha512 => Digest::new(&Sha512::digest(bytes)),
    }
}

fn hmac(function: HashFunction, key: &[u8], pieces: &[&[u8]]) -> Digest {
    match function {
        HashFunction::Sha256 => hmac_of::<Hmac<Sha256>>(key, pieces),
        HashFunction::Sha384 => hmac_of::<Hmac<Sha384>>(key, pieces),
        HashFunction::Sha512 => hmac_of::<Hmac<Sha512>>(key, pieces),
    }
}

fn hmac_of<M: Mac + hmac::digest::KeyInit>(key: &[u8], pieces: &[&[u8]]) -> Digest {
    let mut mac = <M as Mac>::new_from_slice(key).expect("HMAC takes keys of any length");
    pieces.iter().for_each(|piece| mac.update(piece));
    Digest::new(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(digest: Digest) -> String {
        digest.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// FIPS 180-2, "abc".
    #[test]
    fn digests_are_those_of_the_standard() {
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(hash(HashFunction::Sha256, b"abc")), sha256);
        assert!(
            hex(hash(HashFunction::Sha384, b"abc")).starts_with("cb00753f45a35e8bb5a03d699ac65007")
        );
        assert!(
            hex(hash(HashFunction::Sha512, b"abc")).starts_with("ddaf35a193617abacc417349ae204131")
        );
    }

    /// RFC 4231, test case 2; in pieces it is the same.
    #[test]
    fn codes_are_those_of_the_standard() {
        let sha256 = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let pieces: [&[u8]; 2] = [b"what do ya want ", b"for nothing?"];
        assert_eq!(hex(hmac(HashFunction::Sha256, b"Jefe", &pieces)), sha256);
        assert!(
            hex(hmac(HashFunction::Sha384, b"Jefe", &pieces))
                .starts_with("af45d2e376484031617f78d2b58a6b1b")
        );
        assert!(
            hex(hmac(HashFunction::Sha512, b"Jefe", &pieces))
                .starts_with("164b7a7bfcf819e2e395fbe73b56e0a3")
        );
    }
}
