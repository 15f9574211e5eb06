//! TLS with real certificates: of the server, and of clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use reqwest::blocking::{Client, ClientBuilder};
use reqwest::{Certificate as Root, Identity};
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{self, aws_lc_rs};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, HandshakeKind, SignatureScheme, Stream,
};

use crate::server::{binary, command, launch};

/// For answers: more than any takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// An authority and what it signed, in a folder.
pub(crate) struct Authority {
    folder: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Authority { folder: tempfile::tempdir().unwrap(), issuer };
        authority.write("root.pem", &authority.issuer.pem());
        authority
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A certificate for `localhost`, and its key.
    fn sign(&self) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    pub(crate) fn client(&self) -> ClientBuilder {
        let root = Root::from_pem(self.issuer.pem().as_bytes()).unwrap();
        Client::builder().tls_certs_only([root]).no_proxy().timeout(PATIENCE)
    }
}

pub(crate) struct TlsServer {
    process: Child,
    pub(crate) port: u16,
    _folder: tempfile::TempDir,
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl TlsServer {
    pub(crate) fn start(authority: &Authority, options: &[&str]) -> TlsServer {
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
        assert!(server.health(&stranger).is_err(), "no authority vouches for the certificate");
        let plain = Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        assert!(plain.get(format!("http://localhost:{}/health", server.port)).send().is_err());
    }
}

/// Every command that speaks to a server, with the options that end it soon.
const COMMANDS: [&[&str]; 7] = [
    &["search", "x", "-i", "films"],
    &["settings", "get", "-i", "films"],
    &["settings", "add", "sortableAttributes", "year", "-i", "films"],
    &["snapshot"],
    &["import", "-i", "films", "films.ndjson"],
    &["evaluate", "questions.ndjson", "-i", "films"],
    &["mcp"],
];

#[test]
fn commands_trust_the_authority_that_they_are_given() {
    let authority = Authority::new();
    let server = TlsServer::start(&authority, &[]);
    authority.write("films.ndjson", "{\"id\": 1, \"title\": \"Alien\"}\n");
    authority.write("questions.ndjson", "{\"q\": \"alien\", \"relevant\": {\"1\": 1}}\n");
    authority.write("none.pem", "no certificate");
    let root = authority.path("root.pem");
    let url = format!("https://localhost:{}", server.port);
    let run = |command: &[&str], options: &[&str]| {
        let mut process = std::process::Command::new(binary());
        process.args(command).args(["--url", &url]).args(options).current_dir(authority.folder.path());
        let output = process.stdin(Stdio::null()).output().expect("the binary starts");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let mut others = COMMANDS.to_vec();
    others.retain(|command| command[0] != "import");
    // What it imports is there for the others.
    assert!(run(COMMANDS[4], &["--cacert", root.to_str().unwrap()]).0);
    for command in others.into_iter().filter(|command| *command != ["mcp"]) {
        let (succeeded, said) = run(command, &[]);
        assert!(!succeeded, "{command:?}");
        assert!(said.contains("with --cacert (SVC_CACERT)"), "{command:?}: {said}");
        for trusting in [&["--cacert", root.to_str().unwrap()][..], &["--insecure"]] {
            let (succeeded, said) = run(command, trusting);
            assert!(succeeded, "{command:?} {trusting:?}: {said}");
        }
    }
    for command in COMMANDS {
        for (file, reason) in [("absent.pem", "No such file"), ("none.pem", "it has no certificate")] {
            let (succeeded, said) = run(command, &["--cacert", file]);
            assert!(!succeeded, "{command:?}");
            assert!(said.contains(reason), "{command:?}: {said}");
            assert!(said.contains(file), "{command:?}: {said}");
        }
        let (_, said) = run(command, &["--insecure", "--cacert", "root.pem"]);
        assert!(said.contains("cannot be used with"), "{command:?}: {said}");
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
fn a_client_that_never_shakes_hands_stops_no_one() {
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

/// Believes every certificate, and remembers what came with it.
#[derive(Debug, Default)]
struct Curious {
    stapled: Mutex<Vec<u8>>,
}

impl ServerCertVerifier for Curious {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        stapled: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        *self.stapled.lock().unwrap() = stapled.to_vec();
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signed, &algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signed, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Asks once on a connection of its own, and answers how the handshake went.
fn handshake(server: &TlsServer, config: &Arc<ClientConfig>) -> HandshakeKind {
    let name = ServerName::try_from("localhost").unwrap();
    let mut connection = ClientConnection::new(Arc::clone(config), name).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut tls = Stream::new(&mut connection, &mut stream);
    tls.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    // Tickets come after the handshake.
    let mut answer = Vec::new();
    let _ = tls.read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    connection.handshake_kind().unwrap()
}

fn curious() -> (Arc<ClientConfig>, Arc<Curious>) {
    let verifier = Arc::new(Curious::default());
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().dangerous();
    let config = builder.with_custom_certificate_verifier(Arc::clone(&verifier) as _).with_no_client_auth();
    (Arc::new(config), verifier)
}

#[test]
fn sessions_are_resumed_where_the_options_say_so() {
    let authority = Authority::new();
    for (options, again) in [
        (&[][..], HandshakeKind::Full),
        (&["--ssl-resumption"], HandshakeKind::Resumed),
        (&["--ssl-tickets"], HandshakeKind::Resumed),
    ] {
        let server = TlsServer::start(&authority, options);
        let (config, _) = curious();
        assert_eq!(handshake(&server, &config), HandshakeKind::Full);
        assert_eq!(handshake(&server, &config), again, "{options:?}");
    }
}

#[test]
fn the_answer_of_the_ocsp_responder_is_stapled() {
    let authority = Authority::new();
    let ocsp = authority.write("answer.der", "what a responder said");
    let server = TlsServer::start(&authority, &["--ssl-ocsp-path", ocsp.to_str().unwrap()]);
    let (config, seen) = curious();
    handshake(&server, &config);
    assert_eq!(*seen.stapled.lock().unwrap(), b"what a responder said");
}
