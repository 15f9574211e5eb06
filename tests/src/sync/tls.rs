//! The connection to the database: `sslmode` and `sslrootcert`. That to the server: `--cacert` and `--insecure`.

use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::*;
use crate::tls::{Authority, TlsServer};

/// A database whose certificate is for `name`, and the certificate of its authority.
fn certified(name: &str) -> (Database, String) {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    // Authorities of one name would be one authority with a wrong signature.
    params.distinguished_name.push(DnType::CommonName, format!("authority of {name}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    (Database::start(State { tls: Some(Arc::new(config)), ..State::default() }), issuer.pem())
}

/// Removes what is not there: signs in, and says so. With the certificates that the system is said to trust.
#[track_caller]
fn try_it(database: &Database, parameters: &str, system: &Path) -> (bool, String) {
    database.state().were_encrypted.clear();
    let mut command = command(database, parameters, UNREACHABLE);
    let output = command.arg("--remove").env("SSL_CERT_FILE", system).env_remove("SSL_CERT_DIR").output().unwrap();
    (output.status.success(), said(&output))
}

#[test]
fn the_connection_is_as_safe_as_its_parameters_say() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (here, root) = certified("127.0.0.1");
    let (elsewhere, elsewhere_root) = certified("db.internal");
    let bare = Database::start(State::default());
    let (ours, theirs) = (write("ours.pem", &root), write("theirs.pem", &elsewhere_root));
    let empty = write("empty.pem", "");
    let file = |path: &Path| format!("sslrootcert={}", path.display());
    let (our_file, their_file) = (file(&ours), file(&theirs));
    let succeeds = |database: &Database, parameters: &str, is_encrypted: bool, warns: bool| {
        let (is_success, said) = try_it(database, parameters, &ours);
        assert!(is_success, "{parameters}: {said}");
        assert_eq!(database.state().were_encrypted, [is_encrypted], "{parameters}");
        assert_eq!(said.contains("not verified: set `sslmode=verify-full`"), warns, "{parameters}: {said}");
    };
    for parameters in ["", "?sslmode=prefer", "?sslmode=allow&channel_binding=prefer"] {
        succeeds(&here, parameters, true, false);
        succeeds(&bare, parameters, false, false);
    }
    succeeds(&here, "?sslmode=disable", false, false);
    succeeds(&elsewhere, "?sslmode=require", true, true);
    succeeds(&elsewhere, &format!("?sslmode=require&{their_file}"), true, false);
    succeeds(&elsewhere, &format!("?sslmode=verify-ca&{their_file}"), true, false);
    for parameters in ["?sslmode=verify-full", "?sslrootcert=system", &format!("?{our_file}")] {
        succeeds(&here, parameters, true, false);
    }
    let fails = |database: &Database, parameters: &str, system: &Path, reason: &str| {
        let (is_success, said) = try_it(database, parameters, system);
        assert!(!is_success, "{parameters}: {said}");
        assert!(said.contains(reason), "{parameters}: {said}");
        assert!(!said.contains("se cret"), "{said}");
        assert!(!said.contains("se%20cret"), "{said}");
        assert!(database.state().were_encrypted.is_empty(), "no password is sent: {parameters}");
    };
    fails(&bare, "?sslmode=require", &ours, "set `sslmode=disable`");
    fails(&here, "?sslmode=verify-full", &theirs, "set `sslrootcert` to the file");
    fails(&here, &format!("?sslmode=require&{their_file}"), &ours, "set `sslrootcert` to the file");
    fails(&elsewhere, &format!("?sslmode=verify-full&{their_file}"), &ours, "not for `127.0.0.1`");
    fails(&here, "?sslmode=verify-full", &empty, "name a file with `sslrootcert`");
    fails(&here, &format!("?{}", file(&empty)), &ours, "the `sslrootcert`, cannot be used");
    fails(&here, "?sslrootcert=/no/such/file", &ours, "/no/such/file, the `sslrootcert`, cannot be used");
    fails(&here, "?sslmode=often", &ours, "`sslmode` cannot be `often`");
}

/// Without `require_auth`, a password is sent to a database whose certificate is verified, and to no other.
#[test]
fn no_password_is_sent_where_others_could_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let ours = folder.path().join("ours.pem");
    let (here, root) = certified("127.0.0.1");
    let (elsewhere, _) = certified("db.internal");
    std::fs::write(&ours, root).unwrap();
    let bare = Database::start(State::default());
    let with = |database: &Database, parameters: &str| {
        database.state().were_encrypted.clear();
        let source = format!("postgres://me:se%20cret@127.0.0.1:{}/shop{parameters}", database.port);
        let mut command = Command::new(binary());
        command.args(["sync", &source, "--table", "films", "--index", "films", "--url", UNREACHABLE, "--remove"]);
        let output = command.env("SSL_CERT_FILE", &ours).env_remove("SSL_CERT_DIR").output().unwrap();
        (output.status.success(), database.state().were_encrypted.clone(), said(&output))
    };
    let (is_success, encrypted, said) = with(&here, "?sslmode=verify-full");
    assert!(is_success, "{said}");
    assert_eq!(encrypted, [true], "{said}");
    for (database, parameters) in
        [(&bare, ""), (&bare, "?sslmode=disable"), (&here, ""), (&elsewhere, "?sslmode=require")]
    {
        let (is_success, encrypted, said) = with(database, parameters);
        assert!(!is_success, "{parameters}: {said}");
        assert!(said.contains("`require_auth=password`"), "{parameters}: {said}");
        assert!(encrypted.is_empty(), "no password is sent: {parameters}");
    }
}

/// The server's certificate is for `localhost`, of an authority that no machine knows.
#[test]
fn the_server_is_trusted_as_the_options_say() {
    let authority = Authority::new();
    let server = TlsServer::start(&authority, &[]);
    let named = format!("https://localhost:{}", server.port);
    let by_number = format!("https://127.0.0.1:{}", server.port);
    let plain = Server::start();
    let to_plain = plain.url.replacen("http://", "https://", 1);
    let root = authority.path("root.pem");
    let root = root.to_str().expect("text");
    let stats = |path: &str| -> Value {
        let client = authority.client().build().expect("a client");
        client.get(format!("{named}{path}")).send().expect("an answer").json().expect("JSON")
    };

    let unsigned = authority.write("none.pem", "no certificate");
    let unsigned = unsigned.to_str().expect("text");
    let refusals: [(&str, &[&str], &str); 7] = [
        (&named, &[], "with --cacert (SVC_CACERT)"),
        (&named, &["--cacert", "/no/such/file.pem"], "/no/such/file.pem: No such file"),
        (&named, &["--cacert", unsigned], "it has no certificate"),
        (&named, &["--insecure", "--cacert", root], "cannot be used with"),
        (&by_number, &["--cacert", root], "use a name in --url that it has"),
        (&to_plain, &["--cacert", root], "begin the address of --url with http://"),
        (&named.replacen("https", "http", 1), &["--cacert", root], "https://"),
    ];
    for (url, options, reason) in refusals {
        let database = Database::start(State::default());
        let output = sync(&database, url, &[&["--once"], options].concat());
        assert!(!output.status.success(), "{url} {options:?}");
        assert!(said(&output).contains(reason), "{url} {options:?}: {}", said(&output));
        assert!(!database.state().has_slot, "nothing is made in the database: {url} {options:?}");
    }
    assert_eq!(stats("/stats")["indexes"], json!({}), "nothing was sent");

    for options in [&["--cacert", root][..], &["--insecure"]] {
        let database = Database::start(State::default());
        let output = sync(&database, &named, &[&["--once"], options].concat());
        assert!(output.status.success(), "{options:?}: {}", said(&output));
        assert!(said(&output).contains("loaded 3 rows"), "{options:?}: {}", said(&output));
        assert_eq!(stats("/indexes/films/stats")["numberOfDocuments"], 3, "{options:?}");
        let deleted =
            authority.client().build().expect("a client").delete(format!("{named}/indexes/films?wait=searchable"));
        assert!(deleted.send().expect("an answer").status().is_success(), "{options:?}");
    }
}
