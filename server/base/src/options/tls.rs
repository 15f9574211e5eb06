//! Certificates.

use std::path::PathBuf;

use clap::{ArgAction, Args};

/// TLS options of a server that has a certificate and a key.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// PEM chain, the server's own certificate first.
    pub certificates: PathBuf,
    /// PEM private key, not encrypted.
    pub key: PathBuf,
    /// PEM roots to check certificates of clients with.
    pub client_roots: Option<PathBuf>,
    /// True if clients without a certificate are refused.
    pub requires_client: bool,
    /// DER answer of an OCSP responder, to be stapled.
    pub ocsp: Option<PathBuf>,
    /// True if sessions can be resumed.
    pub resumption: bool,
    /// True if clients get tickets for session resumption.
    pub tickets: bool,
}

/// Options of TLS.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "TLS")]
pub struct Tls {
    /// Certificate chain of the server (PEM). With it and a key, the server speaks only HTTPS.
    #[arg(long, value_name = "FILE")]
    pub ssl_cert_path: Option<PathBuf>,

    /// Private key of the server (PEM, not encrypted).
    #[arg(long, value_name = "FILE")]
    pub ssl_key_path: Option<PathBuf>,

    /// Root certificates (PEM) to check client certificates with.
    #[arg(long, value_name = "FILE")]
    pub ssl_auth_path: Option<PathBuf>,

    /// Refuse clients without a certificate.
    #[arg(long, action = ArgAction::SetTrue)]
    pub ssl_require_auth: bool,

    /// Response of the OCSP responder (DER) to staple to the certificate.
    #[arg(long, value_name = "FILE")]
    pub ssl_ocsp_path: Option<PathBuf>,

    /// Keep TLS sessions of clients for resumption.
    #[arg(long, action = ArgAction::SetTrue)]
    pub ssl_resumption: bool,

    /// Give clients session tickets for resumption.
    #[arg(long, action = ArgAction::SetTrue)]
    pub ssl_tickets: bool,
}

impl Tls {
    /// Returns the options of TLS, or `None` without both a certificate and a key.
    pub fn resolved(&self) -> Option<TlsOptions> {
        let (certificates, key) = (self.ssl_cert_path.clone()?, self.ssl_key_path.clone()?);
        Some(TlsOptions {
            certificates,
            key,
            client_roots: self.ssl_auth_path.clone(),
            requires_client: self.ssl_require_auth,
            ocsp: self.ssl_ocsp_path.clone(),
            resumption: self.ssl_resumption,
            tickets: self.ssl_tickets,
        })
    }
}
