//! TLS from the `--ssl-*` options.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};

/// Sessions that `--ssl-resumption` remembers.
const SESSIONS_KEPT: usize = 256;

use lamina_base::options::TlsOptions;
use lamina_base::text_file::without_mark;

/// Reason why TLS cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The file is not there, or not readable.
    #[error("cannot open {what} file {path:?}: {source}")]
    Open {
        /// Content of the file.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// There is no certificate in it, or a broken one.
    #[error("cannot read certificate file {path:?}: {reason}")]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Description of the fault for the operator.
        reason: String,
    },
    /// There is no key in it, or one of another form.
    #[error(
        "{path:?}: file contains invalid pkcs8 private key (encrypted keys not supported), and no RSA or SEC1 key \
         either: {reason}"
    )]
    Key {
        /// The file.
        path: PathBuf,
        /// Description of the fault for the operator.
        reason: String,
    },
    /// Key and certificate do not belong together, or are of a kind that is not supported.
    #[error("bad certificates/private key: {0}")]
    Pair(rustls::Error),
    /// The roots cannot be used.
    #[error("cannot check certificates of clients with {path:?}: {reason}")]
    Roots {
        /// The file.
        path: PathBuf,
        /// Description of the fault for the operator.
        reason: String,
    },
    /// No random numbers, no common cipher.
    #[error("cannot set up TLS: {0}")]
    Setup(rustls::Error),
}

/// Reads the files of the options.
///
/// # Errors
/// The first file that cannot be used.
pub(crate) fn acceptor(options: &TlsOptions) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Setup)?;
    let builder = match &options.client_roots {
        Some(path) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(path)?), provider);
            let verifier = if options.requires_client { verifier } else { verifier.allow_unauthenticated() };
            let verifier =
                verifier.build().map_err(|error| TlsError::Roots { path: path.clone(), reason: error.to_string() })?;
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    let ocsp = options.ocsp.as_deref().map(|path| read("ocsp", path)).transpose()?.unwrap_or_default();
    let chain = certificates(&options.certificates)?;
    let key = private_key(&options.key)?;
    let mut config = builder.with_single_cert_with_ocsp(chain, key, ocsp).map_err(TlsError::Pair)?;
    remember_sessions(&mut config, options)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn remember_sessions(config: &mut ServerConfig, options: &TlsOptions) -> Result<(), TlsError> {
    config.session_storage = if options.resumption {
        ServerSessionMemoryCache::new(SESSIONS_KEPT)
    } else {
        Arc::new(NoServerSessionStorage {})
    };
    if options.tickets {
        config.ticketer = aws_lc_rs::Ticketer::new().map_err(TlsError::Setup)?;
    }
    if !options.resumption && !options.tickets {
        // A ticket that nothing stands behind would only make the client try.
        config.send_tls13_tickets = 0;
    }
    Ok(())
}

fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let bytes = fs::read(path).map_err(|source| TlsError::Open { what, path: path.to_owned(), source })?;
    Ok(without_mark(&bytes).to_vec())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read("certificate", path)?;
    let refuse = |reason: String| TlsError::Certificate { path: path.to_owned(), reason };
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&text).collect::<Result<_, pem::Error>>().map_err(|e| refuse(e.to_string()))?;
    if chain.is_empty() { Err(refuse("it holds no certificate".to_owned())) } else { Ok(chain) }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read("private key", path)?;
    PrivateKeyDer::from_pem_slice(&text)
        .map_err(|error| TlsError::Key { path: path.to_owned(), reason: error.to_string() })
}

fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| TlsError::Roots { path: path.to_owned(), reason: error.to_string() })?;
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(options: TlsOptions) -> String {
        acceptor(&options).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn files_are_named_in_errors() {
        let folder = tempfile::tempdir().unwrap();
        let absent = folder.path().join("absent.pem");
        let text = folder.path().join("text.pem");
        fs::write(&text, "hello").unwrap();
        let of = |certificates: &Path, key: &Path| TlsOptions {
            certificates: certificates.to_owned(),
            key: key.to_owned(),
            ..TlsOptions::default()
        };
        assert!(error(of(&absent, &absent)).starts_with("cannot open certificate file"));
        assert!(error(of(&text, &absent)).starts_with("cannot read certificate file"));
        let with_ocsp = TlsOptions { ocsp: Some(absent.clone()), ..of(&text, &text) };
        assert!(error(with_ocsp).starts_with("cannot open ocsp file"));
        assert!(private_key(&absent).unwrap_err().to_string().starts_with("cannot open private key file"));
        assert!(private_key(&text).unwrap_err().to_string().contains("file contains invalid pkcs8 private key"));
    }
}
