//! The table, its publication and its slot.

use super::{SyncArgs, SyncError};
use crate::postgres::{Address, Column, Connection, Lsn, Row, Types, identifier, literal};

/// A table of a database.
pub(super) struct Source {
    pub(super) address: Address,
    /// Of the slot and of the publication.
    pub(super) slot: String,
    pub(super) table: u32,
    schema: String,
    name: String,
    /// Those that are sent: none that is computed.
    pub(super) columns: Vec<Column>,
    /// The column that identifies a row.
    pub(super) key: String,
    pub(super) types: Types,
}

/// The name of a slot has small letters, digits and underscores.
fn slot_of(args: &SyncArgs) -> Result<String, SyncError> {
    let named = args.slot.clone().unwrap_or_else(|| {
        let index = args.index.to_ascii_lowercase().replace('-', "_");
        format!("lamina_{index}").chars().take(SLOT_BYTES_MAX).collect()
    });
    let is_fine = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    match (1..=SLOT_BYTES_MAX).contains(&named.len()) && named.bytes().all(is_fine) {
        true => Ok(named),
        false => Err(SyncError::Table(format!(
            "`{named}` is no name of a slot: expected at most {SLOT_BYTES_MAX} of a to z, 0 to 9 and _; give one with --slot"
        ))),
    }
}

/// Names of PostgreSQL have 63; the slot of a load adds to this.
const SLOT_BYTES_MAX: usize = 48;

fn text(row: &Row, place: usize) -> String {
    row.get(place).cloned().flatten().unwrap_or_default()
}

impl Source {
    /// Connects and looks at the table.
    pub(super) async fn open(address: &Address, args: &SyncArgs) -> Result<(Source, Connection), SyncError> {
        let slot = slot_of(args)?;
        let mut connection = Connection::open(address, false).await?;
        let level = connection.query("SHOW wal_level").await?;
        if level.first().is_none_or(|row| text(row, 0) != "logical") {
            let reason = "the database writes no changes that can be followed: set wal_level = logical in postgresql.conf, and start it anew";
            return Err(SyncError::Table(reason.to_owned()));
        }
        let table = &args.table;
        let found = connection
            .query(&format!(
                "SELECT c.oid, n.nspname, c.relname, c.relreplident FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE c.oid = to_regclass({}) AND c.relkind IN ('r', 'p')",
                literal(table)
            ))
            .await?;
        let Some(row) = found.first() else {
            return Err(SyncError::Table(format!("the database `{}` has no table `{table}`", address.database)));
        };
        if matches!(text(row, 3).as_str(), "n" | "i") {
            return Err(SyncError::Table(format!(
                "the table `{table}` does not send its primary key with changes: ALTER TABLE {table} REPLICA IDENTITY DEFAULT"
            )));
        }
        let oid = text(row, 0);
        let key = key(&mut connection, &oid, table).await?;
        let columns = columns(&mut connection, &oid).await?;
        let types = Types::read(&mut connection).await?;
        let table = oid.parse().unwrap_or_default();
        let (schema, name) = (text(row, 1), text(row, 2));
        Ok((Source { address: address.clone(), slot, table, schema, name, columns, key, types }, connection))
    }

    /// The table as SQL has it.
    pub(super) fn qualified(&self) -> String {
        format!("{}.{}", identifier(&self.schema), identifier(&self.name))
    }

    /// The columns as SQL has them.
    pub(super) fn column_list(&self) -> String {
        self.columns.iter().map(|column| identifier(&column.name)).collect::<Vec<_>>().join(", ")
    }

    /// Has the database send changes of the table.
    pub(super) async fn publish(&self, connection: &mut Connection) -> Result<(), SyncError> {
        let slot = identifier(&self.slot);
        let known = format!("SELECT 1 FROM pg_publication WHERE pubname = {}", literal(&self.slot));
        if connection.query(&known).await?.is_empty() {
            let with = "WITH (publish_via_partition_root = true)";
            connection.query(&format!("CREATE PUBLICATION {slot} FOR TABLE {} {with}", self.qualified())).await?;
        }
        let named = literal(&self.slot);
        let sql = format!(
            "SELECT 1 FROM pg_publication_tables WHERE pubname = {named} AND schemaname = {} AND tablename = {}",
            literal(&self.schema),
            literal(&self.name)
        );
        match connection.query(&sql).await?.is_empty() {
            false => Ok(()),
            true => Err(SyncError::Table(format!(
                "the publication {slot} does not have the table {}: give another --slot",
                self.qualified()
            ))),
        }
    }

    /// Whether the table was loaded, and is followed since.
    pub(super) async fn has_slot(&self, connection: &mut Connection) -> Result<bool, SyncError> {
        let sql = format!(
            "SELECT plugin, database, wal_status FROM pg_replication_slots WHERE slot_name = {}",
            literal(&self.slot)
        );
        let rows = connection.query(&sql).await?;
        let Some(row) = rows.first() else { return Ok(false) };
        if text(row, 0) != "pgoutput" || text(row, 1) != self.address.database {
            let reason = format!("the slot `{}` belongs to something else: give another --slot", self.slot);
            return Err(SyncError::Table(reason));
        }
        if text(row, 2) == "lost" {
            let reason =
                "the database has removed changes that were not followed in time: load the table anew with --again";
            return Err(SyncError::Table(reason.to_owned()));
        }
        Ok(true)
    }

    pub(super) async fn drop_slot(&self, connection: &mut Connection) -> Result<(), SyncError> {
        let sql = format!(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = {}",
            literal(&self.slot)
        );
        connection.query(&sql).await?;
        Ok(())
    }

    /// Leaves nothing in the database.
    pub(super) async fn remove(&self, connection: &mut Connection) -> Result<(), SyncError> {
        self.drop_slot(connection).await?;
        connection.query(&format!("DROP PUBLICATION IF EXISTS {}", identifier(&self.slot))).await?;
        Ok(())
    }

    /// The end of the log of the database.
    pub(super) async fn present(&self, connection: &mut Connection) -> Result<Lsn, SyncError> {
        let rows = connection.query("SELECT pg_current_wal_flush_lsn()").await?;
        Ok(rows.first().map(|row| text(row, 0)).unwrap_or_default().parse()?)
    }

    /// A row as it is now, by the text of its key.
    pub(super) async fn row(&self, key: &str) -> Result<Option<Row>, SyncError> {
        let mut connection = Connection::open(&self.address, false).await?;
        let (columns, table, name) = (self.column_list(), self.qualified(), identifier(&self.key));
        let sql = format!("SELECT {columns} FROM {table} WHERE {name} = {}", literal(key));
        Ok(connection.query(&sql).await?.into_iter().next())
    }

    /// The types that users have made, as they are now.
    pub(super) async fn read_types(&mut self) -> Result<(), SyncError> {
        let mut connection = Connection::open(&self.address, false).await?;
        self.types = Types::read(&mut connection).await?;
        Ok(())
    }
}

async fn key(connection: &mut Connection, oid: &str, table: &str) -> Result<String, SyncError> {
    let keys = connection
        .query(&format!(
            "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
             WHERE i.indrelid = {oid} AND i.indisprimary"
        ))
        .await?;
    match &keys[..] {
        [key] => Ok(text(key, 0)),
        [] => Err(SyncError::Table(format!("the table `{table}` has no primary key: documents need one"))),
        _ => Err(SyncError::Table(format!(
            "the primary key of the table `{table}` has {} columns: documents are identified by one",
            keys.len()
        ))),
    }
}

async fn columns(connection: &mut Connection, oid: &str) -> Result<Vec<Column>, SyncError> {
    let rows = connection
        .query(&format!(
            "SELECT attname, atttypid FROM pg_attribute WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped \
             AND attgenerated = '' ORDER BY attnum"
        ))
        .await?;
    Ok(rows.iter().map(|row| Column { name: text(row, 0), kind: text(row, 1).parse().unwrap_or_default() }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: SyncArgs,
    }

    #[test]
    fn slots_have_names_that_the_database_takes() {
        let of = |more: &[&str]| {
            let line = [&["sync", "postgres://a@b/c", "--table", "t"][..], more].concat();
            slot_of(&Line::parse_from(line).args)
        };
        assert_eq!(of(&["--index", "My-Films"]).unwrap(), "lamina_my_films");
        assert_eq!(of(&["--index", &"x".repeat(400)]).unwrap().len(), SLOT_BYTES_MAX);
        assert_eq!(of(&["--index", "i", "--slot", "mine_2"]).unwrap(), "mine_2");
        for bad in ["", "Mine", "a b", "a;drop", &"x".repeat(49)] {
            assert!(of(&["--index", "i", "--slot", bad]).is_err(), "{bad}");
        }
    }
}
