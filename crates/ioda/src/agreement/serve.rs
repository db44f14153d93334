//! A plan on the real clock: served by this thread, loaded over NBD by another.

use crate::loading::{self, LoadOptions, Loaded};
use crate::progress;
use crate::serving;
use crate::talk::Talk;
use live::SocketAccess;
use live::clock::Spin;
use live::control::{self, AdminCommand, Answer, ArrayHandle, Message, Status};
use live::nbd::client::Client;
use live::nbd::uri::Uri;
use live::nbd::{Acceptor, Export, Listen, Tls};
use live::server::{Server, Watched};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;
use study::Failure;
use study::settings::Settings;
use workload::Workload;

/// What came of it.
#[derive(Debug)]
pub(super) struct Served {
    /// The array just before the load, by its own clock and counters.
    pub(super) before: Status,
    /// The array after the last answer.
    pub(super) after: Status,
    /// What the client saw.
    pub(super) loaded: Loaded,
}

/// A folder for the socket that only this user can enter, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let process = std::process::id();
        let mut builder = std::fs::DirBuilder::new();
        builder.mode(0o700);
        let mut number = 0;
        loop {
            let path = std::env::temp_dir().join(format!("ioda-live-{process}-{number}"));
            match builder.create(&path) {
                Ok(()) => return Ok(Self(path)),
                // What a process of the same number has left behind is none of ours.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 1_000 => {
                    number += 1;
                }
                Err(error) => {
                    return Err(Failure::internal(format!(
                        "cannot make the folder {}: {error}",
                        path.display()
                    )));
                }
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!("cannot remove {}: {error}", self.0.display());
        }
    }
}

/// Ends the array's thread when the load is over, however it ended.
struct Ending(ArrayHandle);

impl Drop for Ending {
    fn drop(&mut self) {
        let (sender, _) = channel();
        // An array that has ended on its own cannot be told to.
        let _ = self.0.send(Message::Admin(AdminCommand::Shutdown, sender));
    }
}

/// Serves the array of `settings` on this thread until `workload` has been sent to it.
///
/// # Errors
///
/// If the array, its socket or the load fails, or a request is answered with an error.
pub(super) fn serve(
    settings: &Settings,
    workload: Workload,
    seed: u64,
    requests: Option<u64>,
    title: &str,
    talk: Talk,
) -> Result<Served, Failure> {
    let opened = serving::open(settings)?;
    let (config, spin) = (&opened.built.config, opened.built.spin);
    let options = LoadOptions { seed, spin, keep_each: spin == Spin::Never };
    let export = Export {
        name: String::from("ioda"),
        description: title.to_owned(),
        size_bytes: config.layout.capacity_pages() * u64::from(config.page_bytes),
        preferred_block_bytes: config.page_bytes,
    };
    let folder = Folder::new()?;
    let socket = folder.0.join("socket");
    let (handle, inbox) =
        control::channel().map_err(|error| Failure::internal(format!("cannot serve: {error}")))?;
    // The clock of the array starts here.
    let setup = opened.into_setup(None, array::Memory::default(), Watched::default())?;
    let engine = Server::new(setup, inbox).map_err(Failure::internal)?;
    let listen = [Listen::Unix(socket.clone())];
    let acceptor = Acceptor::open(
        &listen,
        SocketAccess::Owner,
        vec![export],
        Tls::Off,
        handle.connection_sink(),
    );
    let acceptor = acceptor.map_err(Failure::internal)?;
    let done = AtomicU64::new(0);
    let (ended, loaded) = progress::counting(talk.progress, title, requests, &done, || {
        std::thread::scope(|scope| {
            let loader = std::thread::Builder::new().name("loader".into());
            let loader = loader.spawn_scoped(scope, || {
                let ending = Ending(handle);
                load(&ending.0, &socket, workload, options, &done)
            });
            match loader {
                Err(error) => {
                    (Ok(()), Err(Failure::internal(format!("cannot start a thread: {error}"))))
                }
                Ok(loader) => {
                    let ended = engine.run();
                    let loaded = loader.join();
                    (ended, loaded.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                }
            }
        })
    });
    acceptor.close();
    ended.map_err(Failure::internal)?;
    loaded
}

/// Loads the array and asks it how it went.
fn load(
    handle: &ArrayHandle,
    socket: &Path,
    workload: Workload,
    options: LoadOptions,
    done: &AtomicU64,
) -> Result<Served, Failure> {
    let uri = Uri::of(&Listen::Unix(socket.to_owned()), false);
    let mut client = Client::connect(&uri).map_err(Failure::internal)?;
    let before = status(handle)?;
    let loaded = loading::load(&mut client, workload, options, done)?;
    let after = status(handle)?;
    if loaded.errors.total() > 0 {
        return Err(Failure::internal(format!("of the requests, {}", loaded.errors)));
    }
    Ok(Served { before, after, loaded })
}

fn status(handle: &ArrayHandle) -> Result<Status, Failure> {
    match handle.execute(AdminCommand::Status).map_err(Failure::internal)? {
        Answer::Status(status) => Ok(*status),
        answer => Err(Failure::internal(format!("the array does not say how it is: {answer:?}"))),
    }
}
