//! What a sweep does not prove: cells in which nothing was collected, and spare that does not lower
//! write amplification.

use super::{Cells, NAMED, Outcome, Parameter, Sweep};
use crate::format;

/// Parameters that give drives spare, and whether more of them is more spare.
const SPARE: [(&str, bool); 3] =
    [("drive.over_provisioning", true), ("array.spare", true), ("drive.usable_share", false)];

impl Cells<'_> {
    /// Whether the drives collected nothing under `policy` at `point` with some seed. Such a number
    /// is of idle drives.
    #[must_use]
    pub fn is_idle(&self, point: usize, policy: &str) -> bool {
        self.at(point, policy).iter().any(|run| match &run.outcome {
            Outcome::Measured(measured) => measured.metrics.get("collections") == Some(&0.0),
            _ => false,
        })
    }

    /// Whether any cell is of idle drives.
    #[must_use]
    pub fn has_idle(&self) -> bool {
        self.policies
            .iter()
            .any(|policy| (0..self.points.len()).any(|point| self.is_idle(point, &policy.name)))
    }

    /// That some cells are of idle drives.
    fn idle_note(&self) -> Option<String> {
        let of = |point: usize| {
            let idle = self.policies.iter().filter(move |policy| self.is_idle(point, &policy.name));
            idle.map(move |policy| format!("{} under {}", self.point_in_words(point), policy.label))
        };
        let idle: Vec<String> = (0..self.points.len()).flat_map(of).collect();
        (!idle.is_empty()).then(|| {
            let all = self.points.len() * self.policies.len();
            format!(
                "no collection took place in {} of {all} cells, which are marked (*) and not to be compared with \
                 the others: {}",
                idle.len(),
                named(&idle)
            )
        })
    }

    /// That write amplification does not fall with more spare.
    fn spare_notes(&self) -> impl Iterator<Item = String> {
        self.parameters.iter().enumerate().filter_map(|(place, parameter)| {
            let (_, rises) = SPARE.iter().find(|(key, _)| *key == parameter.key)?;
            let flat: Vec<String> = self.flat(place, parameter, *rises);
            (!flat.is_empty()).then(|| {
                format!(
                    "write amplification does not fall with more spare ({}), as it does on drives that have settled, \
                     so the runs may be too short: {}",
                    parameter.name,
                    named(&flat)
                )
            })
        })
    }

    /// Each row of cells along `parameter`, the one at `place`, whose write amplification does not
    /// fall.
    fn flat(&self, place: usize, parameter: &Parameter, rises: bool) -> Vec<String> {
        let mut order: Vec<usize> = (0..parameter.values.len()).collect();
        order.sort_by(|&a, &b| {
            let by = parameter.values[a].position.total_cmp(&parameter.values[b].position);
            if rises { by } else { by.reverse() }
        });
        let other = self.parameters.iter().enumerate().find(|(index, _)| *index != place);
        let others = other.map_or(1, |(_, other)| other.values.len());
        let mut flat = Vec::new();
        for (policy, index) in
            self.policies.iter().flat_map(|policy| (0..others).map(move |index| (policy, index)))
        {
            let waf = |&value: &usize| {
                let indices = match (other, place) {
                    (None, _) => vec![value],
                    (Some(_), 0) => vec![value, index],
                    (Some(_), _) => vec![index, value],
                };
                let spread = self.spread(self.point(&indices), &policy.name, "waf")?;
                Some((&parameter.values[value].text, spread.median))
            };
            let measured: Vec<(&String, f64)> = order.iter().filter_map(waf).collect();
            let [(least, before), .., (most, after)] = measured.as_slice() else { continue };
            if after < before {
                continue;
            }
            let with = other.map_or_else(String::new, |(_, other)| {
                format!(" with {} {}", other.name, other.values[index].text)
            });
            flat.push(format!(
                "{} at {least} and {} at {most} under {}{with}",
                format::three_digits(*before),
                format::three_digits(*after),
                policy.label
            ));
        }
        flat
    }
}

impl Sweep {
    /// A sentence for each thing that the sweep does not prove.
    #[must_use]
    pub fn evidence(&self) -> Vec<String> {
        let cells = self.cells();
        cells.idle_note().into_iter().chain(cells.spare_notes()).collect()
    }
}

/// The first of `all`, and how many more there are.
fn named(all: &[String]) -> String {
    let first = all[..all.len().min(NAMED)].join("; ");
    match all.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// The invented sweep, with `metric` of each measured run by point.
    fn with(parameters: usize, metric: &str, value: impl Fn(usize) -> f64) -> Sweep {
        let mut sweep = sample::sweep(parameters);
        for run in &mut sweep.runs {
            if let Outcome::Measured(measured) = &mut run.outcome {
                measured.metrics.insert(metric.to_owned(), value(run.point));
            }
        }
        sweep
    }

    #[test]
    fn cells_without_collections_are_named_and_marked() {
        assert_eq!(sample::sweep(2).evidence(), Vec::<String>::new(), "nothing is known of any");
        let mut sweep = with(2, "collections", |point| if point == 3 { 0.0 } else { 9.0 });
        sweep.notes = sweep.evidence();
        let [note] = sweep.notes.as_slice() else { panic!("{:?}", sweep.notes) };
        assert!(note.starts_with("no collection took place in 2 of 30 cells"), "{note}");
        assert!(note.ends_with("width 4, load 0.06 under Base; width 4, load 0.06 under IODA"));
        let text = crate::table::render_sweep(&sweep);
        assert!(text.contains(note.split(':').next().unwrap().get(..40).unwrap()), "{text}");
        assert!(text.contains("* no collection took place with some seed"), "{text}");
        let page = crate::html::render_sweep(&sweep);
        assert_eq!(page.matches("<td class=\"idle\">").count(), 2 * 2, "two metrics, two policies");
        assert!(page.contains("no collection took place in 2 of 30 cells"));
        let without = crate::html::render_sweep(&sample::sweep(2));
        assert_eq!(without.matches("class=\"idle\"").count(), 0);
    }

    #[test]
    fn spare_that_lowers_nothing_is_said() {
        let of = |key: &str, waf: fn(usize) -> f64| {
            let mut sweep = with(1, "waf", waf);
            sweep.parameters[0].key = key.to_owned();
            sweep.evidence()
        };
        let falls = |point: usize| 3.0 - point as f64;
        assert_eq!(of("drive.over_provisioning", falls), Vec::<String>::new());
        assert_eq!(of("array.drives", |_| 1.0), Vec::<String>::new(), "width is no spare");
        let flat = of("drive.over_provisioning", |_| 1.0);
        let [note] = flat.as_slice() else { panic!("{flat:?}") };
        assert!(note.starts_with("write amplification does not fall with more spare (width)"));
        assert!(note.contains("1.00 at 4 and 1.00 at 16 under IODA"), "{note}");
        assert_eq!(of("drive.usable_share", falls).len(), 1, "less is usable where more is spare");
    }

    #[test]
    fn with_two_parameters_each_row_is_looked_at() {
        let mut sweep =
            with(2, "waf", |point| if point % 5 == 2 { 2.0 } else { 9.0 - point as f64 });
        sweep.parameters[0].key = "drive.over_provisioning".to_owned();
        let notes = sweep.evidence();
        let [note] = notes.as_slice() else { panic!("{notes:?}") };
        assert!(note.contains("2.00 at 4 and 2.00 at 16 under Base with load 0.04;"), "{note}");
        assert!(!note.contains("load 0.02"), "{note}");
    }
}
