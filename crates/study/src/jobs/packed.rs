//! A whole result of a run in few bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::Display;

/// How hard zstd tries: what it needs for a result is much less than a run takes.
const LEVEL: i32 = 3;

/// A value, serialized and compressed; in JSON a text in base64.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packed(Vec<u8>);

impl Packed {
    /// Packs `value`.
    pub fn new(value: &impl Serialize) -> Result<Self, String> {
        let plain = postcard::to_stdvec(value).map_err(told)?;
        zstd::bulk::compress(&plain, LEVEL).map(Self).map_err(told)
    }

    /// The value. Fails if it was packed from another type, or is damaged.
    pub fn unpack<T: DeserializeOwned>(&self) -> Result<T, String> {
        let plain = zstd::stream::decode_all(self.0.as_slice()).map_err(told)?;
        postcard::from_bytes(&plain).map_err(told)
    }
}

fn told(error: impl Display) -> String {
    error.to_string()
}

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{self, Listeners};
    use crate::watch::Silent;
    use array::policy::PolicyKind;
    use sim::{Measured, RunResult};

    #[test]
    fn a_result_comes_back_as_it_was() {
        let settings =
            crate::settings::parse("[workload]\nname = 'tpcc'\nrequests = 20000\n", "a.toml");
        let is_asked = |policy: &&PolicyKind| matches!(policy.name(), "quiet" | "mittos");
        let policies: Vec<_> = PolicyKind::ALL.iter().filter(is_asked).copied().collect();
        assert_eq!(policies.len(), 2);
        let mut setup = crate::setup::Setup::new(&settings.unwrap(), &policies, &Silent).unwrap();
        let measured = Measured { intervals: true, sub_reads: true, ..Measured::default() };
        setup.plans.iter_mut().for_each(|plan| plan.measured = measured);
        let outcome = simulate::run(&setup, "", &Silent, Listeners::default()).unwrap();
        for result in &outcome.results {
            let packed = Packed::new(result).unwrap();
            let json = serde_json::to_string(&packed).unwrap();
            println!("{} bytes, {} plain", json.len(), postcard::to_stdvec(result).unwrap().len());
            let read: Packed = serde_json::from_str(&json).unwrap();
            assert_eq!(read, packed);
            let back: RunResult = read.unpack().unwrap();
            assert!(Packed::new(&back).unwrap() == packed, "it is packed alike");
            for percentile in sim::PERCENTILES {
                let of = |result: &RunResult| {
                    let kinds = [&result.read, &result.write];
                    kinds.map(|latency| latency.percentile(percentile).as_nanos())
                };
                assert_eq!(of(&back), of(result));
            }
            assert_eq!(back.policy.name(), result.policy.name());
        }
        let cut = Packed(Packed::new(&7_u32).unwrap().0[..4].to_vec());
        assert!(cut.unpack::<u32>().is_err());
    }
}
