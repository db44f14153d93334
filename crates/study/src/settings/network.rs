//! How drives on the network are dealt with: `[network]`.

use crate::failure::Failure;
use crate::values::quantity::{OnOff, Span, Text};
use clap::Args;
use live::durable::Uuid;
use live::storage::{Claims, RemoteOptions};
use nvme::wire::Nqn;
use nvme::wire::pdu::Digests;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

/// Least and longest time that can be chosen.
const TIMES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(3600));
/// Longest time for which a drive is waited for.
const RETURN_LONGEST: Duration = Duration::from_secs(86_400);
/// For how long a drive stays claimed unless another time is chosen.
const LEASE: Duration = Duration::from_secs(10);
/// Least and longest such time.
const LEASES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(600));
/// Most commands in flight of a drive.
const DEPTH_MAX: u16 = 1023;

/// Drives on the network: `[network]`.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Drives on the network")]
pub struct NetworkSettings {
    /// NVMe qualified name by which drives know this host, such as
    /// nqn.2014-08.org.nvmexpress:uuid:… [default: that in /etc/nvme/hostnqn, or else one that is
    /// new at every start]
    #[arg(long, value_name = "NQN")]
    pub host_nqn: Option<String>,
    /// How long a drive on the network may take for a command, 10ms to 3600s; one that takes longer
    /// has failed [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub drive_timeout: Option<Text<Span>>,
    /// For how long a drive on the network that is gone is connected again, 0 to 3600s, where it
    /// cannot have lost anything; 0 is not at all [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub drive_reconnect: Option<Text<Span>>,
    /// For how long a drive on the network that has failed is waited for, 0 to 86400s: one that
    /// comes back with what it held is given what it missed; 0 is not at all [default: 600s]
    #[arg(long, value_name = "TIME")]
    pub drive_return: Option<Text<Span>>,
    /// After how long a read of a drive on the network is reconstructed from the others, where the
    /// policy lets it fail fast, 1ms to 3600s [default: 500ms]
    #[arg(long, value_name = "TIME")]
    pub drive_read_timeout: Option<Text<Span>>,
    /// How long each step may take to connect a drive on the network, 10ms to 3600s [default: 5s]
    #[arg(long, value_name = "TIME")]
    pub drive_connect_timeout: Option<Text<Span>>,
    /// For how long a drive on the network and this host may hear nothing of each other, 1s to
    /// 3600s [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub drive_keep_alive: Option<Text<Span>>,
    /// Lease of drives on the network, 1s to 600s, which this server renews. A server whose lease
    /// has run out answers no client; another server waits for that before it takes the drives. All
    /// servers that might use the drives need the same lease [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub drive_lease: Option<Text<Span>>,
    /// Commands in flight of each drive on the network, 1 to 1023; a drive may take fewer [default:
    /// 127]
    #[arg(long, value_name = "N")]
    pub drive_depth: Option<u16>,
    /// Whether headers and data on the network have digests, `on` or `off`; TCP alone does not
    /// notice every error [default: off]
    #[arg(long, value_name = "WHETHER")]
    pub drive_digests: Option<Text<OnOff>>,
}

impl NetworkSettings {
    /// What the drives are to be told and given.
    pub fn options(&self) -> Result<RemoteOptions, Failure> {
        let lease = self.lease()?;
        let claimant = live::durable::claimant(lease).map_err(|error| {
            Failure::internal(format!("the system gives no random numbers: {error}"))
        })?;
        let mut options = RemoteOptions::of(self.host(&claimant.owner)?, claimant.owner.0);
        options.claims = Some(Claims::new(claimant));
        let (least, longest) = TIMES;
        let time = |name: &str, text: &Option<Text<Span>>, usual, least: Duration| match text {
            None => Ok(usual),
            Some(text) if (least..=longest).contains(&text.value.0) => Ok(text.value.0),
            Some(text) => Err(Failure::usage(format!(
                "--{name} is {}; it must be {least} to {longest}",
                text.value.0
            ))),
        };
        options.command_timeout =
            time("drive-timeout", &self.drive_timeout, options.command_timeout, least)?;
        options.connect_timeout = time(
            "drive-connect-timeout",
            &self.drive_connect_timeout,
            options.connect_timeout,
            least,
        )?;
        options.reconnect =
            time("drive-reconnect", &self.drive_reconnect, options.reconnect, Duration::ZERO)?;
        options.return_time = match &self.drive_return {
            None => options.return_time,
            Some(text) if text.value.0 <= RETURN_LONGEST => text.value.0,
            Some(text) => {
                return Err(Failure::usage(format!(
                    "--drive-return is {}; it must be 0 to {RETURN_LONGEST}",
                    text.value.0
                )));
            }
        };
        let millisecond = Duration::from_millis(1);
        options.read_patience = time(
            "drive-read-timeout",
            &self.drive_read_timeout,
            options.read_patience,
            millisecond,
        )?;
        let second = Duration::from_secs(1);
        options.keep_alive =
            time("drive-keep-alive", &self.drive_keep_alive, options.keep_alive, second)?;
        if let Some(depth) = self.drive_depth {
            if !(1..=DEPTH_MAX).contains(&depth) {
                return Err(Failure::usage(format!(
                    "--drive-depth is {depth}; it must be 1 to {DEPTH_MAX}"
                )));
            }
            options.commands = depth;
        }
        if self.drive_digests.as_ref().is_some_and(|text| text.value.0) {
            options.digests = Digests { header: true, data: true };
        }
        Ok(options)
    }

    fn lease(&self) -> Result<Duration, Failure> {
        let Some(text) = &self.drive_lease else { return Ok(LEASE) };
        let (least, longest) = LEASES;
        match text.value.0 {
            lease if (least..=longest).contains(&lease) => Ok(lease),
            lease => Err(Failure::usage(format!(
                "--drive-lease is {lease}; it must be {least} to {longest}"
            ))),
        }
    }

    /// Name of this host. Its identifier is another at every start, so that two servers of one
    /// machine are two hosts.
    fn host(&self, id: &Uuid) -> Result<Nqn, Failure> {
        let name = match &self.host_nqn {
            Some(name) => name.clone(),
            None => read_line("/etc/nvme/hostnqn")
                .unwrap_or_else(|| format!("nqn.2014-08.org.nvmexpress:uuid:{id}")),
        };
        Nqn::new(&name).ok_or_else(|| {
            Failure::usage(format!(
                "--host-nqn is \"{name}\"; it must begin with nqn. and have at most 223 bytes"
            ))
        })
    }
}

fn read_line(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Settings, parse};

    fn options(network: &str) -> Result<RemoteOptions, String> {
        let settings = parse::<Settings>(&format!("[network]\n{network}"), "a.toml");
        let settings = settings.map_err(|error| error.to_string())?;
        settings.network.options().map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_taken_or_refused_with_their_limits() {
        let all =
            "host_nqn = \"nqn.a\"\ndrive_timeout = \"2s\"\ndrive_depth = 7\ndrive_digests = \"on\"";
        let taken = options(all).unwrap();
        assert_eq!((taken.host.as_str(), taken.commands), ("nqn.a", 7));
        assert_eq!(taken.command_timeout, Duration::from_secs(2));
        assert!(taken.digests.header && taken.digests.data);
        for (wrong, said) in [
            ("drive_depth = 0", "--drive-depth is 0; it must be 1 to 1023"),
            ("drive_timeout = \"1ms\"", "--drive-timeout is 1.00ms; it must be 10.0ms to 3600s"),
            ("drive_keep_alive = \"0\"", "--drive-keep-alive is 0ns; it must be 1.00s to 3600s"),
            ("drive_lease = \"1ns\"", "--drive-lease is 1ns; it must be 1.00s to 600s"),
            ("drive_lease = \"601s\"", "--drive-lease is 601s; it must be 1.00s to 600s"),
            ("drive_lease = \"500ms\"", "--drive-lease is 500ms; it must be 1.00s to 600s"),
            (
                "host_nqn = \"me\"",
                "--host-nqn is \"me\"; it must begin with nqn. and have at most 223 bytes",
            ),
        ] {
            assert_eq!(options(wrong).unwrap_err(), said);
        }
    }
}
