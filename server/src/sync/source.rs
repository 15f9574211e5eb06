//! The table, its publication and its slot.

use super::batch::Shape;
use super::{Followed, SyncError};
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
    /// The columns that identify a row, in the order of the primary key.
    pub(super) key: Vec<String>,
    /// The field that identifies a document: the key, or one of its own where that has several columns.
    pub(super) id_field: String,
    pub(super) types: Types,
}

/// The name of a slot has small letters, digits and underscores.
fn slot_of(followed: &Followed) -> Result<String, SyncError> {
    let named = followed.slot.clone().unwrap_or_else(|| {
        let index = followed.index.to_ascii_lowercase().replace('-', "_");
        format!("lamina_{index}").chars().take(SLOT_BYTES_MAX).collect()
    });
    let is_fine = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    match (1..=SLOT_BYTES_MAX).contains(&named.len()) && named.bytes().all(is_fine) {
        true => Ok(named),
        false => Err(SyncError::Table(format!(
            "`{named}` is not a valid slot name: expected at most {SLOT_BYTES_MAX} of a to z, 0 to 9 and _; set one with --slot"
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
    pub(super) async fn open(address: &Address, followed: &Followed) -> Result<(Source, Connection), SyncError> {
        let slot = slot_of(followed)?;
        let mut connection = Connection::open(address, false).await?;
        let level = connection.query("SHOW wal_level").await?;
        if level.first().is_none_or(|row| text(row, 0) != "logical") {
            let reason =
                "the database writes no logical log: set wal_level = logical in postgresql.conf, and restart it";
            return Err(SyncError::Table(reason.to_owned()));
        }
        let table = &followed.table;
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
        let id_field = id_field(&key, &columns, followed)?;
        let types = Types::read(&mut connection).await?;
        let table = oid.parse().unwrap_or_default();
        let (schema, name) = (text(row, 1), text(row, 2));
        Ok((Source { address: address.clone(), slot, table, schema, name, columns, key, id_field, types }, connection))
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
                "the publication {slot} does not have the table {}: choose another --slot",
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
            let reason = format!("the slot `{}` belongs to something else: choose another --slot", self.slot);
            return Err(SyncError::Table(reason));
        }
        if text(row, 2) == "lost" {
            let reason = "the database has removed changes before they were read: load the table again with --again";
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

    /// How rows become documents; `None` where a column of the key is gone.
    pub(super) fn shape(&self) -> Option<Shape> {
        Shape::new(&self.columns, &self.key, &self.id_field, &self.types)
    }

    /// A row as it is now, by the texts of its key.
    pub(super) async fn row(&self, key: &[&str]) -> Result<Option<Row>, SyncError> {
        let mut connection = Connection::open(&self.address, false).await?;
        let (columns, table) = (self.column_list(), self.qualified());
        let is = |(name, text): (&String, &&str)| format!("{} = {}", identifier(name), literal(text));
        let condition = self.key.iter().zip(key).map(is).collect::<Vec<_>>().join(" AND ");
        let sql = format!("SELECT {columns} FROM {table} WHERE {condition}");
        Ok(connection.query(&sql).await?.into_iter().next())
    }

    /// The types that users have made, as they are now.
    pub(super) async fn read_types(&mut self) -> Result<(), SyncError> {
        let mut connection = Connection::open(&self.address, false).await?;
        self.types = Types::read(&mut connection).await?;
        Ok(())
    }
}

async fn key(connection: &mut Connection, oid: &str, table: &str) -> Result<Vec<String>, SyncError> {
    let keys = connection
        .query(&format!(
            "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
             WHERE i.indrelid = {oid} AND i.indisprimary ORDER BY array_position(i.indkey::int2[], a.attnum)"
        ))
        .await?;
    match &keys[..] {
        [] => Err(SyncError::Table(format!(
            "the table `{table}` has no primary key, by which rows and documents are told apart: give it one with ALTER TABLE \
             {table} ADD PRIMARY KEY (…)"
        ))),
        keys => Ok(keys.iter().map(|key| text(key, 0)).collect()),
    }
}

/// The field that identifies documents.
fn id_field(key: &[String], columns: &[Column], followed: &Followed) -> Result<String, SyncError> {
    if let [one] = key {
        return Ok(one.clone());
    }
    let named = &followed.id_field;
    match columns.iter().any(|column| column.name == *named) {
        true => Err(SyncError::Table(format!(
            "the table `{}` has a column `{named}`, and its key {} columns, which become one field: name that with --id-field",
            followed.table,
            key.len()
        ))),
        false => Ok(named.clone()),
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

    fn followed(index: &str, slot: Option<&str>) -> Followed {
        let (table, slot) = ("t".to_owned(), slot.map(str::to_owned));
        Followed { table, index: index.to_owned(), slot, id_field: "id".to_owned() }
    }

    #[test]
    fn documents_have_one_field_that_identifies_them() {
        let columns = ["id", "shop"].map(|name| Column { name: name.to_owned(), kind: 25 });
        let of = |key: &[&str], id_field: &str| {
            let key: Vec<String> = key.iter().map(|name| (*name).to_owned()).collect();
            let followed = Followed { id_field: id_field.to_owned(), ..followed("i", None) };
            id_field_or_error(&key, &columns, &followed)
        };
        assert_eq!(of(&["shop"], "id"), Ok("shop".to_owned()));
        assert_eq!(of(&["shop", "id"], "rowId"), Ok("rowId".to_owned()));
        assert!(of(&["shop", "id"], "id").unwrap_err().contains("--id-field"));
    }

    fn id_field_or_error(key: &[String], columns: &[Column], followed: &Followed) -> Result<String, String> {
        id_field(key, columns, followed).map_err(|error| error.to_string())
    }

    #[test]
    fn slots_have_names_that_the_database_takes() {
        let of = |index: &str, slot: Option<&str>| slot_of(&followed(index, slot));
        assert_eq!(of("My-Films", None).unwrap(), "lamina_my_films");
        assert_eq!(of(&"x".repeat(400), None).unwrap().len(), SLOT_BYTES_MAX);
        assert_eq!(of("i", Some("mine_2")).unwrap(), "mine_2");
        for bad in ["", "Mine", "a b", "a;drop", &"x".repeat(49)] {
            assert!(of("i", Some(bad)).is_err(), "{bad}");
        }
    }
}
