//! Certificates, from a directory laid out as other NBD servers and clients expect it.
//!
//! Keys may be RSA, ECDSA on P-256 or P-384, or Ed25519. The elliptic keys of some versions of
//! `certtool` have one byte too many and are refused; its RSA keys, which it makes unless told
//! otherwise, are fine.

use crate::secret_file::{SecretFileError, read_secret_file};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// The server's certificate, in PEM, perhaps followed by those between it and the authority's.
pub const CERTIFICATE_FILE: &str = "server-cert.pem";
/// The server's key, in PEM.
pub const KEY_FILE: &str = "server-key.pem";
/// Certificates of the authorities that vouch for clients, in PEM.
pub const AUTHORITY_FILE: &str = "ca-cert.pem";

/// Why TLS cannot be used. Each is one sentence.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file that is missing, unreadable or not PEM.
    #[error("cannot read {what} from {path}: {error}")]
    File {
        /// What should be in it.
        what: &'static str,
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        error: pem::Error,
    },
    /// A private key that others know, or that cannot be read.
    #[error("cannot use the private key {path}: {error}")]
    Key {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        error: SecretFileError,
    },
    /// A file without a certificate.
    #[error("there is no certificate in {path}")]
    Empty {
        /// Where it is.
        path: PathBuf,
    },
    /// Files that can be read and do not fit.
    #[error("the certificates in {directory} cannot be used: {error}")]
    Unfit {
        /// Where they are.
        directory: PathBuf,
        /// What is wrong.
        error: String,
    },
}

/// Reads what a server needs from [`CERTIFICATE_FILE`] and [`KEY_FILE`] of a directory. With
/// `verify_peer`, clients need a certificate that an authority in [`AUTHORITY_FILE`] has signed.
///
/// # Errors
///
/// If a file is missing or wrong, or others than its owner may read or write the key.
pub fn server_config(directory: &Path, verify_peer: bool) -> Result<Arc<ServerConfig>, TlsError> {
    let unfit = |error: &dyn std::fmt::Display| TlsError::Unfit {
        directory: directory.to_path_buf(),
        error: error.to_string(),
    };
    let chain = certificates(&directory.join(CERTIFICATE_FILE))?;
    let path = directory.join(KEY_FILE);
    let key =
        read_secret_file(&path).map_err(|error| TlsError::Key { path: path.clone(), error })?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| TlsError::File {
        what: "a private key",
        path,
        error,
    })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unfit(&error))?;
    let builder = if verify_peer {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&directory.join(AUTHORITY_FILE))? {
            roots.add(certificate).map_err(|error| unfit(&error))?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| unfit(&error))?;
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let config = builder.with_single_cert(chain, key).map_err(|error| unfit(&error))?;
    Ok(Arc::new(config))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |error| TlsError::File { what: "certificates", path: path.to_path_buf(), error };
    let found = CertificateDer::pem_file_iter(path).map_err(failed)?;
    let found = found.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    if found.is_empty() {
        return Err(TlsError::Empty { path: path.to_path_buf() });
    }
    Ok(found)
}
