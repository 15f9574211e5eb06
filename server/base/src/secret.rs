//! Showing a secret without giving it away.

use std::borrow::Cow;

use reqwest::Url;

/// Redacts `secret`, except for a part that identifies it. A leading `Bearer ` does not count as part of it.
pub fn redacted(secret: &str) -> String {
    const BEARER: &str = "Bearer ";
    let (scheme, secret) = match secret.strip_prefix(BEARER) {
        Some(secret) => (BEARER, secret),
        None => ("", secret),
    };
    let (shown, mask) = match secret.chars().count() {
        0..=9 => (0, "XXX..."),
        10..=19 => (2, "XXXX..."),
        20..=29 => (3, "XXXXX..."),
        _ => (5, "XXXXXX..."),
    };
    scheme.chars().chain(secret.chars().take(shown)).chain(mask.chars()).collect()
}

/// The request header that carries a secret.
pub const AUTHORIZATION: &str = "Authorization";

/// Parts of names whose values are secrets: of headers, and of parameters in addresses.
const SECRETIVE: [&str; 10] =
    ["auth", "key", "token", "secret", "pass", "cookie", "credential", "signature", "session", "bearer"];
/// Names of parameters that are secrets as a whole.
const SECRETIVE_NAMES: [&str; 3] = ["sig", "pwd", "code"];

/// Reports whether the value with this name is a secret, judged by the name alone.
pub(crate) fn is_secretive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRETIVE_NAMES.contains(&name.as_str()) || SECRETIVE.iter().any(|part| name.contains(part))
}

/// The value of a request header as clients see it: [`redacted`] when it is a secret.
pub fn shown_header(name: &str, value: &str) -> String {
    if is_secretive(name) { redacted(value) } else { value.to_owned() }
}

/// Replacement for a secret part of an address.
const MASK: &str = "XXX...";

/// An address as clients and logs see it: without the password or the token before its host, and without the values of
/// parameters that are secrets by their names. One that holds none is shown as it was written.
pub fn shown_url(text: &str) -> String {
    let Some(mut url) = with_host(text) else { return without_user(text) };
    let has_user = !url.username().is_empty() || url.password().is_some();
    let has_secrets = url.query_pairs().any(|(name, _)| is_secretive(&name));
    if !has_user && !has_secrets {
        return text.to_owned();
    }
    // These fail for addresses without a host, which have no user either.
    if url.password().is_some() {
        let _ = url.set_password(Some(MASK));
    } else if has_user {
        let _ = url.set_username(MASK);
    }
    if has_secrets {
        let shown: Vec<(String, String)> = url
            .query_pairs()
            .map(|(name, value)| {
                let value = if is_secretive(&name) { Cow::Borrowed(MASK) } else { value };
                (name.into_owned(), value.into_owned())
            })
            .collect();
        url.query_pairs_mut().clear().extend_pairs(shown);
    }
    url.into()
}

/// An address without the secrets that [`shown_url`] masks, as another server may have it.
pub fn bare_url(text: &str) -> String {
    let Some(mut url) = with_host(text) else { return without_user(text) };
    let has_user = !url.username().is_empty() || url.password().is_some();
    let has_secrets = url.query_pairs().any(|(name, _)| is_secretive(&name));
    if !has_user && !has_secrets {
        return text.to_owned();
    }
    let _ = url.set_password(None);
    let _ = url.set_username("");
    if has_secrets {
        let kept: Vec<(String, String)> = url
            .query_pairs()
            .filter(|(name, _)| !is_secretive(name))
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        if kept.is_empty() {
            url.set_query(None);
        } else {
            url.query_pairs_mut().clear().extend_pairs(kept);
        }
    }
    url.into()
}

/// The secrets in an address, as [`shown_url`] finds them: to keep them out of what others say about it.
pub fn secrets_of_url(text: &str) -> Vec<String> {
    let Ok(url) = Url::parse(text) else { return Vec::new() };
    let user = if url.password().is_none() { url.username() } else { "" };
    let in_query = url.query_pairs().filter(|(name, _)| is_secretive(name)).map(|(_, value)| value.into_owned());
    let before_host = [user, url.password().unwrap_or_default()].map(str::to_owned);
    before_host.into_iter().chain(in_query).filter(|secret| !secret.is_empty()).collect()
}

/// Reports whether two addresses have the same origin: the same scheme, host and port. Credentials for one origin,
/// such as a key, must not be used for another one.
pub fn have_same_origin(one: &str, other: &str) -> bool {
    let origin = |text: &str| Url::parse(text).ok().map(|url| url.origin()).filter(|origin| origin.is_tuple());
    one == other || origin(one).is_some_and(|one| origin(other) == Some(one))
}

/// An address that can name a user at all.
fn with_host(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(Url::has_host)
}

/// Masks everything before the last `@`, because a text that is not a valid address may still hold a password.
fn without_user(text: &str) -> String {
    let Some((before, rest)) = text.rsplit_once('@') else { return text.to_owned() };
    let scheme = before.find("://").map_or("", |end| &before[..end + 3]);
    format!("{scheme}{MASK}@{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_shown_of_long_secrets_and_nothing_of_short_ones() {
        for (secret, shown) in [
            ("", "XXX..."),
            ("TOKEN", "XXX..."),
            ("UPDATED TOKEN", "UPXXXX..."),
            ("12345678901234567890", "123XXXXX..."),
            ("123456789012345678901234567890", "12345XXXXXX..."),
            ("Bearer TOKEN", "Bearer XXX..."),
            ("Bearer 1234567890", "Bearer 12XXXX..."),
            ("ééééééééé", "XXX..."),
        ] {
            assert_eq!(redacted(secret), shown);
        }
    }

    #[test]
    fn headers_with_the_names_of_secrets_are_secrets() {
        for name in ["Authorization", "authorization", "X-Api-Key", "Cookie", "X-Auth", "Proxy-Authorization"] {
            assert_eq!(shown_header(name, "a secret"), "XXX...", "{name}");
        }
        for name in ["X-Of", "Accept-Language", "a"] {
            assert_eq!(shown_header(name, "value"), "value", "{name}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for same in ["https://h:443/other?q#f", "HTTPS://H/", "https://user:pass@h/a", "https://h/a"] {
            assert!(have_same_origin("https://h/a", same), "{same}");
        }
        for other in
            ["http://h/a", "https://h:444/a", "https://h.org/a", "https://x@h2/a", "h", "", "data:,h", "https://h@x/"]
        {
            assert!(!have_same_origin("https://h/a", other), "{other}");
        }
        assert!(!have_same_origin("data:a", "data:b"));
    }

    #[test]
    fn addresses_are_shown_without_what_is_secret_in_them() {
        for (url, shown, bare) in [
            ("https://example.org", "https://example.org", "https://example.org"),
            ("https://h/a?q=1&x=%20#f", "https://h/a?q=1&x=%20#f", "https://h/a?q=1&x=%20#f"),
            ("https://user:pass@h:8080/a", "https://user:XXX...@h:8080/a", "https://h:8080/a"),
            ("https:user:pass@h/", "https://user:XXX...@h/", "https://h/"),
            ("https://t0ken@h/", "https://XXX...@h/", "https://h/"),
            ("https://h/a?api-key=s3cret&q=1", "https://h/a?api-key=XXX...&q=1", "https://h/a?q=1"),
            ("https://h/?sig=s3cret", "https://h/?sig=XXX...", "https://h/"),
            ("https://u:s3cret@h:port/", "https://XXX...@h:port/", "https://XXX...@h:port/"),
            ("u:s3cret@h", "XXX...@h", "XXX...@h"),
            ("nope", "nope", "nope"),
        ] {
            assert_eq!((shown_url(url).as_str(), bare_url(url).as_str()), (shown, bare), "{url}");
        }
        assert_eq!(secrets_of_url("https://user:pass@h/?key=k&q=1"), ["pass", "k"]);
        assert_eq!(secrets_of_url("https://token@h/"), ["token"]);
    }
}
