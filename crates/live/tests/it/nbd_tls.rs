//! TLS at the NBD front end: who is let in, with which certificates, and what a client can do.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::nbd_memory::Server;
use live::nbd::Tls;
use live::nbd::client::{Client, ClientError};
use live::nbd::tls::{AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE, TlsError, server_config};
use live::nbd::uri::Uri;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use testing::tools;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Puts a certificate of an authority and its key into a directory, and the authority's own.
fn sign(authority: &Authority, directory: &Path, certificate: &str, key: &str) {
    let params = CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into()]).unwrap();
    let pair = KeyPair::generate().unwrap();
    let signed = params.signed_by(&pair, authority).unwrap();
    fs::write(directory.join(certificate), signed.pem()).unwrap();
    fs::write(directory.join(key), pair.serialize_pem()).unwrap();
    fs::set_permissions(directory.join(key), Permissions::from_mode(0o600)).unwrap();
    fs::write(directory.join(AUTHORITY_FILE), authority.pem()).unwrap();
}

/// Directories for a server, for a client, and for a client that a stranger has vouched for.
struct Certificates {
    server: tempfile::TempDir,
    client: tempfile::TempDir,
    stranger: tempfile::TempDir,
    anonymous: tempfile::TempDir,
}

fn certificates() -> Certificates {
    let made = [(); 4].map(|()| tempfile::tempdir().unwrap());
    let [server, client, stranger, anonymous] = made;
    let ours = authority();
    sign(&ours, server.path(), CERTIFICATE_FILE, KEY_FILE);
    sign(&ours, client.path(), "client-cert.pem", "client-key.pem");
    sign(&authority(), stranger.path(), "client-cert.pem", "client-key.pem");
    // It trusts the server and is vouched for by somebody whom the server does not know.
    fs::write(stranger.path().join(AUTHORITY_FILE), ours.pem()).unwrap();
    fs::write(anonymous.path().join(AUTHORITY_FILE), ours.pem()).unwrap();
    Certificates { server, client, stranger, anonymous }
}

/// Asks for the size; `None`, said aloud, if nbdinfo is not installed.
fn size(uri: &Uri, certificates: &Path) -> Option<Output> {
    let uri = Uri { tls: true, ..uri.clone() }.to_string();
    let separator = if uri.contains('?') { '&' } else { '?' };
    let uri = format!("{uri}{separator}tls-certificates={}", certificates.display());
    let output = Command::new("timeout").args(["60", "nbdinfo", "--size", &uri]).output().unwrap();
    if output.status.code() == Some(127) {
        tools::skip("TLS", "nbdinfo is not installed");
        return None;
    }
    Some(output)
}

fn succeeded(output: &Output) -> bool {
    if output.status.success() {
        assert_eq!(output.stdout, b"1048576\n");
    }
    output.status.success()
}

#[test]
fn a_key_that_others_may_read_is_refused_and_nothing_else_of_the_directory() {
    let certificates = certificates();
    let key = certificates.server.path().join(KEY_FILE);
    fs::set_permissions(
        certificates.server.path().join(CERTIFICATE_FILE),
        Permissions::from_mode(0o644),
    )
    .unwrap();
    assert!(server_config(certificates.server.path(), true).is_ok());
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let said = server_config(certificates.server.path(), true).unwrap_err().to_string();
    for part in [&key.display().to_string(), "mode 644", "chmod 600"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains('\n'), "{said}");
}

#[test]
fn a_client_that_trusts_the_server_gets_in() {
    let certificates = certificates();
    let config = server_config(certificates.server.path(), false).unwrap();
    for tls in [Tls::Allowed(config.clone()), Tls::Required(config)] {
        let required = matches!(tls, Tls::Required(_));
        let server = Server::start(1 << 20, tls);
        for uri in [server.tcp(), server.unix()] {
            let Some(output) = size(&uri, certificates.anonymous.path()) else { return };
            assert!(succeeded(&output), "{}", String::from_utf8_lossy(&output.stderr));
        }
        // The client of this crate does not speak TLS.
        match Client::connect(&server.tcp()) {
            Ok(client) => assert!(!required && client.size_bytes() == 1 << 20),
            Err(error) => {
                assert!(required && matches!(error, ClientError::Refused { .. }), "{error}");
                assert!(error.to_string().contains("requires TLS"), "{error}");
            }
        }
    }
}

#[test]
fn only_clients_that_the_authority_knows_get_in() {
    let certificates = certificates();
    let config = server_config(certificates.server.path(), true).unwrap();
    let server = Server::start(1 << 20, Tls::Required(config));
    let Some(known) = size(&server.tcp(), certificates.client.path()) else { return };
    assert!(succeeded(&known), "{}", String::from_utf8_lossy(&known.stderr));
    assert!(!succeeded(&size(&server.tcp(), certificates.stranger.path()).unwrap()));
    assert!(!succeeded(&size(&server.tcp(), certificates.anonymous.path()).unwrap()));
    let again = size(&server.tcp(), certificates.client.path()).unwrap();
    assert!(succeeded(&again), "a refused client did harm to another");
}

#[test]
fn data_go_through_the_tunnel_unchanged() {
    let certificates = certificates();
    let config = server_config(certificates.server.path(), false).unwrap();
    let server = Server::start(8 << 20, Tls::Required(config));
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    let mut rng = units::Rng::stream(11, "tunnel");
    let bytes: Vec<u8> = (0..8 << 20).map(|_| rng.next_u64() as u8).collect();
    fs::write(&from, &bytes).unwrap();
    let uri = Uri { tls: true, ..server.tcp() };
    let uri = format!("{uri}?tls-certificates={}", certificates.anonymous.path().display());
    for [from, to] in [[from.to_str().unwrap(), &uri], [&uri, to.to_str().unwrap()]] {
        let output = Command::new("timeout").args(["120", "nbdcopy", from, to]).output().unwrap();
        if output.status.code() == Some(127) {
            tools::skip("TLS", "nbdcopy is not installed");
            return;
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(fs::read(&to).unwrap() == bytes, "the copy differs");
    assert!(server.stop() == bytes, "the export differs");
}

#[test]
fn certificates_of_certtool_are_understood() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_string();
    fs::write(at("ca.info"), "cn = test\nca\ncert_signing_key\n").unwrap();
    fs::write(at("server.info"), "cn = localhost\ndns_name = localhost\ntls_www_server\n").unwrap();
    let certtool = |arguments: &[&str]| {
        let output = Command::new("timeout").arg("60").arg("certtool").args(arguments).output();
        let output = output.unwrap();
        if output.status.code() == Some(127) {
            tools::skip("TLS", "certtool is not installed");
            return false;
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        true
    };
    let key = |name: &str| certtool(&["--generate-privkey", "--bits=2048", "--outfile", &at(name)]);
    if !key("ca-key.pem") || !key(KEY_FILE) {
        return;
    }
    let (ca_key, ca) = (at("ca-key.pem"), at(AUTHORITY_FILE));
    let template = ["--template", &at("ca.info"), "--outfile", &ca];
    certtool(&[&["--generate-self-signed", "--load-privkey", &ca_key][..], &template].concat());
    let signer = ["--load-ca-certificate", &ca, "--load-ca-privkey", &ca_key];
    let template = ["--template", &at("server.info"), "--outfile", &at(CERTIFICATE_FILE)];
    let subject = ["--generate-certificate", "--load-privkey", &at(KEY_FILE)];
    certtool(&[&subject[..], &signer, &template].concat());
    let server =
        Server::start(1 << 20, Tls::Required(server_config(directory.path(), true).unwrap()));
    drop(server);
    let server =
        Server::start(1 << 20, Tls::Required(server_config(directory.path(), false).unwrap()));
    let uri = Uri {
        endpoint: live::nbd::uri::Endpoint::Tcp {
            host: "localhost".into(),
            port: match server.tcp().endpoint {
                live::nbd::uri::Endpoint::Tcp { port, .. } => port,
                live::nbd::uri::Endpoint::Unix(_) => unreachable!("asked for a port"),
            },
        },
        ..server.tcp()
    };
    let Some(output) = size(&uri, directory.path()) else { return };
    assert!(succeeded(&output), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_is_wrong_with_certificates_is_said() {
    let certificates = certificates();
    let directory = certificates.server.path();
    fs::remove_file(directory.join(AUTHORITY_FILE)).unwrap();
    assert!(server_config(directory, false).is_ok());
    let missing = server_config(directory, true).unwrap_err();
    assert!(missing.to_string().contains(AUTHORITY_FILE), "{missing}");

    fs::write(directory.join(AUTHORITY_FILE), "nothing here").unwrap();
    let empty = server_config(directory, true).unwrap_err();
    assert!(matches!(empty, TlsError::Empty { .. }), "{empty}");

    fs::write(directory.join(KEY_FILE), KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let unfit = server_config(directory, false).unwrap_err();
    assert!(matches!(unfit, TlsError::Unfit { .. }), "{unfit}");
    assert!(!unfit.to_string().contains('\n'), "{unfit}");
}
