//! The key of `--vary KEY=VALUES`: a path of the configuration, or a shorter name for one.

use crate::failure::Failure;
use crate::settings::Settings;
use crate::values::names::nearest;
use std::fmt;
use toml::Value;

/// Shorter names, and paths that people expect.
const SHORT: [(&str, &str); 6] = [
    ("load", "workload.rerate"),
    ("width", "array.drives"),
    ("window", "array.tw"),
    ("windows.tw", "array.tw"),
    ("over-provisioning", "drive.over_provisioning"),
    ("buffer", "drive.write_buffer"),
];
/// What a sweep has options of its own for, or what changes no result.
const NOT_VARIED: [(&str, &str); 5] = [
    ("run.policy", "--policy takes a list"),
    ("run.seed", "--seeds says how many there are"),
    ("run.threads", "it has no influence on results"),
    ("drive.name", "it has no influence on results"),
    ("drive.on_sale", "it has no influence on results"),
];
/// A section that simulations do not read.
const SERVE: &str = "serve";

/// A key of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Key {
    section: String,
    name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.section, self.name)
    }
}

impl Key {
    /// The key that `text` means: a short name, a path, or the name alone if one section only has
    /// it.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let typed = text.trim();
        let short = SHORT.iter().find(|(short, _)| *short == typed).map(|&(_, path)| path);
        let wanted = short.unwrap_or(typed).replace('-', "_");
        let is_wanted = |path: &str| path == wanted || path.ends_with(&format!(".{wanted}"));
        let all = keys()?;
        let same = |key: &&Self| key.name == wanted || key.to_string() == wanted;
        let found: Vec<&Self> = all.iter().filter(same).collect();
        let paths = || all.iter().map(Self::to_string).collect::<Vec<_>>();
        match found.as_slice() {
            [only] => Ok((*only).clone()),
            [] => Err(match NOT_VARIED.iter().find(|(path, _)| is_wanted(path)) {
                Some((path, why)) => Failure::usage(format!("--vary cannot change {path}: {why}")),
                None => unknown(typed, &paths()),
            }),
            several => {
                let several: Vec<String> = several.iter().map(ToString::to_string).collect();
                Err(Failure::usage(format!(
                    "--vary {typed} may be {}; write one of these",
                    several.join(" or ")
                )))
            }
        }
    }

    /// `settings` with this key set to `value`.
    pub(super) fn set(&self, settings: &Settings, value: &str) -> Result<Settings, Failure> {
        let kept = |error: &dyn fmt::Display| {
            Failure::usage(format!("the settings cannot be kept: {error}"))
        };
        let table = toml::Table::try_from(settings).map_err(|error| kept(&error))?;
        let with = |value: Value| -> Result<Settings, toml::de::Error> {
            let mut table = table.clone();
            let section = table.entry(&self.section).or_insert(Value::Table(toml::Table::new()));
            if let Value::Table(section) = section {
                section.insert(self.name.clone(), value);
            }
            table.try_into()
        };
        // A text with a unit is read from a string; a count needs a number.
        let mut read = with(Value::String(value.to_owned()));
        if read.is_err()
            && let Some(number) = number(value)
        {
            read = with(number);
        }
        read.map_err(|error| {
            let message = error.message().replace('\n', " ");
            Failure::usage(format!("--vary cannot set {self} to {value}: {message}"))
        })
    }
}

/// `text` as a number or a boolean of TOML.
fn number(text: &str) -> Option<Value> {
    let integer = text.parse().ok().map(Value::Integer);
    integer
        .or_else(|| text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Float))
        .or_else(|| text.parse().ok().map(Value::Boolean))
}

/// Every key that holds one value and may be varied.
fn keys() -> Result<Vec<Key>, Failure> {
    // Unlike TOML, JSON writes what is not set as well.
    let settings = serde_json::to_value(Settings::default())
        .map_err(|error| Failure::internal(format!("the settings cannot be listed: {error}")))?;
    let sections = settings.as_object().into_iter().flatten();
    let keys = sections.filter(|(section, _)| *section != SERVE).flat_map(|(section, values)| {
        let names = values.as_object().into_iter().flatten();
        names.map(|(name, _)| Key { section: section.clone(), name: name.clone() })
    });
    let is_varied = |key: &Key| NOT_VARIED.iter().all(|(path, _)| *path != key.to_string());
    Ok(keys.filter(is_varied).collect())
}

fn unknown(typed: &str, paths: &[String]) -> Failure {
    let names = || paths.iter().map(|path| path.rsplit('.').next().unwrap_or(path));
    let short = SHORT.iter().map(|&(short, _)| short);
    let paths = paths.iter().map(String::as_str);
    let hint = match nearest(typed, short.clone().chain(paths).chain(names())) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "`ioda compare --help` lists the options".to_owned(),
    };
    Failure::usage(format!(
        "--vary knows no key {typed}; {hint} (a key of the configuration such as \
         drive.over_provisioning, or one of {})",
        short.collect::<Vec<_>>().join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> String {
        Key::parse(text).unwrap().to_string()
    }

    #[test]
    fn keys_have_paths_and_short_names() {
        for (short, expected) in SHORT {
            assert_eq!(path(short), expected);
            assert_eq!(path(expected), expected, "every short name is for a key that exists");
        }
        assert_eq!(path("iodepth"), "workload.iodepth");
        assert_eq!(path("drive.write-buffer"), "drive.write_buffer");
        assert_eq!(path("hedge_delay"), "policies.hedge_delay");
        for (key, why) in NOT_VARIED {
            let error = Key::parse(key).map(drop).unwrap_err().to_string();
            assert_eq!(error, format!("--vary cannot change {key}: {why}"));
        }
    }

    #[test]
    fn unknown_keys_are_refused_with_what_was_meant() {
        let error = |text| Key::parse(text).map(drop).unwrap_err().to_string();
        for (typed, meant) in [
            ("drive.over_provisionin", "did you mean drive.over_provisioning?"),
            ("widht", "did you mean width?"),
            ("array.drive", "did you mean array.drives?"),
            ("read_latenc", "did you mean read_latency?"),
            ("%%%", "`ioda compare --help` lists the options"),
        ] {
            assert!(error(typed).contains(meant), "{}", error(typed));
        }
        assert!(error("seed").starts_with("--vary cannot change run.seed"), "{}", error("seed"));
    }

    #[test]
    fn values_are_read_as_in_a_file() {
        let set = |key: &str, value: &str| {
            Key::parse(key).and_then(|key| key.set(&Settings::default(), value))
        };
        assert_eq!(set("width", "6").unwrap().array.drives, Some(6));
        assert_eq!(
            set("burst_bytes_per_second", "1e6").unwrap().drive.burst_bytes_per_second,
            Some(1e6)
        );
        assert_eq!(set("copyback", "true").unwrap().drive.copyback, Some(true));
        assert_eq!(set("workload.name", "2019").unwrap().workload.name.as_deref(), Some("2019"));
        assert_eq!(
            set("load", "0.05").unwrap().workload.rerate,
            Some("0.05".parse().unwrap()),
            "the text stays as it was typed"
        );
        for (key, value, why) in [
            ("width", "four", "--vary cannot set array.drives to four: invalid type"),
            ("width", "2.5", "--vary cannot set array.drives to 2.5: invalid type"),
            ("window", "100", "has no unit"),
            ("over-provisioning", "0.25", "write 25% or 0.25%"),
            ("raid", "7", "one of 0, 1, 4, 5, 6, 10"),
        ] {
            let error = set(key, value).map(drop).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
