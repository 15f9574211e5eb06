//! Who Google's store is asked as: a service account with a key, or the account of the machine; each gives tokens that end.

use std::path::{Path, PathBuf};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use lamina_base::outbound::{Outbound, parse_url};
use lamina_base::text_file::without_mark;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::json;
use time::{Duration, OffsetDateTime};
use tokio::sync::Mutex;

use super::encoding::encoded_query;
use super::{Attempts, REQUEST_TIME, StorageError};

const SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_write";
const MACHINE: &str = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token";
/// A token is fetched anew this long before its end.
const MARGIN: Duration = Duration::minutes(5);
const ANSWER_BYTES_MAX: usize = 64 << 10;

pub(super) struct Account {
    who: Who,
    /// The last token, and when it ends.
    current: Mutex<Option<(String, OffsetDateTime)>>,
}

enum Who {
    Anonymous,
    Machine,
    Service(Box<Service>),
}

struct Service {
    email: String,
    key: RsaKeyPair,
    /// Address that issues tokens.
    url: String,
}

/// Content of the key file that is used; the file holds more.
#[derive(Deserialize)]
struct KeyFile {
    client_email: String,
    private_key: String,
    token_uri: String,
}

#[derive(Deserialize)]
struct Token {
    access_token: String,
    expires_in: i64,
}

fn refused(file: &Path, reason: impl std::fmt::Display) -> StorageError {
    StorageError::Options(format!("`--gcs-credentials-file {}`: {reason}", file.display()))
}

impl Account {
    fn of(who: Who) -> Account {
        Account { who, current: Mutex::new(None) }
    }

    pub(super) fn anonymous() -> Account {
        Account::of(Who::Anonymous)
    }

    pub(super) fn of_machine() -> Account {
        Account::of(Who::Machine)
    }

    /// # Errors
    /// [`StorageError::Options`], which names the option.
    pub(super) fn of_file(file: &PathBuf) -> Result<Account, StorageError> {
        let bytes = std::fs::read(file).map_err(|error| refused(file, error))?;
        let found: KeyFile = serde_json::from_slice(without_mark(&bytes))
            .map_err(|error| refused(file, format!("it is not the key of a service account: {error}")))?;
        parse_url(&found.token_uri).map_err(|reason| refused(file, format!("`token_uri`: {reason}")))?;
        let body: String = found.private_key.lines().filter(|line| !line.starts_with("-----")).collect();
        let key = STANDARD.decode(body).ok().and_then(|der| RsaKeyPair::from_pkcs8(&der).ok());
        let key = key.ok_or_else(|| refused(file, "`private_key` is not an RSA key in PKCS #8"))?;
        Ok(Account::of(Who::Service(Box::new(Service { email: found.client_email, key, url: found.token_uri }))))
    }

    /// One that is valid for some time to come; none where the store is asked without.
    pub(super) async fn token(&self, outbound: &Outbound) -> Result<Option<String>, StorageError> {
        if matches!(self.who, Who::Anonymous) {
            return Ok(None);
        }
        let mut current = self.current.lock().await;
        let now = OffsetDateTime::now_utc();
        if let Some((token, end)) = &*current
            && now + MARGIN < *end
        {
            return Ok(Some(token.clone()));
        }
        let token = self.fetch(outbound, now).await?;
        *current = Some((token.access_token.clone(), now + Duration::seconds(token.expires_in)));
        Ok(Some(token.access_token))
    }

    async fn fetch(&self, outbound: &Outbound, now: OffsetDateTime) -> Result<Token, StorageError> {
        let mut attempts = Attempts::default();
        loop {
            let request = match &self.who {
                Who::Service(service) => {
                    let form = encoded_query(&[
                        ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                        ("assertion", &service.assertion(now)?),
                    ]);
                    let request = outbound.request(Method::POST, &service.url)?.body(Bytes::from(form));
                    request.header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                }
                _ => outbound.request(Method::GET, MACHINE)?.header("metadata-flavor", "Google"),
            };
            let sent = outbound.send(request.timeout(REQUEST_TIME), ANSWER_BYTES_MAX).await;
            if let Some(reply) = attempts.judge(sent).await.map_err(|error| self.without_token(&error))? {
                return serde_json::from_slice(&reply.body)
                    .map_err(|error| StorageError::Failed(format!("no token came: {error}")));
            }
        }
    }

    fn without_token(&self, error: &StorageError) -> StorageError {
        let hint = match &self.who {
            Who::Service(_) => "the service account of `--gcs-credentials-file` got no token",
            _ => "there is no `--gcs-credentials-file`, and the machine gave no token",
        };
        StorageError::Failed(format!("{hint}: {error}"))
    }
}

impl Service {
    /// Returns the signed assertion that identifies the account.
    fn assertion(&self, now: OffsetDateTime) -> Result<String, StorageError> {
        let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let (begin, end) = (now.unix_timestamp(), (now + Duration::hours(1)).unix_timestamp());
        let claims = json!({"iss": self.email, "scope": SCOPE, "aud": self.url, "iat": begin, "exp": end});
        let text = format!("{}.{}", part(json!({"alg": "RS256", "typ": "JWT"})), part(claims));
        let mut signature = vec![0; self.key.public_modulus_len()];
        let signed = self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature);
        signed.map_err(|_| StorageError::Failed("the key of the service account does not sign".to_owned()))?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rsa::{KeyPair, KeySize};
    use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
    use serde_json::Value;

    use super::*;

    fn account(text: &str) -> Result<Account, StorageError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key.json");
        std::fs::write(&file, text).unwrap();
        Account::of_file(&file)
    }

    #[test]
    fn a_service_account_signs_what_it_says() {
        let der = AsDer::as_der(&KeyPair::generate(KeySize::Rsa2048).unwrap()).unwrap();
        let pem =
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der.as_ref()));
        let file =
            json!({"client_email": "a@b", "private_key": pem, "token_uri": "https://t/", "type": "service_account"});
        let Who::Service(service) = account(&file.to_string()).ok().unwrap().who else { panic!("it is a service") };
        let text = service.assertion(OffsetDateTime::from_unix_timestamp(1000).unwrap()).unwrap();
        let (signed, signature) = text.rsplit_once('.').unwrap();
        let claims = URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!(claims, json!({"iss": "a@b", "scope": SCOPE, "aud": "https://t/", "iat": 1000, "exp": 4600}));
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, service.key.public_key().as_ref());
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        public.verify(signed.as_bytes(), &signature).unwrap();
        assert!(public.verify(b"something else", &signature).is_err());
    }

    #[test]
    fn files_that_are_no_keys_are_refused_by_the_name_of_the_option() {
        for (text, reason) in [
            ("{}", "missing field `client_email`"),
            ("no", "it is not the key of a service account"),
            (r#"{"client_email":"a","private_key":"x","token_uri":"ftp://a"}"#, "`token_uri`"),
            (r#"{"client_email":"a","private_key":"x","token_uri":"https://a"}"#, "`private_key` is not an RSA key"),
        ] {
            let error = account(text).err().unwrap().to_string();
            assert!(error.contains("`--gcs-credentials-file "), "{error}");
            assert!(error.contains(reason), "{error}");
        }
        let error = Account::of_file(&"/nowhere/key.json".into()).err().unwrap().to_string();
        assert!(error.contains("/nowhere/key.json"), "{error}");
    }
}
