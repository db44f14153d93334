//! Plans in experiments: arrays about which the arithmetic of `ioda plan` is asked.

use crate::failure::Failure;
use crate::settings::DriveSettings;
use crate::setup::planned::{self, KEYS};
use crate::values::quantity::{Raid, Text};
use array::Level;
use nvme::ArrayDescription;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use ssd::Config;

/// One array: `[[plans]]`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Short and stable name, as in checks and tables.
    pub name: String,
    /// Its drives: a preset, or settings as in a drive section.
    #[serde(deserialize_with = "preset_or_settings")]
    #[schemars(with = "PresetOrSettings")]
    drive: DriveSettings,
    /// How many, `N_ssd`.
    pub drives: u32,
    /// The level; RAID-5 unless it is named.
    raid: Option<Text<Raid>>,
    /// How many may be busy at once, `k`; the number of parities unless it is named.
    busy_drives: Option<u32>,
}

/// A drive as it is written.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is a type for schemas only")]
enum PresetOrSettings {
    /// The name of a preset.
    Preset(String),
    /// Settings.
    Settings(Box<DriveSettings>),
}

/// What the arithmetic is asked about.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The drives.
    pub config: Config,
    /// Width and drives that may be busy at once.
    pub array: ArrayDescription,
}

fn preset_or_settings<'de, D: Deserializer<'de>>(from: D) -> Result<DriveSettings, D::Error> {
    match toml::Value::deserialize(from)? {
        toml::Value::String(name) => Ok(DriveSettings::preset(&name)),
        settings => settings.try_into().map_err(D::Error::custom),
    }
}

impl Plan {
    /// The drives and their array.
    pub fn build(&self) -> Result<Planned, Failure> {
        let config = self.drive.build()?;
        planned::check_drive(&config)?;
        planned::check_share(&config)?;
        let level = self.raid.as_ref().map_or(Level::Raid5, |raid| raid.value.0);
        let array = planned::array(level, self.drives, self.busy_drives, &KEYS)?;
        Ok(Planned { config, array })
    }
}

#[cfg(test)]
mod tests {
    use super::super::description::parse;

    const HEAD: &str = "id='x'\nfigure='X'\ntitle=''\n";

    fn refused(text: &str) -> String {
        parse(&format!("{HEAD}{text}"), "x.toml").unwrap_err().to_string()
    }

    #[test]
    fn drives_are_presets_or_settings() {
        let text = format!(
            "{HEAD}shows=['n_ssd']\nclaims=[]\nplans=[{{name='a', drive='sim', drives=8}}, \
             {{name='b', drive={{base='sim', usable_share='100%'}}, drives=8, raid=6, busy_drives=1}}]"
        );
        let experiment = parse(&text, "x.toml").unwrap();
        let built: Vec<_> = experiment.plans.iter().map(|plan| plan.build().unwrap()).collect();
        assert_eq!(built[0].config, ssd::presets::preset("sim").unwrap());
        assert_eq!(built[1].config.contract.usable_share, 1.0);
        assert_eq!(built[0].array, built[1].array);
    }

    #[test]
    fn plans_that_cannot_be_are_refused() {
        let plan =
            |rest: &str| refused(&format!("shows=[]\nclaims=[]\nplans=[{{name='p', {rest}}}]"));
        assert_eq!(
            plan("drive='sim', drives=2"),
            "x.toml: plan p: drives (N_ssd) is 2; raid5 needs 3 to 64 drives"
        );
        assert_eq!(
            plan("drive='sim', drives=4, busy_drives=2"),
            "x.toml: plan p: busy_drives is 2, but raid5 can rebuild 1 of a stripe; choose 1"
        );
        assert!(plan("drive='simm', drives=4").contains("there is no drive \"simm\""));
        assert!(plan("drive={over_provisioning=0}, drives=4").contains("over_provisioning (R_p)"));
        assert!(plan("drive={speed=1}, drives=4").contains("speed"));
    }

    #[test]
    fn an_experiment_has_workloads_or_plans() {
        let plans = "plans=[{name='p', drive='sim', drives=4}]\nclaims=[]\n";
        let workloads = "workloads=[{name='tpcc'}]\npolicies=['base']\nclaims=[]\n";
        assert_eq!(refused("shows=[]\nclaims=[]"), "x.toml: it needs workloads or plans");
        assert_eq!(
            refused(&format!("shows=[]\n{plans}workloads=[{{name='tpcc'}}]")),
            "x.toml: it has workloads and plans; leave one of them out"
        );
        assert_eq!(
            refused(&format!("shows=['waf']\n{plans}")),
            "x.toml: waf is a metric of runs, but the experiment has plans"
        );
        assert_eq!(
            refused(&format!("shows=['n_ssd']\n{workloads}")),
            "x.toml: n_ssd is a metric of plans, but the experiment has workloads"
        );
        assert_eq!(
            refused(&format!("shows=[]\npolicies=['base']\n{plans}")),
            "x.toml: policies is not read where there are plans; leave it out"
        );
        let twice =
            "plans=[{name='p', drive='sim', drives=4}, {name='P', drive='sim', drives=5}]\n";
        assert!(
            refused(&format!("shows=[]\nclaims=[]\n{twice}")).contains("two series are called")
        );
    }
}
