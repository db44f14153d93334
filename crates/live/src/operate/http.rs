//! Pages for people and their monitors over HTTP/1.1. All of them can only be read.
//!
//! A stranger who reaches the port can cost one connection of [`CONNECTIONS`], a request head of
//! [`HEAD_BYTES`] that must arrive within [`HEAD_TIME`], and one answer held for [`LIFE`] at most.

use super::{Desk, exposition};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};

/// Clients at the same time; the next one waits to be accepted.
const CONNECTIONS: usize = 64;
/// Largest head of a request.
const HEAD_BYTES: usize = 16 << 10;
/// Most header fields of a request.
const HEAD_FIELDS: usize = 64;
/// Longest time for the head of a request to arrive.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Longest life of a connection. Browsers and Prometheus open the next one by themselves, and a
/// client that never reads cannot hold its answer for longer.
const LIFE: Duration = Duration::from_secs(120);
/// Pause after the system refused to accept, when descriptors are short for instance.
const BREATH: Duration = Duration::from_millis(100);

const PAGE: &str = include_str!("page.html");

/// Accepts clients until it is aborted. Each holds `busy` while it is answered.
pub(super) async fn accept(
    listener: TcpListener,
    desk: Arc<Desk>,
    ended: watch::Receiver<bool>,
    busy: mpsc::Sender<()>,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let (desk, ended, busy) = (Arc::clone(&desk), ended.clone(), busy.clone());
                tokio::spawn(async move {
                    converse(stream, desk, ended).await;
                    drop((place, busy));
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a client of the page was not accepted");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

/// Talks to one client.
async fn converse(stream: TcpStream, desk: Arc<Desk>, mut ended: watch::Receiver<bool>) {
    let service = service_fn(move |request| answer(request, Arc::clone(&desk)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(HEAD_FIELDS)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let farewell = async {
        let _ = ended.wait_for(|ended| *ended).await;
    };
    let talk = async {
        let mut farewell = std::pin::pin!(farewell);
        let mut told = false;
        // The connection and the end of everything are watched together.
        std::future::poll_fn(|context| {
            if !told && farewell.as_mut().poll(context).is_ready() {
                told = true;
                connection.as_mut().graceful_shutdown();
            }
            connection.as_mut().poll(context)
        })
        .await
    };
    // That a client went away or sent nonsense (hyper answered 400 or 431) is no news.
    if let Ok(Err(error)) = tokio::time::timeout(LIFE, talk).await {
        tracing::debug!(%error, "a client of the page was dropped");
    }
}

type Reply = Response<Full<Bytes>>;

/// Answers one request. Bodies are not read: no answer depends on one.
async fn answer(request: Request<Incoming>, desk: Arc<Desk>) -> Result<Reply, Infallible> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD work here\n");
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(refusal);
    }
    Ok(match request.uri().path() {
        "/" => page(),
        "/metrics" => match desk.status().await {
            // The version of the text format is part of its type.
            Ok(status) => reply("text/plain; version=0.0.4; charset=utf-8", exposition(&status)),
            Err(gone) => text(StatusCode::SERVICE_UNAVAILABLE, &format!("{gone}\n")),
        },
        "/status.json" => match desk.status().await {
            Ok(status) => json(&*status),
            Err(gone) => text(StatusCode::SERVICE_UNAVAILABLE, &format!("{gone}\n")),
        },
        "/history.json" => match after(request.uri().query().unwrap_or_default()) {
            Some(number) => {
                let history = desk.history();
                json(&history.after(number).collect::<Vec<_>>())
            }
            None => {
                text(StatusCode::BAD_REQUEST, "after=NUMBER is all that can be asked for here\n")
            }
        },
        _ => text(StatusCode::NOT_FOUND, "there are /, /metrics, /status.json, /history.json\n"),
    })
}

/// The number in the query `after=NUMBER`; 0 for no query.
fn after(query: &str) -> Option<u64> {
    match query {
        "" => Some(0),
        _ => query.strip_prefix("after=")?.parse().ok(),
    }
}

fn page() -> Reply {
    let mut page = reply("text/html; charset=utf-8", PAGE);
    // Nothing but what is in the page itself may run, and it may talk to nobody else.
    let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
        connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
        frame-ancestors 'none'";
    page.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    page
}

fn json(value: &impl serde::Serialize) -> Reply {
    match serde_json::to_vec(value) {
        Ok(document) => reply("application/json", document),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
    }
}

fn text(status: StatusCode, sentence: &str) -> Reply {
    let mut reply = reply("text/plain; charset=utf-8", sentence.to_owned());
    *reply.status_mut() = status;
    reply
}

fn reply(content_type: &'static str, content: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(content.into()));
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    reply
}
