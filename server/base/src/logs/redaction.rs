//! Keys are kept out of lines, whatever writes them: a message may quote what a client or another server said.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{LazyLock, OnceLock};

use regex::Regex;
use tracing_subscriber::fmt::MakeWriter;

const MASK: &str = "XXX...";

/// A shorter secret would be found in half of all words.
const SECRET_BYTES_MIN: usize = 8;

/// Patterns of likely secrets, each with its redacted form. Each pattern takes time linear in the length of a line.
static PATTERNS: LazyLock<[(Regex, &str); 6]> = LazyLock::new(|| {
    [
        // `Authorization: Bearer …`, also in the quotes of JSON or of a debugger.
        (r#"(?i)\b(bearer|basic)[ \t]+[^\s"'\\,;)}\]]+"#, "$1 XXX..."),
        // `"x-api-key": "…"`, `apiKey=…`, `password: …`
        (
            r#"(?i)([a-z0-9_-]*(?:authorization|api[_-]?key|master[_-]?key|secret|password|token|cookie|x-[a-z0-9-]*key)\\?["']?[ \t]*[:=][ \t]*)(?:\\?"[^"\\]*|\\?'[^'\\]*|[^\s"'\\,;&)}\]]+)"#,
            "${1}XXX...",
        ),
        // Tenant tokens.
        (r"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*", MASK),
        // Values of API keys: 64 hexadecimal digits.
        (r"[0-9A-Fa-f]{64,}", MASK),
        // `https://user:password@host`
        (r#"(://)[^\s/?#@"'<>]+@"#, "${1}XXX...@"),
        // What follows the path of an address.
        (r#"((?:://|\s|"|^)[^\s"?]*/[^\s"?]*\?)[^\s"'`<>]*=[^\s"'`<>]*"#, "${1}XXX..."),
    ]
    .map(|(pattern, left)| (Regex::new(pattern).expect("it was tried"), left))
});

/// Secrets of the launch options: they are found wherever they stand.
static SECRETS: OnceLock<Vec<String>> = OnceLock::new();

/// Keeps these texts out of all lines from now on. Only the first call counts.
pub(super) fn remember(secrets: Vec<String>) {
    let _ = SECRETS.set(secrets.into_iter().filter(|secret| secret.len() >= SECRET_BYTES_MIN).collect());
}

/// A line without what is, or looks like, a secret.
pub(super) fn redacted(line: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(line);
    for secret in SECRETS.get().into_iter().flatten() {
        if text.contains(secret.as_str()) {
            text = Cow::Owned(text.replace(secret.as_str(), MASK));
        }
    }
    for (pattern, left) in &*PATTERNS {
        if let Cow::Owned(replaced) = pattern.replace_all(&text, *left) {
            text = Cow::Owned(replaced);
        }
    }
    text
}

/// Makes writers that redact.
pub(super) struct Redacting<M>(pub(super) M);

/// Gets each line as one piece, which is how lines are written.
pub(super) struct RedactingWriter<W>(W);

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Redacting<M> {
    type Writer = RedactingWriter<M::Writer>;

    fn make_writer(&'a self) -> RedactingWriter<M::Writer> {
        RedactingWriter(self.0.make_writer())
    }
}

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        self.0.write_all(redacted(&line).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_reach_a_line() {
        let key = "d9e776b8412f1db6974c9a5556b961c3559440b6588216f4ea5d9ed49f7c8f3c";
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzZWFyY2hSdWxlcyI6WyIqIl19.c2VjcmV0LXNpZw";
        for line in [
            "authorization: Bearer s3cret-value",
            "headers={\"authorization\": \"Bearer s3cret-value\", \"host\": \"localhost\"}",
            "{\"fields\":{\"message\":\"got {\\\"Authorization\\\": \\\"Bearer s3cret-value\\\"}\"}}",
            "x-api-key: s3cret-value, accept: */*",
            "{\"apiKey\": \"s3cret-value\"}",
            "{\\\"apiKey\\\":\\\"s3cret-value\\\"}",
            "Cookie: s3cret-value",
            "starting new connection: https://user:s3cret-value@example.org/",
            "GET /indexes/a/search?q=s3cret-value&filter=x HTTP/1.1",
            "uri=/keys?s3cret-value=1",
            &format!("DELETE /keys/{}", "0123456789abcdef".repeat(4).replace("0123", "5ec4")),
            "master_key=s3cret-value",
            "password: 's3cret-value'",
        ] {
            let shown = redacted(line);
            assert!(!shown.contains("s3cret"), "{line}\n{shown}");
            assert!(!shown.contains("5ec4"), "{line}\n{shown}");
        }
        for line in [format!("/keys/{key}"), format!("/keys%2F{key}/"), format!("token {token} is bad")] {
            let shown = redacted(&line);
            assert!(!shown.contains(&key[..10]), "{shown}");
            assert!(!shown.contains("eyJ"), "{shown}");
        }
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        for line in [
            "2026-11-25T16:59:41Z DEBUG lamina_server::api::middleware: request method=GET path=\"/indexes/films/search\" status=200 micros=12",
            "index=films batch=7 tasks=3 committed 12 documents",
            "removed the leftovers of an interrupted task path=/data/indexes/4bc0887a-0e41-4f3b-935d-0c451dcee9c8",
            "Is it so? a = b",
            "No master key was found: anyone who reaches this server can read and change everything.",
        ] {
            assert_eq!(redacted(line), line);
        }
    }

    #[test]
    fn long_lines_take_no_longer_than_their_length() {
        let line = "/a?".repeat(300_000);
        let start = std::time::Instant::now();
        redacted(&line);
        assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
    }
}
