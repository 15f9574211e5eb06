//! Signatures (version 4) of requests to S3-compatible stores: a request is put into a canonical form, and its hash is
//! signed with a key that is derived from the secret, the day and the region.

use std::fmt::Write;

use aws_lc_rs::{digest, hmac};
use time::OffsetDateTime;
use time::macros::format_description;

/// Credentials and region of a request.
#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) access_key: String,
    pub(super) secret_key: String,
    /// Token of temporary keys.
    pub(super) session_token: Option<String>,
    pub(super) region: String,
}

/// Parts of a request that are signed; `path` and the query are not encoded yet.
pub(super) struct Unsigned<'a> {
    pub(super) method: &'a str,
    pub(super) host: &'a str,
    pub(super) path: &'a str,
    pub(super) query: &'a [(&'a str, &'a str)],
    /// Hash of the body, see [`content_hash`].
    pub(super) content_hash: &'a str,
}

/// Values of headers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Signed {
    pub(super) authorization: String,
    /// `x-amz-date`
    pub(super) date: String,
}

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SIGNED_HEADERS: &str = "host;x-amz-content-sha256;x-amz-date";
/// Header of [`Credentials::session_token`]; the last one in the order of the alphabet.
pub(super) const TOKEN_HEADER: &str = "x-amz-security-token";

impl Credentials {
    pub(super) fn sign(&self, request: &Unsigned<'_>, now: OffsetDateTime) -> Signed {
        let day = now.format(format_description!("[year][month][day]")).expect("a day can be written");
        let time = now.format(format_description!("[hour][minute][second]")).expect("a time can be written");
        let date = format!("{day}T{time}Z");
        let (token_line, signed_headers) = match &self.session_token {
            Some(token) => (format!("{TOKEN_HEADER}:{token}\n"), format!("{SIGNED_HEADERS};{TOKEN_HEADER}")),
            None => (String::new(), SIGNED_HEADERS.to_owned()),
        };
        let canonical = format!(
            "{}\n{}\n{}\nhost:{}\nx-amz-content-sha256:{hash}\nx-amz-date:{date}\n{token_line}\n{signed_headers}\n{hash}",
            request.method,
            encoded_path(request.path),
            encoded_query(request.query),
            request.host,
            hash = request.content_hash,
        );
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let text = format!("{ALGORITHM}\n{date}\n{scope}\n{}", content_hash(canonical.as_bytes()));
        let mut key = format!("AWS4{}", self.secret_key).into_bytes();
        for part in [day.as_str(), &self.region, "s3", "aws4_request"] {
            key = signed(&key, part);
        }
        let signature = hexadecimal(&signed(&key, &text));
        let authorization = format!(
            "{ALGORITHM} Credential={}/{scope},SignedHeaders={signed_headers},Signature={signature}",
            self.access_key
        );
        Signed { authorization, date }
    }
}

fn signed(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

/// SHA-256 in hexadecimal.
pub(super) fn content_hash(body: &[u8]) -> String {
    hexadecimal(digest::digest(&digest::SHA256, body).as_ref())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("texts grow");
        text
    })
}

/// The path with everything encoded that is special anywhere.
pub(super) fn encoded_path(path: &str) -> String {
    path.split('/').map(encoded).collect::<Vec<_>>().join("/")
}

/// The query in the order of its names.
pub(super) fn encoded_query(query: &[(&str, &str)]) -> String {
    let mut pairs: Vec<String> =
        query.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    pairs.sort_unstable();
    pairs.join("&")
}

/// With everything encoded that is special anywhere, slashes as well.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    /// The examples of the public description of the algorithm.
    #[test]
    fn signatures_are_those_of_the_examples() {
        let credentials = Credentials {
            access_key: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
            region: "us-east-1".to_owned(),
        };
        let empty = content_hash(b"");
        assert_eq!(empty, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        for (query, signature) in [
            (&[("lifecycle", "")][..], "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            (&[("prefix", "J"), ("max-keys", "2")], "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ] {
            let request = Unsigned {
                method: "GET",
                host: "examplebucket.s3.amazonaws.com",
                path: "/",
                query,
                content_hash: &empty,
            };
            let signed = credentials.sign(&request, datetime!(2013-05-24 00:00:00 UTC));
            assert_eq!(signed.date, "20130524T000000Z");
            assert_eq!(
                signed.authorization,
                format!(
                    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
                     SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature={signature}"
                )
            );
        }
    }

    /// The expected value was computed by hand from the description, not by this program.
    #[test]
    fn tokens_of_sessions_are_signed() {
        let credentials = Credentials {
            access_key: "ASIAEXAMPLE".to_owned(),
            secret_key: "secret".to_owned(),
            session_token: Some("a+b/c==".to_owned()),
            region: "eu-central-1".to_owned(),
        };
        let empty = content_hash(b"");
        let request = Unsigned {
            method: "POST",
            host: "s3.example.org",
            path: "/bucket/key",
            query: &[("uploads", "")],
            content_hash: &empty,
        };
        assert_eq!(
            credentials.sign(&request, datetime!(2026-11-21 12:34:56 UTC)).authorization,
            "AWS4-HMAC-SHA256 Credential=ASIAEXAMPLE/20261121/eu-central-1/s3/aws4_request,\
             SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,\
             Signature=a9e510d09d280f38fb8111519f63609026fb4f294e3c464798d899d25a031b15"
        );
    }

    #[test]
    fn special_characters_are_encoded() {
        assert_eq!(encoded_path("/a b/c+d/ä"), "/a%20b/c%2Bd/%C3%A4");
        assert_eq!(encoded_query(&[("uploadId", "a/b="), ("partNumber", "2")]), "partNumber=2&uploadId=a%2Fb%3D");
    }
}
