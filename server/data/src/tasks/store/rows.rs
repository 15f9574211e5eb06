//! Rows to tasks.

use lamina_base::timestamp::Timestamp;
use rusqlite::Row;
use rusqlite::types::Type;
use serde_json::value::RawValue;

use crate::tasks::content::Content;
use crate::tasks::kind::Numbered;
use crate::tasks::kind::{Kind, Status};
use crate::tasks::task::{StoredError, Task};

use super::StoreError;

/// The columns that [`task`] reads, in its order.
pub(super) const TASK_COLUMNS: &str = "uid, batch_uid, index_uid, kind, status, canceled_by, enqueued_at, started_at, \
                                       finished_at, details, error, custom_metadata";

pub(super) fn task(row: &Row<'_>) -> rusqlite::Result<Task> {
    let time = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_nanos));
    let json = |column: usize, source: serde_json::Error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(source))
    };
    let details: Option<String> = row.get(9)?;
    let error: Option<String> = row.get(10)?;
    let error: Option<StoredError> =
        error.map(|text| serde_json::from_str(&text).map_err(|source| json(10, source))).transpose()?;
    Ok(Task {
        uid: row.get(0)?,
        batch_uid: row.get(1)?,
        index_uid: row.get(2)?,
        kind: number(row, 3, Kind::from_number)?,
        status: number(row, 4, Status::from_number)?,
        canceled_by: row.get(5)?,
        enqueued_at: Timestamp::from_nanos(row.get(6)?),
        started_at: time(7)?,
        finished_at: time(8)?,
        details: details.map(RawValue::from_string).transpose().map_err(|source| json(9, source))?,
        error: error.map(Into::into),
        custom_metadata: row.get(11)?,
    })
}

/// A column that holds the number of an enum.
pub(super) fn number<T>(row: &Row<'_>, column: usize, parse: impl Fn(u8) -> Option<T>) -> rusqlite::Result<T> {
    let number: i64 = row.get(column)?;
    u8::try_from(number).ok().and_then(parse).ok_or(rusqlite::Error::IntegralValueOutOfRange(column, number))
}

pub(super) fn content(uid: u32, text: &str) -> Result<Content, StoreError> {
    serde_json::from_str(text).map_err(|source| StoreError::Corrupt { what: "content", uid, source })
}
