//! Status page and metrics over HTTP/1.1. All of them are read-only.
//!
//! Whoever reaches the port can take one connection of [`CONNECTIONS_MAX`] until others want it, a
//! request head of [`HEADER_BYTES_MAX`] that must arrive within [`HEADER_TIMEOUT`], and one answer
//! held for [`ANSWER_TIMEOUT`] at most.

use super::accept::{ClientPlace, accept_clients};
use super::host::Hosts;
use super::metrics::exposition;
use super::service::Service;
use crate::control::{Marked, STATUS_SCHEMA};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::encoding::prometheus_text;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

/// Clients at the same time; for the next one, that which has been idle for longest is
/// disconnected.
const CONNECTIONS_MAX: usize = 64;
/// Largest head of a request.
const HEADER_BYTES_MAX: usize = 16 << 10;
/// Most header fields of a request.
const HEADER_FIELDS_MAX: usize = 64;
/// Longest time for the head of a request to arrive.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time for an answer to be taken and the next request to begin; a client that never reads
/// is disconnected then.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest life of a connection. Browsers and Prometheus open the next one by themselves.
const CONNECTION_LIFETIME: Duration = Duration::from_secs(120);
const PAGE: &str = include_str!("page.html");

/// What clients are answered with.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) service: Arc<Service>,
    pub(super) hosts: Hosts,
}

/// Accepts clients until it is aborted. Each holds a copy of `busy` while it is served.
pub(super) async fn accept(
    listener: TcpListener,
    site: Site,
    ended: watch::Receiver<bool>,
    busy: mpsc::Sender<()>,
) {
    let next =
        |context: &mut Context<'_>| listener.poll_accept(context).map_ok(|(stream, _)| stream);
    let serve = |stream, place| serve_client(stream, place, site.clone(), ended.clone());
    accept_clients(next, CONNECTIONS_MAX, busy, serve).await;
}

/// Serves one client until it goes, its time is over, or everything ends.
async fn serve_client(
    stream: TcpStream,
    place: Arc<ClientPlace>,
    site: Site,
    mut ended: watch::Receiver<bool>,
) {
    // An address of the machine, also where all of them are listened at.
    let local = stream.local_addr().ok().map(|address| address.ip());
    let answer = service_fn(|request| {
        let (site, place) = (site.clone(), Arc::clone(&place));
        async move {
            let _busy = place.begin_request();
            answer(request, site, local).await
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(HEADER_FIELDS_MAX)
        .max_buf_size(HEADER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = std::pin::pin!(connection);
    let end = async {
        let _ = ended.wait_for(|ended| *ended).await;
    };
    let served = async {
        let mut end = std::pin::pin!(end);
        let mut stalled = std::pin::pin!(place.idle_for(ANSWER_TIMEOUT));
        let mut shutting_down = false;
        // The connection and the end of everything are polled together.
        std::future::poll_fn(|context| {
            if !shutting_down && end.as_mut().poll(context).is_ready() {
                shutting_down = true;
                connection.as_mut().graceful_shutdown();
            }
            if stalled.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            connection.as_mut().poll(context)
        })
        .await
    };
    // That a client went away or sent nonsense (hyper answered 400 or 431) is not logged above
    // debug.
    if let Ok(Err(error)) = tokio::time::timeout(CONNECTION_LIFETIME, served).await {
        tracing::debug!(%error, "a client of the page was dropped");
    }
}

type Reply = Response<Full<Bytes>>;

/// Answers one request. Bodies are not read: no answer depends on one.
async fn answer(
    request: Request<Incoming>,
    site: Site,
    local: Option<IpAddr>,
) -> Result<Reply, Infallible> {
    let Site { service, hosts } = site;
    if !host(&request).is_some_and(|host| hosts.allow(host, local)) {
        let why = "this server is not known by the name in `Host`; --http-host NAME adds a name\n";
        return Ok(text(StatusCode::FORBIDDEN, why));
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD work here\n");
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(refusal);
    }
    Ok(match request.uri().path() {
        "/" => page(),
        "/metrics" => match service.status().await {
            Ok(status) => reply(prometheus_text::CONTENT_TYPE, exposition(&status)),
            Err(error) => text(StatusCode::SERVICE_UNAVAILABLE, &format!("{error}\n")),
        },
        "/status.json" => match service.status().await {
            Ok(status) => json(&Marked { schema: STATUS_SCHEMA, document: &*status }),
            Err(error) => text(StatusCode::SERVICE_UNAVAILABLE, &format!("{error}\n")),
        },
        "/history.json" => match after(request.uri().query().unwrap_or_default()) {
            Some(number) => {
                let history = service.history();
                json(&history.after(number).collect::<Vec<_>>())
            }
            None => {
                text(StatusCode::BAD_REQUEST, "after=NUMBER is all that can be asked for here\n")
            }
        },
        _ => text(StatusCode::NOT_FOUND, "there are /, /metrics, /status.json, /history.json\n"),
    })
}

/// The one `Host` of a request.
fn host(request: &Request<Incoming>) -> Option<&str> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    hosts.next().is_none().then_some(host)
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
