//! Changes as they come, and saying how far they are carried out.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{Buf, Bytes};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::connection::{identifier, literal, refusal, unexpected};
use super::frames::{Frame, bytes};
use super::{Connection, PostgresError};

/// Instants count from the year 2000.
const EPOCH: Duration = Duration::from_secs(946_684_800);

/// A place in the log of the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lsn(pub(crate) u64);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

impl FromStr for Lsn {
    type Err = PostgresError;

    fn from_str(text: &str) -> Result<Lsn, PostgresError> {
        let unreadable = || PostgresError::Unexpected(format!("the place `{text}` in its log"));
        let (high, low) = text.split_once('/').ok_or_else(unreadable)?;
        let half = |half: &str| u32::from_str_radix(half, 16).map(u64::from).map_err(|_| unreadable());
        Ok(Lsn(half(high)? << 32 | half(low)?))
    }
}

impl Serialize for Lsn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Lsn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Lsn, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Event of a replication connection.
#[derive(Debug)]
pub(crate) enum Event {
    /// A message of the plugin.
    Change(Bytes),
    /// So far the log was read; whether an answer is wanted at once.
    Alive { end: Lsn, asks: bool },
}

/// A connection that changes come over.
pub(crate) struct Replication(Connection);

impl Replication {
    /// Begins where the slot stands.
    ///
    /// # Errors
    /// The errors of the connection; when another one holds the slot.
    pub(crate) async fn begin(
        mut connection: Connection,
        slot: &str,
        publication: &str,
    ) -> Result<Self, PostgresError> {
        let sql = format!(
            "START_REPLICATION SLOT {} LOGICAL 0/0 (proto_version '1', publication_names {})",
            identifier(slot),
            literal(&identifier(publication)),
        );
        connection.wire.send(Some(b'Q'), &[sql.as_bytes(), b"\0"].concat()).await?;
        match connection.received().await? {
            Frame { tag: b'W', .. } => Ok(Replication(connection)),
            frame => Err(unexpected(&frame)),
        }
    }

    /// The next event. Nothing is lost when this is given up.
    ///
    /// # Errors
    /// The errors of the connection; when the database ends it.
    pub(crate) async fn next(&mut self) -> Result<Event, PostgresError> {
        loop {
            let frame = self.0.wire.receive().await?;
            match frame.tag {
                b'd' => {
                    let mut body = &frame.body[..];
                    match body.try_get_u8()? {
                        b'w' => {
                            bytes(&mut body, 24)?;
                            return Ok(Event::Change(frame.body.slice_ref(body)));
                        }
                        b'k' => {
                            let end = Lsn(body.try_get_u64()?);
                            body.try_get_u64()?;
                            return Ok(Event::Alive { end, asks: body.try_get_u8()? == 1 });
                        }
                        other => return Err(PostgresError::Unexpected(format!("a message `{other}` of replication"))),
                    }
                }
                b'E' => return Err(refusal(&frame.body)?),
                b'c' => return Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted).into()),
                b'N' | b'S' => {}
                _ => return Err(unexpected(&frame)),
            }
        }
    }

    /// Says that everything before `end` is carried out: the database need not keep it. With `asks` it says how far it has read.
    ///
    /// # Errors
    /// The errors of the connection.
    pub(crate) async fn confirm(&mut self, end: Lsn, asks: bool) -> Result<(), PostgresError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH + EPOCH).unwrap_or_default();
        let micros = u64::try_from(now.as_micros()).unwrap_or_default();
        let place = end.0.to_be_bytes();
        let body = [&b"r"[..], &place, &place, &place, &micros.to_be_bytes(), &[u8::from(asks)]].concat();
        self.0.wire.send(Some(b'd'), &body).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        assert_eq!("16/B374D848".parse::<Lsn>().unwrap(), Lsn(0x16_B374_D848));
        assert_eq!(Lsn(0x16_B374_D848).to_string(), "16/B374D848");
        for bad in ["", "16", "16/", "x/1", "1/123456789"] {
            assert!(bad.parse::<Lsn>().is_err(), "{bad}");
        }
    }
}
