//! Policies on drives that are on sale, whose firmware lacks what the policies need.

use array::policy::PolicyKind;
use report::FIRMWARE_MARK;
use ssd::Config;

/// The parts of the firmware that `policy` needs and `drive` lacks.
fn lacking(policy: PolicyKind, drive: &Config) -> Option<&'static str> {
    policy.about().drive_changes.firmware().filter(|_| drive.contract.is_assumed)
}

/// `label`, marked if `policy` needs firmware that one of `drives` lacks.
pub fn marked<'a>(
    label: &str,
    policy: PolicyKind,
    drives: impl IntoIterator<Item = &'a Config>,
) -> String {
    match drives.into_iter().any(|drive| lacking(policy, drive).is_some()) {
        false => label.to_owned(),
        true => format!("{label}{FIRMWARE_MARK}"),
    }
}

/// The meaning of the mark: the drives, and the parts that each policy needs; none if no policy is
/// marked.
pub fn note<'a>(runs: impl IntoIterator<Item = (PolicyKind, &'a Config)>) -> Option<String> {
    let mut drives: Vec<&str> = Vec::new();
    let mut needs: Vec<(&str, Vec<&str>)> = Vec::new();
    for (policy, drive) in runs {
        let Some(parts) = lacking(policy, drive) else { continue };
        if !drives.contains(&drive.name.as_str()) {
            drives.push(&drive.name);
        }
        let label = policy.label();
        match needs.iter_mut().find(|(known, _)| *known == parts) {
            None => needs.push((parts, vec![label])),
            Some((_, labels)) if labels.contains(&label) => {}
            Some((_, labels)) => labels.push(label),
        }
    }
    (!drives.is_empty()).then(|| {
        let needs = needs.iter().map(|(parts, labels)| format!("{parts} ({})", labels.join(", ")));
        let (model, have) = if drives.len() == 1 { ("model", "has") } else { ("models", "have") };
        format!(
            "{FIRMWARE_MARK} needs firmware that drives on sale lack, and the {model} of {} {have}: {}",
            drives.join(" and "),
            needs.collect::<Vec<_>>().join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preset(name: &str) -> Config {
        ssd::presets::preset(name).unwrap()
    }

    #[test]
    fn policies_that_need_firmware_are_marked_on_drives_on_sale_only() {
        let label = |policy: PolicyKind, drive| marked(policy.label(), policy, &[preset(drive)]);
        for drive in ["970", "7450-960", "980pro-2000"] {
            assert_eq!(label(PolicyKind::IODA, drive), "IODA†");
            assert_eq!(label(PolicyKind::BASE, drive), "Base");
            assert_eq!(label(PolicyKind::IDEAL, drive), "Ideal");
        }
        for drive in ["femu", "ocssd", "live"] {
            assert_eq!(label(PolicyKind::IODA, drive), "IODA");
        }
    }

    #[test]
    fn the_note_names_each_drive_and_each_part_once() {
        let [femu, micron, samsung] = ["femu", "7450-960", "970"].map(preset);
        assert_eq!(note([(PolicyKind::IODA, &femu), (PolicyKind::BASE, &samsung)]), None);
        let runs = [PolicyKind::IODA, PolicyKind::IOD1]
            .into_iter()
            .flat_map(|policy| [(policy, &micron), (policy, &samsung)]);
        assert_eq!(
            note(runs).unwrap(),
            "† needs firmware that drives on sale lack, and the models of 7450-960 and 970 have: the PL flag, busy \
             remaining time and busy windows (IODA); the PL flag (IOD1)"
        );
    }
}
