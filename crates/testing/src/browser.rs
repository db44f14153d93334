//! A Chromium that a test drives: sizes, colour schemes, keys, and what a page's own scripts say.
//!
//! One browser opens page after page, which takes a tenth of the time of a browser each. It is
//! spoken to over a pipe, in the messages of the DevTools protocol: JSON, each ended by a zero
//! byte.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A browser that hangs must not hang the tests.
const LONGEST: Duration = Duration::from_secs(180);

/// Notes where text is written on canvases; runs before the scripts of each page.
const RECORD_TEXT: &str = include_str!("../assets/record_text.js");
/// Says what overlaps or is cut off.
const LAYOUT: &str = include_str!("../assets/layout.js");
/// Says what somebody who hears a page, uses keys or sees little contrast would miss.
const ACCESS: &str = include_str!("../assets/access.js");
/// Waits until a page says that it is ready, or that something went wrong.
const READY: &str = "new Promise((done) => { const look = () => { \
    const said = document.documentElement?.dataset ?? {}; \
    if (said.ready || said.error) done(said.error ?? ''); else setTimeout(look, 5); }; look(); })";

/// Widths at which pages are looked at: a telephone, a tablet, a laptop and a large screen.
pub const WIDTHS: [u32; 4] = [420, 768, 1280, 1920];

/// Browsers that nobody has at the moment, and how many are had.
static LENT: Mutex<(Vec<Browser>, usize)> = Mutex::new((Vec::new(), 0));

/// A browser that goes on to the next test: to start one takes longer than to open a page. The last
/// test that has one ends them all.
#[derive(Debug)]
pub struct Lent(Option<Browser>);

impl Lent {
    /// A browser, started if none is idle; none if there is no program.
    fn new() -> Option<Self> {
        let idle = {
            let mut lent = LENT.lock().unwrap_or_else(PoisonError::into_inner);
            lent.1 += 1;
            lent.0.pop()
        };
        // Given back whatever happens from here on.
        let mut lent = Self(idle);
        if lent.0.is_none() {
            lent.0 = Browser::start();
        }
        let browser = lent.0.as_mut()?;
        let _ = browser.alive.send(());
        Some(lent)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut lent = LENT.lock().unwrap_or_else(PoisonError::into_inner);
        lent.1 -= 1;
        // After a failure nobody knows in which state it is.
        lent.0.extend(self.0.take().filter(|_| !std::thread::panicking()));
        if lent.1 == 0 {
            lent.0.clear();
        }
    }
}

impl Deref for Lent {
    type Target = Browser;

    #[expect(clippy::expect_used, reason = "it is there until it is dropped")]
    fn deref(&self) -> &Browser {
        self.0.as_ref().expect("a browser")
    }
}

impl DerefMut for Lent {
    #[expect(clippy::expect_used, reason = "it is there until it is dropped")]
    fn deref_mut(&mut self) -> &mut Browser {
        self.0.as_mut().expect("a browser")
    }
}

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    number: u64,
    /// Says that it is alive. Dropped with the browser, which ends the thread that would end a
    /// browser that hangs.
    alive: Sender<()>,
    _folder: tempfile::TempDir,
}

impl Browser {
    /// Starts the browser; none if there is none.
    ///
    /// # Panics
    ///
    /// If it does not start, or if there is none and `IODA_REQUIRE_TOOLS=1`.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a test without its browser fails")]
    pub fn start() -> Option<Self> {
        let program = crate::tools::chromium()?;
        let folder = tempfile::tempdir().expect("no folder");
        // The pipe is at descriptors 3 and 4 of the browser; the shell puts it there.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--no-proxy-server", "--disable-dev-shm-usage"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", folder.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser does not start");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut browser =
            Self { to, from, session: None, number: 0, alive: watch(child), _folder: folder };
        let targets = browser.call("Target.getTargets", &json!({}));
        let page = targets["targetInfos"]
            .as_array()
            .and_then(|all| all.iter().find(|target| target["type"] == "page"))
            .expect("a page");
        let attach = json!({ "targetId": page["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        browser.call("Page.enable", &json!({}));
        browser.before_scripts(RECORD_TEXT);
        Some(browser)
    }

    /// A browser that goes on to the next test; none if there is none. Whoever adds scripts to all
    /// pages starts one of their own.
    ///
    /// # Panics
    ///
    /// As [`Self::start`].
    #[must_use]
    pub fn lend() -> Option<Lent> {
        Lent::new()
    }

    /// Runs `script` before those of every page that is opened from now on.
    pub fn before_scripts(&mut self, script: &str) {
        self.call("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": script }));
    }

    /// Makes the window so wide, and the colours those that somebody prefers.
    pub fn look(&mut self, width: u32, is_dark: bool) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Opens an address and waits until the page says that it is ready.
    ///
    /// # Panics
    ///
    /// If the page says that something went wrong.
    pub fn open(&mut self, address: &str) {
        // The same address with another fragment would not be loaded again.
        self.call("Page.navigate", &json!({ "url": "about:blank" }));
        self.call("Page.navigate", &json!({ "url": address }));
        let error = self.ask(READY);
        assert_eq!(error, "", "{address}");
    }

    /// The document as its scripts have left it, `after` so long.
    pub fn document(&mut self, after: Duration) -> String {
        let millis = after.as_millis();
        let document = format!(
            "new Promise((done) => setTimeout(() => done(document.documentElement.outerHTML), {millis}))"
        );
        self.ask(&document).as_str().unwrap_or_default().to_owned()
    }

    /// What an expression in the page gives.
    ///
    /// # Panics
    ///
    /// If it throws.
    pub fn ask(&mut self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Presses a key, by its name in JavaScript.
    pub fn press(&mut self, key: &str) {
        for kind in ["rawKeyDown", "keyUp"] {
            let code = if key == "Tab" { 9 } else { 0 };
            let event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// What overlaps, overflows or is cut off in the page, one sentence each.
    pub fn layout_faults(&mut self) -> Vec<String> {
        sentences(&self.ask(LAYOUT))
    }

    /// What somebody who hears the page, uses keys or sees little contrast would miss.
    pub fn access_faults(&mut self) -> Vec<String> {
        sentences(&self.ask(ACCESS))
    }

    /// A picture of the whole page, as base64 of a PNG.
    ///
    /// # Panics
    ///
    /// If there is no picture.
    #[expect(clippy::expect_used, reason = "a test without its picture fails")]
    fn picture(&mut self) -> String {
        let shot =
            json!({ "format": "png", "captureBeyondViewport": true, "optimizeForSpeed": true });
        let shot = self.call("Page.captureScreenshot", &shot);
        shot["data"].as_str().expect("a picture").to_owned()
    }

    /// Keeps a picture as `name` in the folder that `IODA_PAGE_PICTURES` names, to be looked at.
    ///
    /// # Panics
    ///
    /// If the folder cannot be written.
    #[expect(clippy::expect_used, reason = "a test that cannot write its pictures fails")]
    pub fn keep_picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("IODA_PAGE_PICTURES") else { return };
        let picture = decode(&self.picture());
        std::fs::create_dir_all(&folder).expect("no folder for pictures");
        std::fs::write(Path::new(&folder).join(name), picture).expect("no picture written");
    }

    #[expect(clippy::expect_used, reason = "a test whose browser is gone fails")]
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser is gone");
        loop {
            let mut reply = Vec::new();
            self.from.read_until(0, &mut reply).expect("the browser is gone");
            assert_eq!(reply.pop(), Some(0), "the browser is gone");
            let reply: Value = serde_json::from_slice(&reply).expect("no JSON");
            if reply["id"] == self.number {
                assert!(reply["error"].is_null(), "{method}: {reply}");
                return reply["result"].clone();
            }
        }
    }
}

fn sentences(found: &Value) -> Vec<String> {
    found.as_array().into_iter().flatten().map(ToString::to_string).collect()
}

/// Ends a browser when the sender is dropped, or when it has taken too long.
fn watch(mut child: Child) -> Sender<()> {
    let (alive, gone) = channel();
    std::thread::spawn(move || {
        let mut waited = Ok(());
        while waited.is_ok() {
            waited = gone.recv_timeout(LONGEST);
        }
        // Whoever reads from it learns that it is gone.
        let _ = child.kill();
        let _ = child.wait();
        waited == Err(RecvTimeoutError::Timeout)
    });
    alive
}

/// The bytes of a base64 text.
fn decode(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for six in text.bytes().filter_map(value) {
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn base64_is_read() {
        assert_eq!(decode("aW9kYQ=="), b"ioda");
        assert_eq!(decode("/+8="), [0xff, 0xef]);
    }
}
