//! The accept loop of both listeners, HTTP and admin commands.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// Pause after the system refused to accept, when descriptors are short for instance.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// What a client does.
#[derive(Clone, Copy, Debug)]
enum Activity {
    /// It is new, or it was answered, at this moment. It may not have taken the answer.
    Idle(Instant),
    /// A request of it has arrived whole and is being carried out.
    Busy,
    /// It has disconnected.
    Gone,
}

/// The place of one client among those of a listener.
#[derive(Debug)]
pub(super) struct ClientPlace {
    activity: Mutex<Activity>,
    /// Told when a client becomes idle or disconnects.
    changed: Arc<Notify>,
}

impl ClientPlace {
    fn new(changed: &Arc<Notify>) -> Arc<Self> {
        let activity = Mutex::new(Activity::Idle(Instant::now()));
        Arc::new(Self { activity, changed: Arc::clone(changed) })
    }

    /// A request has arrived whole: the client keeps its place until what this returns is dropped.
    pub(super) fn begin_request(&self) -> BusyClient<'_> {
        *self.activity() = Activity::Busy;
        BusyClient(self)
    }

    /// Waits until the client has been idle for so long.
    pub(super) async fn idle_for(&self, time: Duration) {
        loop {
            let idle = self.idle_since().map_or(Duration::ZERO, |since| since.elapsed());
            match time.checked_sub(idle) {
                None | Some(Duration::ZERO) => return,
                Some(left) => tokio::time::sleep(left).await,
            }
        }
    }

    fn idle_since(&self) -> Option<Instant> {
        match *self.activity() {
            Activity::Idle(since) => Some(since),
            Activity::Busy | Activity::Gone => None,
        }
    }

    fn is_gone(&self) -> bool {
        matches!(*self.activity(), Activity::Gone)
    }

    fn change(&self, activity: Activity) {
        *self.activity() = activity;
        self.changed.notify_one();
    }

    /// Nobody panics while holding it, and it is consistent in any case.
    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client whose request is being carried out.
#[derive(Debug)]
pub(super) struct BusyClient<'a>(&'a ClientPlace);

impl Drop for BusyClient<'_> {
    fn drop(&mut self) {
        self.0.change(Activity::Idle(Instant::now()));
    }
}

/// The task that serves a client.
#[derive(Debug)]
struct ClientTask {
    place: Arc<ClientPlace>,
    task: AbortHandle,
}

/// Tells that a client is gone, however its task ended.
#[derive(Debug)]
struct GoneOnDrop(Arc<ClientPlace>);

impl Drop for GoneOnDrop {
    fn drop(&mut self) {
        self.0.change(Activity::Gone);
    }
}

/// Accepts clients from `poll_accept` until it is aborted, and serves each in a task of its own, at
/// most `limit` at the same time. For one more, the client that has been idle for longest is
/// disconnected; if none is idle, it waits. Each holds a copy of `busy` while it is served.
pub(super) async fn accept_clients<S, F>(
    mut poll_accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<S>>,
    limit: usize,
    busy: mpsc::Sender<()>,
    serve: impl Fn(S, Arc<ClientPlace>) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let changed = Arc::new(Notify::new());
    let mut clients: Vec<ClientTask> = Vec::new();
    loop {
        match std::future::poll_fn(&mut poll_accept).await {
            Ok(stream) => {
                make_room(&mut clients, limit, &changed).await;
                let place = ClientPlace::new(&changed);
                let gone = GoneOnDrop(Arc::clone(&place));
                let (served, busy) = (serve(stream, Arc::clone(&place)), busy.clone());
                let task = tokio::spawn(async move {
                    served.await;
                    drop((gone, busy));
                });
                clients.push(ClientTask { place, task: task.abort_handle() });
            }
            Err(error) => {
                tracing::warn!(%error, "a client was not accepted");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

/// Waits until there is room for one more client.
async fn make_room(clients: &mut Vec<ClientTask>, limit: usize, changed: &Notify) {
    loop {
        clients.retain(|client| !client.place.is_gone());
        if clients.len() < limit {
            return;
        }
        let idle = clients.iter().enumerate();
        let idle = idle.filter_map(|(index, client)| Some((client.place.idle_since()?, index)));
        match idle.min() {
            Some((_, index)) => {
                tracing::debug!("an idle client is disconnected, because others wait");
                clients.swap_remove(index).task.abort();
            }
            None => changed.notified().await,
        }
    }
}
