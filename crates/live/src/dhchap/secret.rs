//! Secrets as `nvme gen-dhchap-key` writes them: `DHHC-1:hh:base64:`, and files of them.

use super::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nvme::target::{HostSecret, Secret};
use nvme::wire::{HashFunction, Nqn};
use thiserror::Error;

/// What a secret is transformed with, beside the name of whose it is.
const CONTEXT: &[u8] = b"NVMe-over-Fabrics";

/// What is wrong with a file of secrets.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}: {reason}")]
pub struct SecretError {
    /// From 1 on.
    pub line: usize,
    /// A part of a sentence, which has nothing of the secret.
    pub reason: &'static str,
}

/// Reads a file of secrets, a host in each line: its name, its secret, and if hosts are to ask for
/// it, the secret of the controller. Lines that are empty or begin with `#` are none.
///
/// # Errors
///
/// If a line is something else.
pub fn host_secrets(text: &str, subsystem: &Nqn) -> Result<Vec<HostSecret>, SecretError> {
    let mut hosts: Vec<HostSecret> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let wrong = |reason| SecretError { line, reason };
        let mut words = text.split_whitespace();
        let Some(name) = words.next().filter(|name| !name.starts_with('#')) else { continue };
        let host = Nqn::new(name).ok_or(wrong("it does not begin with the NQN of a host"))?;
        let secret = words.next().ok_or(wrong("there is no secret behind the NQN"))?;
        let of_controller = words.next();
        if words.next().is_some() {
            return Err(wrong(
                "there is more than an NQN, a secret, and the secret of the controller",
            ));
        }
        if hosts.iter().any(|known| known.host == host) {
            return Err(wrong("the host was in a line before"));
        }
        let secret = parse(secret, &host).map_err(wrong)?;
        let of_controller =
            of_controller.map(|text| parse(text, subsystem)).transpose().map_err(wrong)?;
        hosts.push(HostSecret { host, secret, of_controller });
    }
    Ok(hosts)
}

/// The secret that a text says, transformed with the name of whose it is if the text asks for that.
fn parse(text: &str, owner: &Nqn) -> Result<Secret, &'static str> {
    let text = text.strip_prefix("DHHC-1:").ok_or("a secret begins with DHHC-1:")?;
    let text = text.strip_suffix(':').ok_or("a secret ends with a colon")?;
    let (hash, key) = text.split_once(':').ok_or("a secret has four parts, with colons between")?;
    let hash = match hash {
        "00" => None,
        "01" => Some(HashFunction::Sha256),
        "02" => Some(HashFunction::Sha384),
        "03" => Some(HashFunction::Sha512),
        _ => return Err("the second part of a secret is 00, 01, 02 or 03"),
    };
    let bytes = STANDARD.decode(key).map_err(|_| "the third part of the secret is not base64")?;
    let Some((key, sum)) =
        bytes.split_last_chunk::<4>().filter(|(key, _)| [32, 48, 64].contains(&key.len()))
    else {
        return Err("a secret has 32, 48 or 64 bytes, and a sum of 4");
    };
    if crc32fast::hash(key) != u32::from_le_bytes(*sum) {
        return Err("the sum of the secret is wrong: a character of it is another than it was");
    }
    Ok(Secret(match hash {
        None => key.to_vec(),
        Some(hash) => hmac(hash, key, &[owner.as_str().as_bytes(), CONTEXT]).as_bytes().to_vec(),
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    const HOST: &str = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555";

    fn text(hash: &str, key: &[u8]) -> String {
        let all = [key, &crc32fast::hash(key).to_le_bytes()].concat();
        format!("DHHC-1:{hash}:{}:", STANDARD.encode(all))
    }

    fn read(lines: &str) -> Result<Vec<HostSecret>, SecretError> {
        host_secrets(lines, &Nqn::new("nqn.2026-01.example:drive").unwrap())
    }

    #[test]
    fn secrets_are_taken_as_they_are_or_transformed() {
        let lines =
            format!("# who may\n\n{HOST} {} {}\n", text("00", &[7; 32]), text("01", &[8; 32]));
        let hosts = read(&lines).unwrap();
        assert_eq!(hosts.len(), 1);
        assert_eq!(hosts[0].secret, Secret(vec![7; 32]));
        let name: &[u8] = b"nqn.2026-01.example:drive";
        let transformed = hmac(HashFunction::Sha256, &[8; 32], &[name, CONTEXT]);
        assert_eq!(hosts[0].of_controller, Some(Secret(transformed.as_bytes().to_vec())));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_without_the_secret() {
        let good = text("00", &[7; 32]);
        let damaged = good.replacen('B', "C", 1);
        let cases = [
            (format!("host {good}"), "NQN of a host"),
            (HOST.to_owned(), "no secret"),
            (format!("{HOST} {good} {good} {good}"), "more than"),
            (format!("{HOST} {good}\n{HOST} {good}"), "before"),
            (format!("{HOST} {}", good.trim_end_matches(':')), "ends with a colon"),
            (format!("{HOST} {}", good.replace("DHHC-1", "DHHC-2")), "begins with DHHC-1"),
            (format!("{HOST} {}", good.replace(":00:", ":04:")), "00, 01, 02 or 03"),
            (format!("{HOST} {}", text("00", &[7; 31])), "32, 48 or 64"),
            (format!("{HOST} DHHC-1:00:!!!!:"), "not base64"),
            (format!("{HOST} {damaged}"), "sum"),
        ];
        for (lines, expected) in cases {
            let error = read(&lines).unwrap_err().to_string();
            assert!(error.starts_with("line ") && error.contains(expected), "{lines}: {error}");
            assert!(!error.contains("BwcH"), "the secret is not told");
        }
    }
}
