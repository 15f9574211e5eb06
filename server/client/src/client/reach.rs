//! Why a server is not reached, and what to do about each reason.

use std::error::Error;
use std::io;

use tokio_rustls::rustls;

/// The causes of an error, itself first. Errors of the system hold theirs inside.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error: &&'a (dyn Error + 'static)| {
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        held.map(|held| held as &(dyn Error + 'static)).or_else(|| error.source())
    })
}

/// Returns what a user can do about a connection that was not made.
pub(super) fn advice(error: &(dyn Error + 'static)) -> &'static str {
    if let Some(tls) = causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
        return about_tls(tls);
    }
    let mut of_system = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    match of_system.any(|kind| kind == io::ErrorKind::ConnectionRefused) {
        true => "Start a server with `lamina serve`, or choose another one with --url",
        false => "Check the address of --url (SVC_URL), and that this machine can reach it",
    }
}

fn about_tls(error: &rustls::Error) -> &'static str {
    use rustls::CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext,
        UnknownIssuer,
    };
    use rustls::Error::{InvalidCertificate, InvalidMessage};
    match error {
        InvalidCertificate(UnknownIssuer) => {
            "No authority that this machine trusts has signed the server's certificate: name a file with that of its \
             authority with --cacert (SVC_CACERT), or add it to the system. For a try, --insecure accepts any"
        }
        InvalidCertificate(NotValidForName | NotValidForNameContext { .. }) => {
            "The server's certificate is for another name: use a name in --url that it has. For a try, --insecure accepts any"
        }
        InvalidCertificate(Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }) => {
            "The server's certificate is not valid today: renew it, or set the clock of this machine"
        }
        InvalidMessage(_) => "What listens there does not speak TLS: begin the address of --url with http://",
        _ => {
            "TLS with the server failed: check its certificate, and the address of --url. For a try, --insecure accepts any"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_tls(error: rustls::Error) -> &'static str {
        // As the layers of a client wrap it.
        advice(&io::Error::other(io::Error::new(io::ErrorKind::InvalidData, error)))
    }

    #[test]
    fn each_reason_has_its_advice() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert!(advice(&refused).contains("lamina serve"));
        assert!(advice(&io::Error::other(refused)).contains("lamina serve"));
        assert!(advice(&io::Error::from(io::ErrorKind::TimedOut)).contains("--url"));
        let certificate = |error| of_tls(rustls::Error::InvalidCertificate(error));
        assert!(certificate(rustls::CertificateError::UnknownIssuer).contains("--cacert"));
        assert!(certificate(rustls::CertificateError::NotValidForName).contains("another name"));
        assert!(certificate(rustls::CertificateError::Expired).contains("today"));
        let not_tls = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        assert!(of_tls(not_tls).contains("http://"));
        for said in [certificate(rustls::CertificateError::Revoked), of_tls(rustls::Error::DecryptError)] {
            assert!(!said.contains("lamina serve"), "{said}");
        }
    }
}
