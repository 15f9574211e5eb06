//! A container of Azure Blob Storage.

use std::fmt::Write;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use lamina_base::options::CloudOptions;
use lamina_base::outbound::{Outbound, Reply, parse_url};
use lamina_base::secret::shown_url;
use reqwest::{Method, StatusCode};
use time::OffsetDateTime;
use time::macros::format_description;

use super::signature::{encoded_path, encoded_query};
use super::{Ask, Attempts, LISTING_BYTES_MAX, StorageError, element, unescaped};

/// Version of the protocol.
const VERSION: &str = "2021-12-02";
/// Size of the blocks of large objects, which have at most 50,000 parts.
const BLOCK_BYTES: u64 = 16 << 20;
const IF_NONE: (&str, &str) = ("if-none-match", "*");

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct AzureContainer {
    outbound: Outbound,
    origin: String,
    /// Between the host and the key.
    folder: String,
    account: String,
    access: Access,
}

#[derive(Clone)]
enum Access {
    Key(Arc<hmac::Key>),
    /// Added to every address.
    Signature(String),
}

impl std::fmt::Debug for AzureContainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AzureContainer")
            .field("origin", &self.origin)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl AzureContainer {
    /// # Errors
    /// [`StorageError::Options`]
    pub(super) fn new(name: &str, options: &CloudOptions, outbound: &Outbound) -> Result<AzureContainer, StorageError> {
        let missing = |what: &str| StorageError::Options(what.to_owned());
        let account = options.azure_account.clone();
        let account = account.ok_or_else(|| missing("`--azure-account` is missing (or AZURE_STORAGE_ACCOUNT_NAME)"))?;
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if account.is_empty() || !account.bytes().all(is_name) {
            return Err(missing("`--azure-account`: only lower-case letters and digits"));
        }
        let access = match (&options.azure_access_key, &options.azure_sas_token) {
            (Some(key), _) => {
                let key = STANDARD.decode(key.trim()).map_err(|_| missing("`--azure-access-key` is not base64"))?;
                Access::Key(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &key)))
            }
            (None, Some(token)) => Access::Signature(token.trim().trim_start_matches('?').to_owned()),
            (None, None) => {
                let text = "`--azure-access-key` is missing (or AZURE_STORAGE_ACCOUNT_KEY), or `--azure-sas-token`";
                return Err(missing(text));
            }
        };
        let url = options.azure_url.clone().unwrap_or_else(|| format!("https://{account}.blob.core.windows.net"));
        let parsed = parse_url(&url)
            .map_err(|reason| StorageError::Options(format!("`--azure-url {}`: {reason}", shown_url(&url))))?;
        let folder = format!("{}/{name}", parsed.path().trim_end_matches('/'));
        let origin = parsed.origin().ascii_serialization();
        Ok(AzureContainer { outbound: outbound.clone(), origin, folder, account, access })
    }

    async fn ask(&self, mut ask: Ask<'_>) -> Result<Reply, StorageError> {
        let slash = if ask.target.is_empty() { "" } else { "/" };
        let path = encoded_path(&format!("{}{slash}{}", self.folder, ask.target));
        let mut url = format!("{}{path}?{}", self.origin, encoded_query(ask.query));
        if let Access::Signature(signature) = &self.access {
            let joined_by = if ask.query.is_empty() { "" } else { "&" };
            url = format!("{url}{joined_by}{signature}");
        }
        ask.headers.push(("x-ms-version", VERSION.to_owned()));
        let own_headers = ask.headers.len();
        let mut attempts = Attempts::default();
        loop {
            ask.headers.truncate(own_headers);
            ask.headers.push(("x-ms-date", http_date(OffsetDateTime::now_utc())));
            if let Access::Key(key) = &self.access {
                let text = self.to_be_signed(&ask, &path);
                let signature = STANDARD.encode(hmac::sign(key, text.as_bytes()));
                ask.headers.push(("authorization", format!("SharedKey {}:{signature}", self.account)));
            }
            let request = ask.fill(self.outbound.request(ask.method.clone(), &url)?);
            if let Some(reply) = attempts.judge(self.outbound.send(request, ask.answer_bytes_max).await).await? {
                return Ok(reply);
            }
        }
    }

    /// The canonical form of a request.
    fn to_be_signed(&self, ask: &Ask<'_>, path: &str) -> String {
        let length = if ask.body.is_empty() { String::new() } else { ask.body.len().to_string() };
        let if_none = ask.headers.iter().find(|(name, _)| *name == IF_NONE.0).map_or("", |(_, value)| value);
        // Encoding, language, length, MD5, type, date, four conditions, range.
        let mut text = format!("{}\n\n\n{length}\n\n\n\n\n\n{if_none}\n\n\n", ask.method);
        let mut own: Vec<_> = ask.headers.iter().filter(|(name, _)| name.starts_with("x-ms-")).collect();
        own.sort_unstable();
        let mut query = ask.query.to_vec();
        query.sort_unstable();
        // Writing into a text does not fail.
        for (name, value) in own {
            let _ = writeln!(text, "{name}:{value}");
        }
        let _ = write!(text, "/{}{path}", self.account);
        for (name, value) in query {
            let _ = write!(text, "\n{name}:{value}");
        }
        text
    }

    pub(super) async fn create(&self, key: &str, body: Bytes) -> Result<bool, StorageError> {
        let headers = vec![("x-ms-blob-type", "BlockBlob".to_owned()), (IF_NONE.0, IF_NONE.1.to_owned())];
        was_none(self.ask(Ask { headers, body, ..Ask::new(Method::PUT, key) }).await)
    }

    pub(super) async fn put(&self, key: &str, body: Bytes) -> Result<(), StorageError> {
        let headers = vec![("x-ms-blob-type", "BlockBlob".to_owned())];
        self.ask(Ask { headers, body, ..Ask::new(Method::PUT, key) }).await.map(drop)
    }

    /// Sends a large object in blocks; what is not joined goes by itself after a week.
    pub(super) async fn create_large(&self, key: &str, file: &mut dyn Read, bytes: u64) -> Result<bool, StorageError> {
        let (mut at, mut ids) = (0, Vec::new());
        while at < bytes {
            let mut part = Vec::new();
            Read::take(&mut *file, BLOCK_BYTES).read_to_end(&mut part)?;
            if part.is_empty() {
                return Err(StorageError::Failed("a file is shorter than it was".to_owned()));
            }
            let id = STANDARD.encode(format!("{at:020}"));
            at += part.len() as u64;
            self.send_block(key, &id, part.into()).await?;
            ids.push(id);
        }
        was_none(self.join_blocks(key, &ids, vec![(IF_NONE.0, IF_NONE.1.to_owned())]).await)
    }

    /// Sends a part of a large object.
    pub(super) async fn send_block(&self, key: &str, id: &str, bytes: Bytes) -> Result<(), StorageError> {
        let query = [("comp", "block"), ("blockid", id)];
        self.ask(Ask { query: &query, body: bytes, ..Ask::new(Method::PUT, key) }).await.map(drop)
    }

    /// Makes an object of parts.
    pub(super) async fn join_blocks(
        &self,
        key: &str,
        ids: &[String],
        headers: Vec<(&'static str, String)>,
    ) -> Result<Reply, StorageError> {
        let blocks: String = ids.iter().map(|id| format!("<Latest>{id}</Latest>")).collect();
        let list = format!("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>{blocks}</BlockList>");
        let query = [("comp", "blocklist")];
        self.ask(Ask { query: &query, headers, body: list.into(), ..Ask::new(Method::PUT, key) }).await
    }

    pub(super) async fn read(
        &self,
        key: &str,
        range: Option<Range<u64>>,
        most: usize,
    ) -> Result<Option<Bytes>, StorageError> {
        let range = range.map(|range| ("x-ms-range", format!("bytes={}-{}", range.start, range.end.saturating_sub(1))));
        let headers = range.into_iter().collect();
        let ask = Ask { headers, answer_bytes_max: most, ..Ask::new(Method::GET, key) };
        super::found(self.ask(ask).await).map(|reply| reply.map(|reply| reply.body))
    }

    /// All keys behind `after`: a listing begins at the beginning, and goes on where its last page says.
    pub(super) async fn list(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError> {
        let (mut keys, mut marker) = (Vec::new(), String::new());
        loop {
            let mut query = vec![("restype", "container"), ("comp", "list"), ("prefix", prefix)];
            if !marker.is_empty() {
                query.push(("marker", &marker));
            }
            let ask = Ask { query: &query, answer_bytes_max: LISTING_BYTES_MAX, ..Ask::new(Method::GET, "") };
            let reply = self.ask(ask).await?;
            let text = String::from_utf8_lossy(&reply.body);
            if !text.contains("<EnumerationResults") {
                return Err(StorageError::Failed("it answered a listing with something else".to_owned()));
            }
            let names = text.split("<Name>").skip(1).filter_map(|rest| Some(unescaped(rest.split_once("</Name>")?.0)));
            keys.extend(names.filter(|name| name.as_str() > after));
            marker = element(&text, "NextMarker").map(unescaped).unwrap_or_default();
            if marker.is_empty() {
                keys.sort_unstable();
                return Ok(keys);
            }
        }
    }

    pub(super) async fn remove(&self, key: &str) -> Result<(), StorageError> {
        super::found(self.ask(Ask::new(Method::DELETE, key)).await).map(drop)
    }
}

/// Reports whether there was no object of the key.
fn was_none(answer: Result<Reply, StorageError>) -> Result<bool, StorageError> {
    match answer {
        Ok(_) => Ok(true),
        Err(StorageError::Refused { status: StatusCode::PRECONDITION_FAILED, .. }) => Ok(false),
        Err(StorageError::Refused { status: StatusCode::CONFLICT, text }) if text.contains("BlobAlreadyExists") => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn http_date(now: OffsetDateTime) -> String {
    let form =
        format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");
    now.format(form).expect("a time can be written")
}

#[cfg(test)]
mod tests {
    use lamina_base::outbound::IpPolicy;
    use time::macros::datetime;

    use super::*;

    fn options() -> CloudOptions {
        CloudOptions {
            azure_account: Some("myaccount".to_owned()),
            azure_access_key: Some("a2V5".to_owned()),
            ..CloudOptions::default()
        }
    }

    fn refusal(options: &CloudOptions, outbound: &Outbound) -> String {
        AzureContainer::new("c", options, outbound).unwrap_err().to_string()
    }

    #[tokio::test]
    async fn what_is_missing_or_wrong_is_named_by_its_option() {
        let outbound = Outbound::new(IpPolicy::Any).unwrap();
        let no_account = CloudOptions { azure_account: None, ..options() };
        assert!(refusal(&no_account, &outbound).starts_with("`--azure-account` is missing"));
        let bad_account = CloudOptions { azure_account: Some("My/account".to_owned()), ..options() };
        assert!(refusal(&bad_account, &outbound).starts_with("`--azure-account`: "));
        let no_key = CloudOptions { azure_access_key: None, ..options() };
        assert!(refusal(&no_key, &outbound).starts_with("`--azure-access-key` is missing"));
        let bad_key = CloudOptions { azure_access_key: Some("-".to_owned()), ..options() };
        assert!(refusal(&bad_key, &outbound).starts_with("`--azure-access-key` is not base64"));
        let bad_url = CloudOptions { azure_url: Some("ftp://a".to_owned()), ..options() };
        assert!(refusal(&bad_url, &outbound).starts_with("`--azure-url ftp://a`: "));
        assert_eq!(
            AzureContainer::new("c", &options(), &outbound).unwrap().origin,
            "https://myaccount.blob.core.windows.net"
        );
    }

    /// The form is that of the public description of the shared key.
    #[tokio::test]
    async fn requests_are_signed_in_their_canonical_form() {
        let outbound = Outbound::new(IpPolicy::Any).unwrap();
        let container = AzureContainer::new("mycontainer", &options(), &outbound).unwrap();
        let query = [("restype", "container"), ("comp", "list")];
        let headers =
            vec![("x-ms-version", VERSION.to_owned()), ("x-ms-date", http_date(datetime!(2015-06-26 23:39:12 UTC)))];
        let ask = Ask { query: &query, headers, ..Ask::new(Method::GET, "") };
        assert_eq!(
            container.to_be_signed(&ask, "/mycontainer"),
            "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2021-12-02\n\
             /myaccount/mycontainer\ncomp:list\nrestype:container"
        );
        let headers = vec![("x-ms-blob-type", "BlockBlob".to_owned()), (IF_NONE.0, "*".to_owned())];
        let ask = Ask { body: Bytes::from_static(b"abc"), headers, ..Ask::new(Method::PUT, "a") };
        assert_eq!(
            container.to_be_signed(&ask, "/mycontainer/a"),
            "PUT\n\n\n3\n\n\n\n\n\n*\n\n\nx-ms-blob-type:BlockBlob\n/myaccount/mycontainer/a"
        );
    }
}
