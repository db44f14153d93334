//! Policies in stored results: by name.

use super::PolicyKind;
use alloc::string::String;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

impl Serialize for PolicyKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for PolicyKind {
    /// Finds the policy of the registry that has the stored name.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Self::ALL.iter().find(|policy| policy.name() == name);
        found.copied().ok_or_else(|| D::Error::custom(format_args!("no policy is called {name}")))
    }
}
