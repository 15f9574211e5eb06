//! Signing in: what the database may ask for, and what it has to prove.

use bytes::Buf;

use super::scram::{MECHANISM, Proof, Scram};
use super::tls::Tls;
use super::{Address, Connection, PostgresError};

/// The ways to sign in that are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Methods {
    /// The database asks for nothing.
    none: bool,
    /// True if the server gets the password itself.
    password: bool,
    /// Both sides prove that they know the password.
    scram: bool,
}

/// State of the sign-in.
enum Stage {
    Begun,
    PasswordSent,
    Challenged(Scram),
    Answered(Proof),
    Proven,
}

impl Methods {
    /// `text`: the parameter `require_auth` of the address. Without it, a password is proven and never sent, but over a connection
    /// whose certificate is verified; and a database that does not ask for a password that was given is not the one that was meant.
    ///
    /// # Errors
    /// A sentence that names the parameter.
    pub(super) fn new(text: Option<&str>, has_password: bool, tls: &Tls) -> Result<Methods, String> {
        let Some(text) = text else {
            let is_verified = matches!(tls, Tls::Signed(_) | Tls::Verified(_));
            return Ok(Methods { none: !has_password, password: is_verified, scram: true });
        };
        let mut methods = Methods { none: false, password: false, scram: false };
        for method in text.split(',') {
            match method.trim() {
                "none" => methods.none = true,
                "password" => methods.password = true,
                MECHANISM_NAME => methods.scram = true,
                other => {
                    return Err(format!(
                        "`require_auth` cannot be `{other}`: expected `{MECHANISM_NAME}`, `password` or `none`, or several with commas"
                    ));
                }
            }
        }
        Ok(methods)
    }
}

/// The mechanism in parameters and in `pg_hba.conf`.
const MECHANISM_NAME: &str = "scram-sha-256";

const UNKNOWN: &str = "the database asks for a way to sign in that is not supported: use scram-sha-256 in pg_hba.conf, and set the \
                       password anew with password_encryption = 'scram-sha-256'";
const CLEAR: &str = "the database asks for the password in clear text, over a connection on which others could read it: use scram-sha-256 \
                     in pg_hba.conf, or `sslmode=verify-full`; `require_auth=password` sends it all the same";
const UNASKED: &str = "the database did not ask for the password, so it may not be the one you mean: leave the password out of the address, \
                       or set `require_auth=none`";
const UNPROVEN: &str =
    "the database cannot be trusted: it accepted the sign-in without proving that it knows the password";

fn refused(reason: &str) -> PostgresError {
    PostgresError::SignIn(reason.to_owned())
}

impl Connection {
    /// Signs in, in the ways that the address allows.
    ///
    /// # Errors
    /// When the database asks for another way, or leaves out its part of the proof.
    pub(super) async fn sign_in(&mut self, address: &Address) -> Result<(), PostgresError> {
        let mut stage = Stage::Begun;
        loop {
            let mut frame = self.received().await?;
            if frame.tag != b'R' {
                return Err(super::connection::unexpected(&frame));
            }
            stage = match (frame.body.try_get_u32()?, stage) {
                (0, stage) => return accepted(address, &stage),
                (3, Stage::Begun) if !address.methods.password => return Err(refused(CLEAR)),
                (3, Stage::Begun) => {
                    self.wire.send(Some(b'p'), &[password(address)?.as_bytes(), b"\0"].concat()).await?;
                    Stage::PasswordSent
                }
                (10, Stage::Begun) if address.methods.scram && offers(&frame.body) => {
                    let scram = Scram::new(password(address)?)?;
                    let first = scram.first();
                    let length = u32::try_from(first.len()).unwrap_or(u32::MAX).to_be_bytes();
                    self.wire
                        .send(Some(b'p'), &[MECHANISM.as_bytes(), b"\0", &length, first.as_bytes()].concat())
                        .await?;
                    Stage::Challenged(scram)
                }
                (11, Stage::Challenged(scram)) => {
                    let (answer, proof) = scram.last(&String::from_utf8_lossy(&frame.body))?;
                    self.wire.send(Some(b'p'), answer.as_bytes()).await?;
                    Stage::Answered(proof)
                }
                (12, Stage::Answered(proof)) => {
                    proof.check(&String::from_utf8_lossy(&frame.body))?;
                    Stage::Proven
                }
                _ => return Err(refused(UNKNOWN)),
            };
        }
    }
}

fn accepted(address: &Address, stage: &Stage) -> Result<(), PostgresError> {
    match stage {
        Stage::Proven | Stage::PasswordSent => Ok(()),
        Stage::Begun if address.methods.none => Ok(()),
        Stage::Begun if address.password.is_some() => Err(refused(UNASKED)),
        Stage::Begun => {
            Err(refused("the database asks for no password, and `require_auth` wants one: set `require_auth=none`"))
        }
        Stage::Challenged(_) | Stage::Answered(_) => Err(refused(UNPROVEN)),
    }
}

fn password(address: &Address) -> Result<&str, PostgresError> {
    let missing = "the database asks for a password: postgres://USER:PASSWORD@HOST/DATABASE";
    address.password.as_deref().ok_or_else(|| refused(missing))
}

/// Returns whether the mechanism is among those that the database lists.
fn offers(list: &[u8]) -> bool {
    list.split(|byte| *byte == 0).any(|name| name == MECHANISM.as_bytes())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::postgres::scram::{self, Server};

    /// Step of a database during the sign-in.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Step {
        Ok,
        Clear,
        Md5,
        /// The challenge.
        Scram,
        /// The signature, of the right password or of another one.
        Final(&'static str),
        Offer(&'static str),
    }

    async fn message(stream: &mut TcpStream) -> Vec<u8> {
        let mut head = [0; 5];
        stream.read_exact(&mut head).await.unwrap();
        let mut body = vec![0; u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4];
        stream.read_exact(&mut body).await.unwrap();
        body
    }

    async fn authentication(stream: &mut TcpStream, kind: u32, rest: &[u8]) {
        let length = u32::try_from(8 + rest.len()).unwrap().to_be_bytes();
        stream.write_all(&[&b"R"[..], &length, &kind.to_be_bytes(), rest].concat()).await.ok();
    }

    /// Plays the steps; everything that the client has sent.
    async fn play(listener: TcpListener, steps: &[Step]) -> Vec<u8> {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut length = [0; 4];
        stream.read_exact(&mut length).await.unwrap();
        let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
        stream.read_exact(&mut startup).await.unwrap();
        let (mut received, mut server) = (Vec::new(), Server::default());
        for step in steps {
            match step {
                Step::Ok => authentication(&mut stream, 0, b"").await,
                Step::Clear => authentication(&mut stream, 3, b"").await,
                Step::Md5 => authentication(&mut stream, 5, b"salt").await,
                Step::Offer(names) => authentication(&mut stream, 10, names.as_bytes()).await,
                Step::Scram => {
                    let first = message(&mut stream).await;
                    let challenge = server.challenge(&first[first.len() - 32..]);
                    received.extend(first);
                    authentication(&mut stream, 11, challenge.as_bytes()).await;
                    received.extend(message(&mut stream).await);
                }
                Step::Final(password) => authentication(&mut stream, 12, server.signature(password).as_bytes()).await,
            }
        }
        stream.write_all(&[&b"Z"[..], &5u32.to_be_bytes(), b"I"].concat()).await.ok();
        stream.read_to_end(&mut received).await.unwrap();
        received
    }

    /// Returns what came of it, and what the client sent.
    async fn sign_in(user: &str, parameters: &str, steps: &'static [Step]) -> (Result<(), String>, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap();
        let address: Address = format!("postgres://{user}@{place}/shop?sslmode=disable{parameters}").parse().unwrap();
        let playing = tokio::spawn(play(listener, steps));
        let opened = Connection::open(&address, false).await.map(drop).map_err(|error| error.to_string());
        (opened, playing.await.unwrap())
    }

    const OFFER: Step = Step::Offer("SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");

    #[tokio::test]
    async fn a_password_is_proven_by_both_sides() {
        use Step::{Clear, Final, Md5, Ok as Accept, Scram};
        let with = "me:se%20cret";
        for (user, parameters, steps, reason) in [
            (with, "", &[OFFER, Scram, Final("se cret"), Accept][..], ""),
            (with, "&require_auth=scram-sha-256", &[OFFER, Scram, Final("se cret"), Accept], ""),
            // Other forms of the same characters.
            ("me:s%C2%ADe%C2%A0cre%E1%B5%97", "", &[OFFER, Scram, Final("se cret"), Accept], ""),
            ("me", "", &[Accept], ""),
            (with, "&require_auth=none", &[Accept], ""),
            (with, "&require_auth=password", &[Clear, Accept], ""),
            (with, "", &[OFFER, Scram, Final("another"), Accept], "does not prove that it knows the password"),
            (with, "", &[OFFER, Scram, Accept], "without proving that it knows the password"),
            (with, "", &[Accept], "did not ask for the password"),
            (with, "&require_auth=scram-sha-256", &[Accept], "did not ask for the password"),
            ("me", "&require_auth=scram-sha-256", &[Accept], "asks for no password"),
            (with, "", &[Clear], "`sslmode=verify-full`"),
            (with, "&require_auth=scram-sha-256", &[Clear], "asks for the password in clear text"),
            (with, "", &[OFFER, Scram, Clear], "not supported"),
            (with, "", &[OFFER, Scram, Final("se cret"), Clear], "not supported"),
            (with, "&require_auth=password", &[OFFER], "not supported"),
            (with, "&require_auth=password", &[Clear, Clear], "not supported"),
            (with, "", &[Md5], "use scram-sha-256 in pg_hba.conf"),
            (with, "", &[Step::Offer("OTHER\0\0")], "not supported"),
            ("me", "", &[OFFER], "asks for a password"),
        ] {
            let steps: &'static [Step] = steps;
            let (opened, sent) = sign_in(user, parameters, steps).await;
            match opened {
                Ok(()) => assert_eq!(reason, "", "{parameters} {steps:?}"),
                Err(said) => {
                    assert!(!reason.is_empty(), "{parameters} {steps:?}: {said}");
                    assert!(said.contains(reason), "{parameters} {steps:?}: {said}");
                }
            }
            let is_sent = sent.windows(7).any(|bytes| bytes == b"se cret");
            assert_eq!(is_sent, parameters.ends_with("=password") && steps[0] == Clear, "{parameters} {steps:?}");
        }
        assert_eq!(scram::MECHANISM.to_ascii_lowercase(), MECHANISM_NAME);
    }

    #[test]
    fn the_ways_are_those_of_the_address() {
        let of = |text: &str| text.parse::<Address>().map(|address| address.methods);
        let methods = |none, password, scram| Ok(Methods { none, password, scram });
        assert_eq!(of("postgres://me@h/d"), methods(true, false, true));
        assert_eq!(of("postgres://me:p@h/d"), methods(false, false, true));
        assert_eq!(
            of("postgres://me:p@h/d?sslmode=require"),
            methods(false, false, true),
            "anyone has some certificate"
        );
        assert_eq!(of("postgres://me:p@h/d?sslmode=verify-full"), methods(false, true, true));
        assert_eq!(of("postgres://me:p@h/d?sslmode=verify-ca&sslrootcert=/ca.pem"), methods(false, true, true));
        assert_eq!(of("postgres://me:p@h/d?require_auth=none,scram-sha-256"), methods(true, false, true));
        assert!(of("postgres://me:p@h/d?require_auth=md5").unwrap_err().contains("`require_auth` cannot be `md5`"));
    }
}
