//! What everybody who answers shares: the way to the array's thread, and the history for the page.

use super::history::History;
use crate::control::{AdminCommand, Answer, ArrayHandle, Disconnected, Status};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long monitors and the page wait for the status.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// How often the array is asked. More often would show no more, and wake an idle machine.
const INTERVAL: Duration = Duration::from_secs(1);

/// Admin commands and status requests for the array, from tasks that must not block.
#[derive(Debug)]
pub(super) struct Service {
    array: ArrayHandle,
    history: std::sync::Mutex<History>,
    /// Held while the status is asked for: once at a time, however many clients want it.
    asking_status: Mutex<()>,
}

impl Service {
    pub(super) fn new(array: ArrayHandle) -> Arc<Self> {
        let history = std::sync::Mutex::new(History::default());
        Arc::new(Self { array, history, asking_status: Mutex::new(()) })
    }

    /// Gives an admin command and waits for the answer, without blocking other tasks.
    pub(super) async fn execute(&self, command: AdminCommand) -> Result<Answer, Disconnected> {
        let array = self.array.clone();
        let execute = move || array.execute(command);
        tokio::task::spawn_blocking(execute).await.unwrap_or(Err(Disconnected))
    }

    /// The status of the array.
    pub(super) async fn status(&self) -> Result<Box<Status>, Disconnected> {
        let _asking = self.asking_status.lock().await;
        let array = self.array.clone();
        let ask = move || array.execute_within(AdminCommand::Status, STATUS_TIMEOUT);
        match tokio::task::spawn_blocking(ask).await {
            Ok(Ok(Answer::Status(status))) => Ok(status),
            _ => Err(Disconnected),
        }
    }

    /// The history, locked. Nobody panics while holding it, and it is consistent in any case.
    pub(super) fn history(&self) -> std::sync::MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds the status to the history once a second, for ever.
    pub(super) async fn record_history(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            // An array that did not answer in time is asked again.
            if let Ok(status) = self.status().await {
                self.history().add(*status);
            }
        }
    }
}
