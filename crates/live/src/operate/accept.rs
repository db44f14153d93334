//! The accept loop of both listeners, HTTP and admin commands.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

/// Pause after the system refused to accept, when descriptors are short for instance.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Accepts clients from `poll_accept` until it is aborted, and serves each in a task of its own, at
/// most `limit` at the same time: the next one waits to be accepted. Each holds a copy of `busy` while
/// it is served.
pub(super) async fn accept_clients<S, F>(
    mut poll_accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<S>>,
    limit: usize,
    busy: mpsc::Sender<()>,
    serve: impl Fn(S) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(limit));
    loop {
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        match std::future::poll_fn(&mut poll_accept).await {
            Ok(stream) => {
                let (served, busy) = (serve(stream), busy.clone());
                tokio::spawn(async move {
                    served.await;
                    drop((permit, busy));
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a client was not accepted");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}
