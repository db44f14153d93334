//! The runs that experiments need, each made once.

use super::Experiment;
use crate::commands::Talk;
use crate::exit::Failure;
use crate::output::remark;
use crate::settings::Settings;
use crate::setup::Setup;
use crate::simulate::{self, Outcome};
use array::policy::PolicyKind;

/// Requests of each workload, and blocks in each plane, for a smoke.
const QUICK_REQUESTS: u64 = 3_000;
const QUICK_BLOCKS: u32 = 48;

/// What is to be run: settings, and the policies that some experiment needs.
pub(crate) struct Order {
    settings: Settings,
    policies: Vec<PolicyKind>,
}

/// The runs of one workload.
pub(crate) struct Group {
    /// The settings that were asked for.
    settings: Settings,
    /// The name of the workload.
    pub(crate) name: String,
    /// What was run.
    pub(crate) setup: Setup,
    /// What came of it.
    pub(crate) outcome: Outcome,
}

impl Group {
    /// The runs of `experiment` among `groups`, one group per workload.
    pub(crate) fn of<'a>(
        groups: &'a [Self],
        experiment: &Experiment,
        quick: bool,
    ) -> Vec<&'a Self> {
        experiment
            .settings()
            .map(|settings| shrunk(settings, quick))
            .filter_map(|wanted| groups.iter().find(|group| group.settings == wanted))
            .collect()
    }
}

fn shrunk(mut settings: Settings, quick: bool) -> Settings {
    if quick {
        settings.workload.requests = Some(QUICK_REQUESTS);
        settings.drive.blocks_per_plane = Some(QUICK_BLOCKS);
    }
    settings
}

/// What `experiments` need, each workload once.
pub(crate) fn gather(experiments: &[Experiment], quick: bool) -> Vec<Order> {
    let mut orders: Vec<Order> = Vec::new();
    for experiment in experiments {
        for settings in experiment.settings().map(|settings| shrunk(settings, quick)) {
            let policies = experiment.policies();
            match orders.iter_mut().find(|order| order.settings == settings) {
                Some(order) => order.policies.extend(policies),
                None => orders.push(Order { settings, policies }),
            }
        }
    }
    for order in &mut orders {
        let wanted = &order.policies;
        order.policies =
            PolicyKind::ALL.into_iter().filter(|policy| wanted.contains(policy)).collect();
    }
    orders
}

/// Runs what was gathered.
pub(crate) fn run(
    orders: &[Order],
    threads: Option<usize>,
    talk: Talk,
) -> Result<Vec<Group>, Failure> {
    orders
        .iter()
        .enumerate()
        .map(|(index, order)| {
            let mut settings = order.settings.clone();
            settings.run.threads = threads;
            let setup = Setup::new(&settings, &order.policies)?;
            let name = order.settings.workload.name.clone().unwrap_or_default();
            let title = format!("{name} ({} of {})", index + 1, orders.len());
            let outcome = simulate::run(&setup, talk.progress, &title, talk.quiet)?;
            if !talk.quiet {
                let seconds: f64 = outcome.results.iter().map(|r| r.wall.as_secs_f64()).sum();
                remark(&format!(
                    "{title}: {} policies, {seconds:.1} s of processor time",
                    setup.plans.len()
                ));
            }
            Ok(Group { settings: order.settings.clone(), name, setup, outcome })
        })
        .collect()
}
