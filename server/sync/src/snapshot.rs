//! The rows of one state of the table, and the slot that goes on from it.

use std::collections::HashSet;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use lamina_base::plural::counted;
use serde_json::json;

use super::destination::Destination;
use super::mark::Mark;
use super::source::Source;
use super::{SyncError, Voice};
use crate::postgres::{Cell, Connection, Lsn, PostgresError, identifier, literal};

/// Bytes of a request.
const BODY_BYTES: usize = 8 << 20;
/// Requests whose tasks need not have ended.
const OPEN_TASKS: usize = 4;

/// Loads the table, and answers with the mark that the index has then. The slot is there when every row can be found: whatever ends
/// this before, the next start loads anew.
pub(super) async fn load(source: &Source, destination: &Destination, voice: Voice) -> Result<Mark, SyncError> {
    let start = Instant::now();
    let mut replicating = Connection::open(&source.address, true).await?;
    // It is gone with its connection.
    let instant = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let loading = format!("{}_{:x}", source.origin.slot, instant & 0xFFFF_FFFF);
    let sql = format!("CREATE_REPLICATION_SLOT {} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT", identifier(&loading));
    let made = replicating.query(&sql).await?;
    let state = made.first().and_then(|row| row.get(2).cloned().flatten());
    let state = state.ok_or_else(|| PostgresError::Unexpected("a slot without a snapshot".to_owned()))?;
    let position: Lsn = made.first().and_then(|row| row.get(1).cloned().flatten()).unwrap_or_default().parse()?;
    let remembered = source.catalog.remembered(&source.id_field);
    let loaded = Mark::new(source.origin.clone(), remembered, Some(position));
    let loading_mark = Mark { position: None, ..loaded.clone() };
    destination.note(&loading_mark, true).await?;

    // What an earlier load has left, and the table has not any more.
    let before = destination.ids().await?;
    let mut reading = Connection::open(&source.address, false).await?;
    reading.query("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    reading.query(&format!("SET TRANSACTION SNAPSHOT {}", literal(&state))).await?;
    reading.copy(&format!("COPY ({}) TO STDOUT", source.catalog.select(None))).await?;
    let rows = Rows { source, destination, mark: &loading_mark };
    let (count, keys) = rows.send(reading, !before.is_empty()).await?;
    let stale: Vec<String> = before.into_iter().filter(|id| !keys.contains(id)).collect();
    destination.remove(&stale, &loading_mark).await?;

    // From here on the table is followed, from the state that was loaded.
    destination.note(&loaded, false).await?;
    let slot = literal(&source.origin.slot);
    let sql = format!("SELECT pg_copy_logical_replication_slot({}, {slot}, false)", literal(&loading));
    replicating.query(&sql).await?;
    let seconds = start.elapsed().as_secs_f64();
    let removed = match stale.len() {
        0 => String::new(),
        count => format!(", removed {} without a row", counted(count, "document")),
    };
    let fields = json!({
        "index": destination.index,
        "table": source.catalog.qualified(),
        "rows": count,
        "removedDocuments": stale.len(),
        "seconds": seconds,
    });
    voice.say("loaded", fields, format_args!("loaded {} in {seconds:.1} s{removed}", counted(count, "row")));
    Ok(loaded)
}

/// Destination of rows of a copy.
struct Rows<'l> {
    source: &'l Source,
    destination: &'l Destination,
    mark: &'l Mark,
}

impl Rows<'_> {
    /// Sends the rows, and waits until they can be found: how many, and their keys if these are wanted.
    async fn send(&self, mut reading: Connection, with_keys: bool) -> Result<(u64, HashSet<String>), SyncError> {
        let Rows { source, destination, mark } = self;
        let shape = source.shape()?;
        let (mut count, mut keys, mut lines, mut tasks) = (0, HashSet::new(), Vec::new(), Vec::new());
        while let Some(line) = reading.copied().await? {
            let row = cells(&line);
            if !shape.fits(row.len()) {
                return Err(PostgresError::Unexpected(format!("a row of {}", counted(row.len(), "column"))).into());
            }
            let key = shape.key(&row).ok_or_else(|| PostgresError::Unexpected("a row without its key".to_owned()))?;
            shape.line(&key, &row, &mut lines);
            if with_keys {
                keys.insert(key);
            }
            count += 1;
            if lines.len() > BODY_BYTES {
                tasks.push(destination.load(std::mem::take(&mut lines), mark).await?);
            }
            if tasks.len() > OPEN_TASKS {
                destination.finish(&tasks).await?;
                tasks.clear();
            }
        }
        if !lines.is_empty() {
            tasks.push(destination.load(lines, mark).await?);
        }
        destination.finish(&tasks).await?;
        Ok((count, keys))
    }
}

/// The values of a line of a copy: tabs between them, `\N` for null.
fn cells(line: &[u8]) -> Vec<Cell> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.split(|byte| *byte == b'\t').map(cell).collect()
}

fn cell(field: &[u8]) -> Cell {
    if field == b"\\N" {
        return Cell::Null;
    }
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next().copied().unwrap_or(b'\\') {
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 11,
                other => other,
            },
            other => *other,
        });
    }
    Cell::Text(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_copy_are_read() {
        let text = |text: &str| Cell::Text(text.to_owned());
        assert_eq!(cells(b"1\tAlien\t\\N\t\n"), [text("1"), text("Alien"), Cell::Null, text("")]);
        assert_eq!(cells(b"a\\tb\\n\\\\N\t\\\\N\n"), [text("a\tb\n\\N"), text("\\N")]);
        assert_eq!(cells("ä\\b\\f\\r\\v\\x".as_bytes()), [text("ä\u{8}\u{c}\r\u{b}x")]);
    }
}
