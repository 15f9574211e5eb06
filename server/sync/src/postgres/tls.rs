//! TLS to the database. The parameters `sslmode` and `sslrootcert` have the meaning that libpq gives them.

use std::path::PathBuf;
use std::sync::Arc;

use lamina_base::text_file::without_mark;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{self, CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::frames::Stream;
use super::{Address, PostgresError};

const ASKS_FOR_TLS: u32 = 80_877_103;

/// Protection of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tls {
    /// Not at all.
    Off,
    /// Encrypted if the database can; its certificate is not verified.
    Preferred,
    /// Encrypted; its certificate is not verified.
    Unverified,
    /// Encrypted; its certificate is signed by one of these.
    Signed(Roots),
    /// Encrypted; its certificate is signed by one of these, and names the host.
    Verified(Roots),
}

/// The authorities that are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    /// Certificates of the system.
    System,
    /// Certificates of a file, as PEM.
    File(PathBuf),
}

impl Tls {
    /// Interprets the parameters `sslmode` and `sslrootcert` of an address.
    ///
    /// # Errors
    /// A sentence that names the parameter to change.
    pub(super) fn new(mode: Option<&str>, roots: Option<&str>) -> Result<Tls, String> {
        let roots = match roots {
            None => None,
            Some("") => return Err("`sslrootcert` is empty: expected a file of certificates, or `system`".to_owned()),
            Some("system") => Some(Roots::System),
            Some(file) => Some(Roots::File(PathBuf::from(file))),
        };
        match (mode, roots) {
            (Some("disable"), _) => Ok(Tls::Off),
            (Some(weak @ ("allow" | "prefer" | "require" | "verify-ca")), Some(Roots::System)) => Err(format!(
                "`sslmode={weak}` is too weak with `sslrootcert=system`: the system's authorities sign for anyone, so the name must be \
                 verified: set `sslmode=verify-full`"
            )),
            (None, None) | (Some("allow" | "prefer"), _) => Ok(Tls::Preferred),
            (Some("require"), None) => Ok(Tls::Unverified),
            (Some("require" | "verify-ca"), Some(roots)) => Ok(Tls::Signed(roots)),
            (Some("verify-ca"), None) => {
                Err("`sslmode=verify-ca` needs the authority's certificate: set its file with `sslrootcert`".to_owned())
            }
            (Some("verify-full"), None) => Ok(Tls::Verified(Roots::System)),
            (None | Some("verify-full"), Some(roots)) => Ok(Tls::Verified(roots)),
            (Some(other), _) => Err(format!(
                "`sslmode` cannot be `{other}`: expected `disable`, `allow`, `prefer`, `require`, `verify-ca` or `verify-full`"
            )),
        }
    }

    /// Returns the configuration of the connection; `None` for an unencrypted one.
    fn config(&self) -> Result<Option<Arc<ClientConfig>>, PostgresError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let failed = |error: &dyn std::fmt::Display| PostgresError::SignIn(format!("TLS cannot be used: {error}"));
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?;
        let chain = match self {
            Tls::Off => return Ok(None),
            Tls::Preferred | Tls::Unverified => None,
            Tls::Signed(roots) => {
                let roots = Arc::new(roots.read()?);
                let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
                Some(verifier.map_err(|error| failed(&error))?)
            }
            Tls::Verified(roots) => {
                return Ok(Some(Arc::new(builder.with_root_certificates(roots.read()?).with_no_client_auth())));
            }
        };
        let verifier = Arc::new(AnyName { chain, provider });
        Ok(Some(Arc::new(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())))
    }
}

impl Roots {
    fn read(&self) -> Result<RootCertStore, PostgresError> {
        let mut trusted = RootCertStore::empty();
        let failed = |file: String, reason: String| PostgresError::Certificates { file, reason };
        match self {
            Roots::System => {
                let found = rustls_native_certs::load_native_certs();
                let (usable, _) = trusted.add_parsable_certificates(found.certs);
                if usable == 0 {
                    let reason = "there are none: install `ca-certificates`, or name a file with `sslrootcert`";
                    return Err(failed("the system".to_owned(), reason.to_owned()));
                }
            }
            Roots::File(path) => {
                let failed = |reason: String| failed(format!("{}, the `sslrootcert`,", path.display()), reason);
                let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
                for certificate in CertificateDer::pem_slice_iter(without_mark(&bytes)) {
                    let certificate = certificate.map_err(|error| failed(error.to_string()))?;
                    trusted.add(certificate).map_err(|error| failed(error.to_string()))?;
                }
                if trusted.is_empty() {
                    return Err(failed("there are none".to_owned()));
                }
            }
        }
        Ok(trusted)
    }
}

/// Connects, with TLS as the address wants it.
///
/// # Errors
/// The variants of [`PostgresError`].
pub(super) async fn connect(address: &Address) -> Result<Box<dyn Stream>, PostgresError> {
    let config = address.tls.config()?;
    let mut stream = reach(address).await?;
    let Some(config) = config else { return Ok(Box::new(stream)) };
    let may_be_clear = address.tls == Tls::Preferred;
    stream.write_all(&[8u32.to_be_bytes(), ASKS_FOR_TLS.to_be_bytes()].concat()).await?;
    if stream.read_u8().await? != b'S' {
        return match may_be_clear {
            true => Ok(Box::new(stream)),
            false => Err(PostgresError::SignIn(
                "the database has no TLS: switch it on there, or set `sslmode=disable`".to_owned(),
            )),
        };
    }
    match protect(stream, address, config).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(_) if may_be_clear => Ok(Box::new(reach(address).await?)),
        Err(error) => Err(error),
    }
}

async fn reach(address: &Address) -> Result<TcpStream, PostgresError> {
    let unreachable = |source| PostgresError::Unreachable { place: address.place(), source };
    let stream = TcpStream::connect((address.host.as_str(), address.port)).await.map_err(unreachable)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn protect(
    stream: TcpStream,
    address: &Address,
    config: Arc<ClientConfig>,
) -> Result<TlsStream<TcpStream>, PostgresError> {
    let name = ServerName::try_from(address.host.clone())
        .map_err(|_| PostgresError::SignIn(format!("`{}` is not a name that TLS can verify", address.host)))?;
    TlsConnector::from(config).connect(name, stream).await.map_err(|error| {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            Some(Error::InvalidCertificate(reason)) => PostgresError::SignIn(refused(reason, address)),
            _ => PostgresError::Broken(error),
        }
    })
}

/// Explains the refusal of the database's certificate, with the parameter to change.
fn refused(reason: &CertificateError, address: &Address) -> String {
    let host = &address.host;
    match reason {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => format!(
            "the certificate of the database is not for `{host}`: use a name of the certificate in the address, or set \
             `sslmode=verify-ca` with `sslrootcert`"
        ),
        // A wrong signature is that of another authority with the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "no trusted authority signed the certificate of the database: set `sslrootcert` to the file \
             with the certificate of its authority"
                .to_owned()
        }
        other => format!("the certificate of the database is refused ({other}): renew it, or change `sslmode`"),
    }
}

/// Accepts a certificate for any name: of a chain, or any certificate.
#[derive(Debug)]
struct AnyName {
    chain: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        // The name is compared last: the chain was verified then.
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
