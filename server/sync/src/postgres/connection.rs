//! A connection: signing in, queries as text, copies.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes};

use super::frames::{Frame, Wire, bytes, text};
use super::{Address, PostgresError, tls};

const PROTOCOL: u32 = 3 << 16;
/// Maximum time until a database has accepted the user.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Values as texts that mean the same everywhere.
const SETTINGS: [(&str, &str); 8] = [
    ("application_name", "lamina sync"),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO"),
    ("TimeZone", "UTC"),
    ("IntervalStyle", "iso_8601"),
    ("bytea_output", "hex"),
    ("extra_float_digits", "1"),
    // Rows that a policy hides are an error, not absent.
    ("row_security", "off"),
];

/// Values as texts; `None` is null.
pub(crate) type Row = Vec<Option<String>>;

pub(crate) struct Connection {
    pub(super) wire: Wire,
}

/// A name as SQL has it.
pub(crate) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as SQL has it.
pub(crate) fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

impl Connection {
    /// Connects and signs in. With `replicates` the connection takes the commands of replication, besides queries.
    ///
    /// # Errors
    /// The variants of [`PostgresError`]; a database that does not answer in time is unreachable.
    pub(crate) async fn open(address: &Address, replicates: bool) -> Result<Connection, PostgresError> {
        Connection::open_within(address, replicates, CONNECT_TIME).await
    }

    async fn open_within(address: &Address, replicates: bool, limit: Duration) -> Result<Connection, PostgresError> {
        let opening = async {
            let stream = tls::connect(address).await?;
            let mut connection = Connection { wire: Wire::new(stream) };
            connection.begin(address, replicates).await?;
            Ok(connection)
        };
        tokio::time::timeout(limit, opening).await.unwrap_or_else(|_| {
            Err(PostgresError::Unreachable { place: address.place(), source: io::ErrorKind::TimedOut.into() })
        })
    }

    async fn begin(&mut self, address: &Address, replicates: bool) -> Result<(), PostgresError> {
        let own = [("user", address.user.as_str()), ("database", address.database.as_str())];
        let replication = replicates.then_some(("replication", "database"));
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        for (name, value) in own.into_iter().chain(SETTINGS).chain(replication) {
            body.extend_from_slice(&[name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat());
        }
        body.push(0);
        self.wire.send(None, &body).await?;
        self.sign_in(address).await?;
        loop {
            match self.received().await? {
                Frame { tag: b'Z', .. } => return Ok(()),
                // Parameters of the server, and a key to cancel with.
                Frame { tag: b'S' | b'K' | b'N', .. } => {}
                frame => return Err(unexpected(&frame)),
            }
        }
    }

    /// The next message; refusals are errors.
    pub(super) async fn received(&mut self) -> Result<Frame, PostgresError> {
        let frame = self.wire.receive().await?;
        if frame.tag == b'E' { Err(refusal(&frame.body)?) } else { Ok(frame) }
    }

    /// The rows of a statement, or of several.
    ///
    /// # Errors
    /// The errors of the statement, and of the connection.
    pub(crate) async fn query(&mut self, sql: &str) -> Result<Vec<Row>, PostgresError> {
        self.wire.send(Some(b'Q'), &[sql.as_bytes(), b"\0"].concat()).await?;
        let (mut rows, mut failure) = (Vec::new(), None);
        loop {
            let frame = self.wire.receive().await?;
            match frame.tag {
                b'D' => rows.push(row(&frame.body)?),
                b'E' => failure = Some(refusal(&frame.body)?),
                b'Z' => return failure.map_or(Ok(rows), Err),
                b'T' | b'C' | b'N' | b'S' | b'I' => {}
                _ => return Err(unexpected(&frame)),
            }
        }
    }

    /// Begins a `COPY … TO STDOUT`, whose rows [`Connection::copied`] gives.
    ///
    /// # Errors
    /// The errors of [`Connection::query`].
    pub(crate) async fn copy(&mut self, sql: &str) -> Result<(), PostgresError> {
        self.wire.send(Some(b'Q'), &[sql.as_bytes(), b"\0"].concat()).await?;
        match self.received().await? {
            Frame { tag: b'H', .. } => Ok(()),
            frame => Err(unexpected(&frame)),
        }
    }

    /// The next row of a copy, as a line of its text form.
    ///
    /// # Errors
    /// The errors of [`Connection::query`].
    pub(crate) async fn copied(&mut self) -> Result<Option<Bytes>, PostgresError> {
        loop {
            let frame = self.received().await?;
            match frame.tag {
                b'd' => return Ok(Some(frame.body)),
                b'c' | b'C' | b'N' => {}
                b'Z' => return Ok(None),
                _ => return Err(unexpected(&frame)),
            }
        }
    }
}

fn row(mut body: &[u8]) -> Result<Row, PostgresError> {
    let count = body.try_get_u16()?;
    let value = |_| match body.try_get_u32()? {
        u32::MAX => Ok(None),
        length => Ok(Some(String::from_utf8_lossy(bytes(&mut body, length as usize)?).into_owned())),
    };
    (0..count).map(value).collect()
}

/// The error that a message describes.
pub(super) fn refusal(mut body: &[u8]) -> Result<PostgresError, PostgresError> {
    let (mut code, mut message) = (String::new(), String::new());
    loop {
        match body.try_get_u8()? {
            0 => return Ok(PostgresError::Refused { code, message }),
            b'C' => code = text(&mut body)?,
            b'M' => message = text(&mut body)?,
            b'D' | b'H' => message = format!("{message}. {}", text(&mut body)?),
            _ => drop(text(&mut body)?),
        }
    }
}

pub(super) fn unexpected(frame: &Frame) -> PostgresError {
    PostgresError::Unexpected(format!("a message `{}`", char::from(frame.tag).escape_default()))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Wherever a database falls silent: after the connection, at the beginning of TLS, at the sign-in.
    #[tokio::test]
    async fn a_silent_database_is_unreachable() {
        for (mode, answer) in [("disable", None), ("require", None), ("require", Some(b'S')), ("prefer", Some(b'N'))] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let place = listener.local_addr().unwrap();
            let address = format!("postgres://me@{place}/shop?sslmode={mode}").parse().unwrap();
            tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                if let Some(answer) = answer {
                    stream.read_exact(&mut [0; 8]).await.unwrap();
                    stream.write_all(&[answer]).await.unwrap();
                }
                // What follows is received, and never answered.
                tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
            });
            let opening = Connection::open_within(&address, false, Duration::from_millis(50));
            let opened = tokio::time::timeout(Duration::from_secs(30), opening).await.expect("it gives up by itself");
            let error = opened.err().unwrap();
            assert_eq!(error.to_string(), format!("cannot connect to {place} (timed out)"), "{mode}");
            assert!(error.is_momentary());
        }
    }

    #[test]
    fn names_and_texts_are_quoted() {
        assert_eq!(identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\b"), "E'a\\\\b'");
    }

    #[test]
    fn rows_and_refusals_are_read() {
        let body = [&[0, 3][..], &1u32.to_be_bytes(), b"x", &u32::MAX.to_be_bytes(), &0u32.to_be_bytes()].concat();
        assert_eq!(row(&body).unwrap(), [Some("x".to_owned()), None, Some(String::new())]);
        assert!(row(&body[..6]).is_err());
        let error = refusal(b"SERROR\0C57P01\0Mgone\0Dreally\0\0").unwrap();
        assert_eq!(error.to_string(), "the database refused: gone. really (57P01)");
        assert!(error.is_momentary());
        assert!(!refusal(b"C42P01\0Mno table\0\0").unwrap().is_momentary());
        assert!(refusal(b"C42").is_err());
    }
}
