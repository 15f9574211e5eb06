//! What the plugin `pgoutput` sends: version 1, in which a transaction comes whole, when it is committed.

use bytes::Buf;

use super::PostgresError;
use super::frames::{bytes, text};
use super::replication::Lsn;

/// A column of a table, as it is from here on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub name: String,
    /// The object id of its type.
    pub kind: u32,
    /// Restriction of the type, such as a number of digits; -1 for none.
    pub(crate) modifier: i32,
}

/// A table, as it is from here on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    pub id: u32,
    pub(crate) schema: String,
    pub name: String,
    /// Part of a row that is sent when it changes: `d`, the key; `f`, everything.
    pub identity: u8,
    pub(crate) columns: Vec<Column>,
    /// Names of the columns that identify a row.
    pub key: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    /// A large value that did not change, and is not sent.
    Unchanged,
    Text(String),
}

pub(crate) type Tuple = Vec<Cell>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Start of a transaction; `commit`: position of the record of its end.
    Begin {
        commit: Lsn,
    },
    /// `at`: microseconds since the year 2000.
    Commit {
        end: Lsn,
        at: u64,
    },
    Relation(Relation),
    Insert {
        relation: u32,
        new: Tuple,
    },
    /// `old`: where what identifies the row changed, or where the table sends whole rows.
    Update {
        relation: u32,
        old: Option<Tuple>,
        new: Tuple,
    },
    Delete {
        relation: u32,
        old: Tuple,
    },
    Truncate {
        relations: Vec<u32>,
    },
    /// Types, origins, messages of programs.
    Other,
}

impl Change {
    /// # Errors
    /// When it is none, or breaks off.
    pub(crate) fn read(mut body: &[u8]) -> Result<Change, PostgresError> {
        Ok(match body.try_get_u8()? {
            b'B' => Change::Begin { commit: Lsn(body.try_get_u64()?) },
            b'C' => {
                bytes(&mut body, 9)?;
                Change::Commit { end: Lsn(body.try_get_u64()?), at: body.try_get_u64()? }
            }
            b'R' => Change::Relation(relation(&mut body)?),
            b'I' => {
                let relation = body.try_get_u32()?;
                expect(&mut body, b'N')?;
                Change::Insert { relation, new: tuple(&mut body)? }
            }
            b'U' => {
                let relation = body.try_get_u32()?;
                let old = match body.first() {
                    Some(b'K' | b'O') => {
                        body.try_get_u8()?;
                        Some(tuple(&mut body)?)
                    }
                    _ => None,
                };
                expect(&mut body, b'N')?;
                Change::Update { relation, old, new: tuple(&mut body)? }
            }
            b'D' => {
                let relation = body.try_get_u32()?;
                body.try_get_u8()?;
                Change::Delete { relation, old: tuple(&mut body)? }
            }
            b'T' => {
                let count = body.try_get_u32()?;
                body.try_get_u8()?;
                Change::Truncate { relations: (0..count).map(|_| body.try_get_u32()).collect::<Result<_, _>>()? }
            }
            b'Y' | b'O' | b'M' => Change::Other,
            other => {
                return Err(PostgresError::Unexpected(format!("a change `{}`", char::from(other).escape_default())));
            }
        })
    }
}

fn expect(body: &mut &[u8], tag: u8) -> Result<(), PostgresError> {
    match body.try_get_u8()? {
        found if found == tag => Ok(()),
        found => Err(PostgresError::Unexpected(format!("a tuple `{}`", char::from(found).escape_default()))),
    }
}

fn relation(body: &mut &[u8]) -> Result<Relation, PostgresError> {
    let (id, schema, name) = (body.try_get_u32()?, text(body)?, text(body)?);
    let identity = body.try_get_u8()?;
    let count = body.try_get_u16()?;
    let mut key = Vec::new();
    let column = |_| {
        let identifies = body.try_get_u8()? & 1 == 1;
        let (name, kind) = (text(body)?, body.try_get_u32()?);
        key.extend(identifies.then(|| name.clone()));
        Ok(Column { name, kind, modifier: body.try_get_i32()? })
    };
    let columns = (0..count).map(column).collect::<Result<_, PostgresError>>()?;
    Ok(Relation { id, schema, name, identity, columns, key })
}

fn tuple(body: &mut &[u8]) -> Result<Tuple, PostgresError> {
    let count = body.try_get_u16()?;
    let cell = |_| match body.try_get_u8()? {
        b'n' => Ok(Cell::Null),
        b'u' => Ok(Cell::Unchanged),
        b't' => {
            let length = body.try_get_u32()?;
            Ok(Cell::Text(String::from_utf8_lossy(bytes(body, length as usize)?).into_owned()))
        }
        other => Err(PostgresError::Unexpected(format!("a value `{}`", char::from(other).escape_default()))),
    };
    (0..count).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes as hexadecimal digits, as PostgreSQL 15 sent them.
    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    fn text(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }

    #[test]
    fn tables_are_read() {
        let hex = "52000040097075626c69630066696c6d73006400050169640000000017ffffffff007469746c650000000019ffffffff\
                   00796561720000000017ffffffff007461677300000003f1ffffffff006e6f74650000000019ffffffff";
        let column = |(name, kind): (&str, u32)| Column { name: name.to_owned(), kind, modifier: -1 };
        let columns = [("id", 23), ("title", 25), ("year", 23), ("tags", 1009), ("note", 25)].map(column).to_vec();
        let (schema, name, key) = ("public".to_owned(), "films".to_owned(), vec!["id".to_owned()]);
        let expected = Relation { id: 0x4009, schema, name, identity: b'd', columns, key };
        assert_eq!(Change::read(&bytes(hex)).unwrap(), Change::Relation(expected));
    }

    #[test]
    fn transactions_and_rows_are_read() {
        let read = |hex: &str| Change::read(&bytes(hex)).unwrap();
        let begin = Change::Begin { commit: Lsn(0x0153_2448) };
        assert_eq!(read("4200000000015324480003042d7dcbd582000002d6"), begin);
        let end = Lsn(0x0153_2478);
        assert_eq!(
            read("4300000000000153244800000000015324780003042d7dcbd582"),
            Change::Commit { end, at: 0x0003_042d_7dcb_d582 }
        );
        let relation = 0x4009;
        let nulls = |id: &str| [vec![text(id)], vec![Cell::Null; 4]].concat();
        assert_eq!(read("49000040094e00057400000001326e6e6e6e"), Change::Insert { relation, new: nulls("2") });
        assert_eq!(read("44000040094b00057400000001336e6e6e6e"), Change::Delete { relation, old: nulls("3") });
        // The identity changed.
        let moved = read("55000040094b00057400000001326e6e6e6e4e00057400000001336e6e6e6e");
        assert_eq!(moved, Change::Update { relation, old: Some(nulls("2")), new: nulls("3") });
        // A large value did not.
        let updated =
            read("55000040094e00057400000001317400000005416c69656e74000000043139383074000000097b612c22622063227d75");
        let new = vec![text("1"), text("Alien"), text("1980"), text("{a,\"b c\"}"), Cell::Unchanged];
        assert_eq!(updated, Change::Update { relation, old: None, new });
        // A table that sends whole rows.
        let deleted = read(
            "44000040094f00057400000001317400000005416c69656e74000000043139383174000000097b612c22622063227d74000000016e",
        );
        let old = vec![text("1"), text("Alien"), text("1981"), text("{a,\"b c\"}"), text("n")];
        assert_eq!(deleted, Change::Delete { relation, old });
        assert_eq!(read("54000000010000004009"), Change::Truncate { relations: vec![relation] });
        assert_eq!(read("4f00000000000000000000"), Change::Other);
    }

    #[test]
    fn what_breaks_off_is_refused() {
        let insert =
            [&b"I"[..], &7u32.to_be_bytes(), b"N", &1u16.to_be_bytes(), b"t", &2u32.to_be_bytes(), b"ab"].concat();
        assert_eq!(Change::read(&insert).unwrap(), Change::Insert { relation: 7, new: vec![text("ab")] });
        for end in 0..insert.len() {
            assert!(Change::read(&insert[..end]).is_err(), "{end}");
        }
        assert!(Change::read(b"Z").is_err());
        assert!(Change::read(&[&b"I"[..], &7u32.to_be_bytes(), b"X", &[0, 0]].concat()).is_err());
    }
}
