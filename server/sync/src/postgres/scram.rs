//! Passwords by SCRAM-SHA-256 (RFC 5802, RFC 7677): neither side sends the password, and both prove that they know it.

use std::borrow::Cow;
use std::num::NonZeroU32;

use aws_lc_rs::{digest, hmac, pbkdf2, rand};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::PostgresError;

pub(super) const MECHANISM: &str = "SCRAM-SHA-256";
/// No binding to a channel.
const HEADER: &str = "n,,";
const KEY_BYTES: usize = 32;
/// More than this only keeps this side busy.
const ITERATIONS_MAX: u32 = 10_000_000;

/// One way to the other side's trust.
pub(super) struct Scram {
    /// Empty: the server takes the name that the connection began with.
    user: String,
    password: String,
    nonce: String,
}

/// Proof that the other side has to give.
pub(super) struct Proof(hmac::Tag);

impl Scram {
    /// # Errors
    /// When the system has no random numbers.
    pub(super) fn new(password: &str) -> Result<Scram, PostgresError> {
        let mut nonce = [0; 18];
        rand::fill(&mut nonce).map_err(|_| PostgresError::SignIn("the system has no random numbers".to_owned()))?;
        // As the database does: one form for characters that look alike; a password that has none stays.
        let password = stringprep::saslprep(password).map_or_else(|_| password.to_owned(), Cow::into_owned);
        Ok(Scram { user: String::new(), password, nonce: BASE64.encode(nonce) })
    }

    fn bare(&self) -> String {
        format!("n={},r={}", self.user, self.nonce)
    }

    /// The first message.
    pub(super) fn first(&self) -> String {
        format!("{HEADER}{}", self.bare())
    }

    /// The answer to what the server sent, and what it has to prove.
    pub(super) fn last(&self, challenge: &str) -> Result<(String, Proof), PostgresError> {
        let part = |name: &str| {
            let found = challenge.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            found.ok_or_else(|| refused("its challenge is incomplete"))
        };
        let (nonce, salt) = (part("r")?, part("s")?);
        let salt = BASE64.decode(salt).map_err(|_| refused("its salt cannot be read"))?;
        let iterations: NonZeroU32 = part("i")?.parse().map_err(|_| refused("its count of rounds cannot be read"))?;
        if !nonce.starts_with(&self.nonce) || iterations.get() > ITERATIONS_MAX {
            return Err(refused("its challenge is not for this connection"));
        }
        let mut salted = [0; KEY_BYTES];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, &salt, self.password.as_bytes(), &mut salted);
        let client_key = sign(&salted, b"Client Key");
        let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
        let without_proof = format!("c={},r={nonce}", BASE64.encode(HEADER));
        let message = format!("{},{challenge},{without_proof}", self.bare());
        let signature = sign(stored_key.as_ref(), message.as_bytes());
        let proof: Vec<u8> = client_key.as_ref().iter().zip(signature.as_ref()).map(|(a, b)| a ^ b).collect();
        let expected = sign(sign(&salted, b"Server Key").as_ref(), message.as_bytes());
        Ok((format!("{without_proof},p={}", BASE64.encode(proof)), Proof(expected)))
    }
}

impl Proof {
    /// # Errors
    /// When the server does not know the password.
    pub(super) fn check(&self, message: &str) -> Result<(), PostgresError> {
        let signature = message.strip_prefix("v=").and_then(|text| BASE64.decode(text).ok());
        match signature {
            Some(signature) if signature == self.0.as_ref() => Ok(()),
            _ => Err(refused("it does not prove that it knows the password")),
        }
    }
}

fn sign(key: &[u8], message: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message)
}

fn refused(reason: &str) -> PostgresError {
    PostgresError::SignIn(format!("the database cannot be trusted: {reason}"))
}

/// The other side of a sign-in.
#[cfg(test)]
#[derive(Default)]
pub(super) struct Server(String);

#[cfg(test)]
impl Server {
    /// The answer to the first message, of which `bare` is the end.
    pub(super) fn challenge(&mut self, bare: &[u8]) -> String {
        let bare = String::from_utf8_lossy(bare);
        let bare = &bare[bare.find("n=").expect("a name")..];
        let nonce = bare.split_once("r=").expect("a nonce").1;
        let challenge = format!("r={nonce}more,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
        self.0 = format!("{bare},{challenge},c={},r={nonce}more", BASE64.encode(HEADER));
        challenge
    }

    /// Returns what a server that knows this password proves.
    pub(super) fn signature(&self, password: &str) -> String {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("a salt");
        let rounds = NonZeroU32::new(4096).expect("some");
        let mut salted = [0; KEY_BYTES];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, password.as_bytes(), &mut salted);
        let signature = sign(sign(&salted, b"Server Key").as_ref(), self.0.as_bytes());
        format!("v={}", BASE64.encode(signature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677.
    #[test]
    fn proofs_are_those_of_the_standard() {
        let nonce = "rOprNGfwEbeRWgbNEkqO";
        let scram = Scram { user: "user".to_owned(), password: "pencil".to_owned(), nonce: nonce.to_owned() };
        assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let challenge = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let (answer, proof) = scram.last(challenge).unwrap();
        let expected = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(answer, expected);
        assert!(proof.check("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").is_ok());
        assert!(proof.check("v=AAAA").is_err());
        assert!(proof.check("e=other-error").is_err());
        for forged in [&challenge.replace("r=rOpr", "r=xxxx"), "r=x", "", &challenge.replace("4096", "4000000000")] {
            assert!(scram.last(forged).is_err(), "{forged}");
        }
        assert_ne!(Scram::new("a").unwrap().nonce, Scram::new("a").unwrap().nonce);
    }

    /// The examples of RFC 4013, and passwords that PostgreSQL takes as they are.
    #[test]
    fn passwords_have_one_form() {
        for (password, form) in [
            ("I\u{ad}X", "IX"),
            ("USER", "USER"),
            ("\u{aa}", "a"),
            ("\u{2168}", "IX"),
            ("\u{7}\u{aa}", "\u{7}\u{aa}"),
            ("\u{627}1\u{aa}", "\u{627}1\u{aa}"),
            ("\u{1f511}\u{aa}", "\u{1f511}\u{aa}"),
        ] {
            assert_eq!(Scram::new(password).unwrap().password, form, "{password:?}");
        }
    }
}
