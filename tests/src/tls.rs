//! TLS with real certificates: of the server, and of clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use reqwest::blocking::{Client, ClientBuilder};
use reqwest::{Certificate as Root, Identity};

use crate::server::{command, launch};

/// For answers: more than any takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// An authority and what it signed, in a folder.
struct Authority {
    folder: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Authority { folder: tempfile::tempdir().unwrap(), issuer };
        authority.write("root.pem", &authority.issuer.pem());
        authority
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A certificate for `localhost`, and its key.
    fn sign(&self) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    fn client(&self) -> ClientBuilder {
        let root = Root::from_pem(self.issuer.pem().as_bytes()).unwrap();
        Client::builder().tls_certs_only([root]).no_proxy().timeout(PATIENCE)
    }
}

struct TlsServer {
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl TlsServer {
    fn start(authority: &Authority, options: &[&str]) -> TlsServer {
        let (certificate, key) = authority.sign();
        let certificate = authority.write("server.pem", &certificate.pem());
        let key = authority.write("server.key", &key.serialize_pem());
        let folder = tempfile::tempdir().unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut all = vec!["--ssl-cert-path".to_owned(), text(&certificate), "--ssl-key-path".to_owned(), text(&key)];
        all.extend(options.iter().map(|option| option.to_string()));
        let (process, url) = launch(folder.path(), &all);
        let port = url.strip_prefix("https://127.0.0.1:").expect("TLS on this machine");
        TlsServer { process, port: port.parse().expect("a port"), _folder: folder }
    }

    fn health(&self, client: &Client) -> reqwest::Result<(u16, reqwest::Version)> {
        let answer = client.get(format!("https://localhost:{}/health", self.port)).send()?;
        Ok((answer.status().as_u16(), answer.version()))
    }
}

#[test]
fn a_server_with_a_certificate_speaks_only_https() {
    let authority = Authority::new();
    for options in [&[][..], &["--ssl-resumption", "--ssl-tickets"]] {
        let server = TlsServer::start(&authority, options);
        let client = authority.client().build().unwrap();
        let (status, version) = server.health(&client).unwrap();
        assert_eq!(status, 200);
        assert!(matches!(version, reqwest::Version::HTTP_2 | reqwest::Version::HTTP_11));
        let old = authority.client().http1_only().build().unwrap();
        assert_eq!(server.health(&old).unwrap(), (200, reqwest::Version::HTTP_11));
        let stranger = Client::builder().no_proxy().build().unwrap();
        assert!(server.health(&stranger).is_err(), "nobody vouches for the certificate");
        let plain = Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        assert!(plain.get(format!("http://localhost:{}/health", server.port)).send().is_err());
    }
}

#[test]
fn clients_show_certificates_when_asked() {
    let (authority, other) = (Authority::new(), Authority::new());
    let identity = |authority: &Authority| {
        let (certificate, key) = authority.sign();
        Identity::from_pem(format!("{}{}", certificate.pem(), key.serialize_pem()).as_bytes()).unwrap()
    };
    let roots = authority.path("root.pem");
    let roots = ["--ssl-auth-path", roots.to_str().unwrap()];
    let known = authority.client().identity(identity(&authority)).build().unwrap();
    let unknown = authority.client().identity(identity(&other)).build().unwrap();
    let none = authority.client().build().unwrap();

    let strict = TlsServer::start(&authority, &[&roots[..], &["--ssl-require-auth"]].concat());
    assert_eq!(strict.health(&known).unwrap().0, 200);
    assert!(strict.health(&none).is_err());
    assert!(strict.health(&unknown).is_err());

    let lenient = TlsServer::start(&authority, &roots);
    assert_eq!(lenient.health(&known).unwrap().0, 200);
    assert_eq!(lenient.health(&none).unwrap().0, 200);
    assert!(lenient.health(&unknown).is_err());
}

#[test]
fn a_client_that_never_shakes_hands_stops_nobody() {
    let authority = Authority::new();
    let server = TlsServer::start(&authority, &[]);
    let mut silent = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    silent.write_all(&[22]).unwrap();
    assert_eq!(server.health(&authority.client().build().unwrap()).unwrap().0, 200);
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(silent.read(&mut [0; 10]).unwrap(), 0, "the server hangs up");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let authority = Authority::new();
    let (certificate, key) = authority.sign();
    let certificate = authority.write("c.pem", &certificate.pem());
    let other_key = authority.write("k.pem", &authority.sign().1.serialize_pem());
    drop(key);
    let said = |cert: &Path, key: &Path| {
        let folder = tempfile::tempdir().unwrap();
        let options =
            ["--ssl-cert-path", cert.to_str().unwrap(), "--ssl-key-path", key.to_str().unwrap()].map(str::to_owned);
        let output = command(folder.path(), &options).stdin(Stdio::null()).output().expect("the binary starts");
        assert!(!output.status.success());
        assert!(!folder.path().join("data").exists(), "nothing is touched");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let absent = Path::new("/nonexistent/file.pem");
    assert!(said(absent, &other_key).contains("cannot open certificate file"));
    assert!(said(&certificate, absent).contains("cannot open private key file"));
    assert!(said(&other_key, &other_key).contains("cannot read certificate file"));
    assert!(said(&certificate, &certificate).contains("private key"));
    assert!(said(&certificate, &other_key).contains("bad certificates/private key"));
}
