//! The table, its publication and its slot.

use super::batch::Shape;
use super::catalog::{Catalog, text};
use super::mark::Origin;
use super::{Followed, SyncError};
use crate::postgres::{Address, Column, Connection, Lsn, PostgresError, Relation, Row, Types, identifier, literal};

/// A table of a database.
pub(super) struct Source {
    pub(super) address: Address,
    /// Name of the table on the command line.
    named: String,
    pub(super) origin: Origin,
    pub(super) catalog: Catalog,
    /// The field that identifies a document: the key, or one of its own where that has several columns.
    pub(super) id_field: String,
    types: Types,
}

/// Position of a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Everything before was confirmed.
    pub(super) confirmed: Lsn,
}

/// The name of a slot has small letters, digits and underscores.
pub(super) fn slot_of(followed: &Followed) -> Result<String, SyncError> {
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

impl Source {
    /// Looks at the table, over a connection that replicates.
    pub(super) async fn open(
        address: &Address,
        followed: &Followed,
        connection: &mut Connection,
    ) -> Result<Source, SyncError> {
        let level = connection.query("SHOW wal_level").await?;
        if level.first().is_none_or(|row| text(row, 0) != "logical") {
            let reason =
                "the database writes no logical log: set wal_level = logical in postgresql.conf, and restart it";
            return Err(SyncError::Table(reason.to_owned()));
        }
        let slot = slot_of(followed)?;
        let system = connection.query("IDENTIFY_SYSTEM").await?.first().map(|row| text(row, 0)).unwrap_or_default();
        let catalog = Catalog::read(connection, &followed.table, &slot).await?;
        let id_field = id_field(&catalog.key, &catalog.columns, followed)?;
        let types = Types::read(connection).await?;
        let origin = Origin { system, database: address.database.clone(), slot };
        Ok(Source { address: address.clone(), named: followed.table.clone(), origin, catalog, id_field, types })
    }

    /// Has the database send changes of the table.
    pub(super) async fn publish(&mut self, connection: &mut Connection) -> Result<(), SyncError> {
        if self.catalog.publication.is_none() {
            let (slot, named) = (identifier(&self.origin.slot), literal(&self.origin.slot));
            let known = format!(
                "SELECT (SELECT count(*) FROM pg_publication_tables t WHERE t.pubname = p.pubname) FROM pg_publication p \
                 WHERE p.pubname = {named}"
            );
            let only = self.catalog.only();
            let sql = match connection.query(&known).await?.first() {
                None => format!("CREATE PUBLICATION {slot} FOR TABLE {only} WITH (publish_via_partition_root = true)"),
                // That of a table which is no more.
                Some(row) if text(row, 0) == "0" => format!("ALTER PUBLICATION {slot} ADD TABLE {only}"),
                Some(_) => return Err(self.unpublished()),
            };
            connection.query(&sql).await?;
            self.catalog = Catalog::read(connection, &self.named, &self.origin.slot).await?;
        }
        if self.catalog.publication.is_none() { Err(self.unpublished()) } else { Ok(()) }
    }

    fn unpublished(&self) -> SyncError {
        let (slot, only) = (identifier(&self.origin.slot), self.catalog.only());
        SyncError::Table(match self.catalog.has_partitions {
            false => format!(
                "the publication {slot} does not have the table {only}: ALTER PUBLICATION {slot} ADD TABLE {only}, or choose \
                 another --slot"
            ),
            true => format!(
                "the publication {slot} does not have the partitioned table {only} as one: ALTER PUBLICATION {slot} ADD TABLE {only}, \
                 and ALTER PUBLICATION {slot} SET (publish_via_partition_root = true), or choose another --slot"
            ),
        })
    }

    /// The slot, which is there once the table was loaded.
    pub(super) async fn slot(&self, connection: &mut Connection) -> Result<Option<Slot>, SyncError> {
        let sql = format!(
            "SELECT plugin, database, wal_status, confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = {}",
            literal(&self.origin.slot)
        );
        let rows = connection.query(&sql).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        if text(row, 0) != "pgoutput" || text(row, 1) != self.address.database {
            let reason = format!("the slot `{}` belongs to something else: choose another --slot", self.origin.slot);
            return Err(SyncError::Table(reason));
        }
        if text(row, 2) == "lost" {
            let reason = "the database has removed changes before they were read: load the table again with --again";
            return Err(SyncError::Table(reason.to_owned()));
        }
        // One that a command has asked for which was killed since.
        let is_being_made = row.get(3).is_none_or(Option::is_none);
        if is_being_made { Err(SyncError::Meanwhile) } else { Ok(Some(Slot { confirmed: text(row, 3).parse()? })) }
    }

    pub(super) async fn drop_slot(&self, connection: &mut Connection) -> Result<(), SyncError> {
        let sql = format!(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = {}",
            literal(&self.origin.slot)
        );
        connection.query(&sql).await?;
        Ok(())
    }

    /// The end of the log of the database.
    pub(super) async fn present(&self, connection: &mut Connection) -> Result<Lsn, SyncError> {
        let rows = connection.query("SELECT pg_current_wal_flush_lsn()").await?;
        Ok(rows.first().map(|row| text(row, 0)).unwrap_or_default().parse()?)
    }

    /// The table as it is now.
    pub(super) async fn catalog_now(&self, connection: &mut Connection) -> Result<Catalog, SyncError> {
        Catalog::read(connection, &self.named, &self.origin.slot).await
    }

    /// Returns how rows become documents.
    pub(super) fn shape(&self) -> Result<Shape, SyncError> {
        let catalog = &self.catalog;
        Shape::new(&catalog.columns, &catalog.key, &self.id_field, &self.types)
            .ok_or_else(|| SyncError::Table(format!("the table lacks a column of its key: {}", catalog.key.join(", "))))
    }

    /// Returns whether changes come in the form of the table that was loaded.
    pub(super) fn describes(&self, relation: &Relation) -> bool {
        let catalog = &self.catalog;
        let is_key = |name: &String| catalog.key.contains(name);
        let has_key =
            catalog.sends_whole_rows() || relation.key.len() == catalog.key.len() && relation.key.iter().all(is_key);
        let identity = if catalog.sends_whole_rows() { b'f' } else { b'd' };
        relation.columns == catalog.columns && relation.identity == identity && has_key
    }

    /// A row as it is now, by the texts of its key.
    pub(super) async fn row(&self, key: &[&str]) -> Result<Option<Row>, SyncError> {
        let mut connection = Connection::open(&self.address, false).await?;
        let is = |(name, text): (&String, &&str)| format!("{} = {}", identifier(name), literal(text));
        let condition = self.catalog.key.iter().zip(key).map(is).collect::<Vec<_>>().join(" AND ");
        match connection.query(&self.catalog.select(Some(&condition))).await {
            // It lacks a column, or is no more.
            Err(PostgresError::Refused { code, .. }) if code.starts_with("42") => {
                Err(SyncError::Reload("the table changed while its changes were followed".to_owned()))
            }
            rows => Ok(rows?.into_iter().next()),
        }
    }
}

/// Leaves nothing in the database, whatever has become of the table.
pub(super) async fn remove(connection: &mut Connection, followed: &Followed) -> Result<String, SyncError> {
    let slot = slot_of(followed)?;
    let sql = format!(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = {}",
        literal(&slot)
    );
    connection.query(&sql).await?;
    connection.query(&format!("DROP PUBLICATION IF EXISTS {}", identifier(&slot))).await?;
    Ok(slot)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(index: &str, slot: Option<&str>) -> Followed {
        let (table, slot) = ("t".to_owned(), slot.map(str::to_owned));
        Followed { table, index: index.to_owned(), slot, id_field: "id".to_owned() }
    }

    #[test]
    fn documents_have_one_field_that_identifies_them() {
        let columns = ["id", "shop"].map(|name| Column { name: name.to_owned(), kind: 25, modifier: -1 });
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
