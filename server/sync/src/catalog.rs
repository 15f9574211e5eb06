//! What the catalog of the database says of a table and of its publication.

use xxhash_rust::xxh3::xxh3_128;

use super::SyncError;
use super::mark::Table;
use crate::postgres::{Column, Connection, Row, identifier, literal};

/// A table, as it is now.
#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) oid: u32,
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) has_partitions: bool,
    /// Columns that are published.
    pub(super) columns: Vec<Column>,
    /// The columns that identify a row, in the order of the primary key.
    pub(super) key: Vec<String>,
    pub(super) publication: Option<Publication>,
    /// Tables that inherit from it.
    pub(super) heirs: usize,
    identity: String,
    /// Everything else that decides what documents are.
    rest: Vec<Row>,
    files: Vec<Row>,
    attributes: Vec<Row>,
}

/// Published part of the table.
#[derive(Debug)]
pub(super) struct Publication {
    /// Row of the operations and the versions.
    row: Row,
    /// The published columns; all where the database does not say.
    columns: Option<Vec<String>>,
    /// The condition of published rows, as SQL.
    pub(super) filter: Option<String>,
}

pub(super) fn text(row: &Row, place: usize) -> String {
    row.get(place).cloned().flatten().unwrap_or_default()
}

fn refused<T>(reason: String) -> Result<T, SyncError> {
    Err(SyncError::Table(reason))
}

fn checksum(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

impl Catalog {
    /// Reads what there is to know of `table`, whose publication may be missing.
    ///
    /// # Errors
    /// When it cannot be followed: with what to change.
    pub(super) async fn read(
        connection: &mut Connection,
        table: &str,
        publication: &str,
    ) -> Result<Catalog, SyncError> {
        let sql = format!(
            "SELECT c.oid, n.nspname, c.relname, c.relreplident, c.relkind, c.relpersistence, row_security_active(c.oid), \
             pg_relation_filenode(c.oid), (SELECT count(*) FROM pg_inherits i WHERE i.inhparent = c.oid), current_user \
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.oid = to_regclass({}) AND c.relkind IN ('r', 'p')",
            literal(table)
        );
        let found = connection.query(&sql).await?;
        let Some(row) = found.first() else { return refused(format!("the database has no table `{table}`")) };
        check(table, row)?;
        let (oid, schema, name) = (text(row, 0), text(row, 1), text(row, 2));
        let has_partitions = text(row, 4) == "p";
        let key = key(connection, &oid, table).await?;
        let publication = Publication::read(connection, publication, &oid, (&schema, &name)).await?;
        if let Some(publication) = &publication {
            publication.check(&key)?;
        }
        let attributes = attributes(connection, &oid).await?;
        let columns = published(&attributes, publication.as_ref());
        let mut files = vec![vec![row.get(7).cloned().flatten()]];
        let mut rest = types(connection, &columns).await?;
        if has_partitions {
            let partitions = partitions(connection, &oid, table).await?;
            files.extend(partitions.iter().map(|partition| vec![partition.get(3).cloned().flatten()]));
            // When each was attached.
            rest.extend(
                partitions.into_iter().map(|partition| vec![partition[0].clone(), partition.get(4).cloned().flatten()]),
            );
        }
        Ok(Catalog {
            oid: oid.parse().unwrap_or_default(),
            heirs: if has_partitions { 0 } else { text(row, 8).parse().unwrap_or_default() },
            identity: text(row, 3),
            schema,
            name,
            has_partitions,
            columns,
            key,
            publication,
            rest,
            files,
            attributes,
        })
    }

    /// Returns what the index remembers of it. `id_field` is that of its documents.
    pub(super) fn remembered(&self, id_field: &str) -> Table {
        let publication = self.publication.as_ref().map(|publication| (&publication.row, &publication.filter));
        let columns: Vec<_> = self.columns.iter().map(|column| (&column.name, column.kind, column.modifier)).collect();
        let definition = format!("{:?}", (publication, columns, &self.key, &self.identity, id_field, &self.rest));
        Table {
            oid: self.oid,
            definition: checksum(&definition),
            files: checksum(&format!("{:?}", self.files)),
            columns: checksum(&format!("{:?}", self.attributes)),
            has_partitions: self.has_partitions,
        }
    }

    /// Returns whether rows come with their whole contents before a change.
    pub(super) fn sends_whole_rows(&self) -> bool {
        self.identity == "f"
    }

    /// The table as SQL has it.
    pub(super) fn qualified(&self) -> String {
        format!("{}.{}", identifier(&self.schema), identifier(&self.name))
    }

    /// The table without those that inherit from it, whose changes are not its own.
    pub(super) fn only(&self) -> String {
        format!("{}{}", if self.has_partitions { "" } else { "ONLY " }, self.qualified())
    }

    /// The published columns of the published rows, under another condition besides.
    pub(super) fn select(&self, condition: Option<&str>) -> String {
        let columns = self.columns.iter().map(|column| identifier(&column.name)).collect::<Vec<_>>().join(", ");
        let filter = self.publication.as_ref().and_then(|publication| publication.filter.as_deref());
        let all: Vec<String> = filter.into_iter().chain(condition).map(|condition| format!("({condition})")).collect();
        let condition = if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) };
        format!("SELECT {columns} FROM {}{condition}", self.only())
    }
}

/// Returns whether a table can be followed, as far as its own row of the catalog goes.
fn check(table: &str, row: &Row) -> Result<(), SyncError> {
    if matches!(text(row, 3).as_str(), "n" | "i") {
        return refused(format!(
            "the table `{table}` does not send its primary key with changes: ALTER TABLE {table} REPLICA IDENTITY DEFAULT"
        ));
    }
    if matches!(text(row, 5).as_str(), "u" | "t") {
        return refused(format!("changes of the table `{table}` are not in the log: ALTER TABLE {table} SET LOGGED"));
    }
    if text(row, 6) == "t" {
        let user = text(row, 9);
        return refused(format!(
            "row security of the table `{table}` hides rows from the user `{user}`, whose changes would be followed: \
             ALTER ROLE {user} BYPASSRLS, or choose rows by the condition of a publication"
        ));
    }
    Ok(())
}

async fn key(connection: &mut Connection, oid: &str, table: &str) -> Result<Vec<String>, SyncError> {
    let keys = connection
        .query(&format!(
            "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
             WHERE i.indrelid = {oid} AND i.indisprimary ORDER BY array_position(i.indkey::int2[], a.attnum)"
        ))
        .await?;
    match &keys[..] {
        [] => refused(format!(
            "the table `{table}` has no primary key, which identifies its documents: add one with \
             ALTER TABLE {table} ADD PRIMARY KEY (…), or name another table with --table"
        )),
        keys => Ok(keys.iter().map(|key| text(key, 0)).collect()),
    }
}

/// Names, types and versions of all columns, and whether they are computed.
async fn attributes(connection: &mut Connection, oid: &str) -> Result<Vec<Row>, SyncError> {
    let sql = format!(
        "SELECT attname, atttypid, atttypmod, xmin, attgenerated FROM pg_attribute WHERE attrelid = {oid} AND attnum > 0 \
         AND NOT attisdropped ORDER BY attnum"
    );
    Ok(connection.query(&sql).await?)
}

fn published(attributes: &[Row], publication: Option<&Publication>) -> Vec<Column> {
    let listed = publication.and_then(|publication| publication.columns.as_ref());
    // Computed columns can be published since version 18; versions before list them all the same.
    let sends_computed = publication.is_some_and(|publication| publication.row.get(9).is_some_and(Option::is_some));
    let is_published = |row: &&Row| {
        let is_listed = listed.is_none_or(|listed| listed.contains(&text(row, 0)));
        is_listed && (text(row, 4).is_empty() || sends_computed && listed.is_some())
    };
    let column = |row: &Row| Column {
        name: text(row, 0),
        kind: text(row, 1).parse().unwrap_or_default(),
        modifier: text(row, 2).parse().unwrap_or(-1),
    };
    attributes.iter().filter(is_published).map(column).collect()
}

/// Values of enumerations and fields of composite types, which change without a row that does.
async fn types(connection: &mut Connection, columns: &[Column]) -> Result<Vec<Row>, SyncError> {
    let kinds = columns.iter().map(|column| column.kind.to_string()).collect::<Vec<_>>().join(",");
    let sql = format!(
        "WITH RECURSIVE used(oid) AS (SELECT unnest('{{{kinds}}}'::oid[]) UNION SELECT n.oid FROM used u \
         JOIN pg_type t ON t.oid = u.oid CROSS JOIN LATERAL (SELECT t.typelem UNION ALL SELECT t.typbasetype UNION ALL \
         SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) n(oid) WHERE n.oid <> 0) \
         SELECT e.enumtypid, e.oid::text, e.enumlabel::text FROM pg_enum e JOIN used u ON u.oid = e.enumtypid UNION ALL \
         SELECT t.oid, a.attnum::text, a.attname::text FROM used u JOIN pg_type t ON t.oid = u.oid \
         JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1, 2"
    );
    Ok(connection.query(&sql).await?)
}

/// The partitions of all levels: their object ids, kinds, persistence, files, and when each was attached.
async fn partitions(connection: &mut Connection, oid: &str, table: &str) -> Result<Vec<Row>, SyncError> {
    let sql = format!(
        "SELECT t.relid::oid, c.relkind, c.relpersistence, pg_relation_filenode(c.oid), i.xmin, c.oid::regclass \
         FROM pg_partition_tree({oid}) t JOIN pg_class c ON c.oid = t.relid LEFT JOIN pg_inherits i ON i.inhrelid = c.oid \
         WHERE t.relid <> {oid} ORDER BY c.oid"
    );
    let partitions = connection.query(&sql).await?;
    match partitions.iter().find(|row| text(row, 1) == "f" || text(row, 2) != "p") {
        Some(row) => refused(format!(
            "changes of `{}`, a partition of `{table}`, are not in the log of this database: detach it, or make it a logged table",
            text(row, 5)
        )),
        None => Ok(partitions),
    }
}

impl Publication {
    /// The publication; `None` where it is missing, or the table is not in it.
    async fn read(
        connection: &mut Connection,
        name: &str,
        oid: &str,
        (schema, table): (&str, &str),
    ) -> Result<Option<Publication>, SyncError> {
        let listed = format!(
            "SELECT to_jsonb(t)->>'rowfilter', c.name FROM pg_publication_tables t \
             LEFT JOIN LATERAL jsonb_array_elements_text(to_jsonb(t)->'attnames') c(name) ON true \
             WHERE t.pubname = {} AND t.schemaname = {} AND t.tablename = {}",
            literal(name),
            literal(schema),
            literal(table)
        );
        let listed = connection.query(&listed).await?;
        let Some(first) = listed.first() else { return Ok(None) };
        let sql = format!(
            "SELECT p.pubname, p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate, p.oid, p.xmin, r.oid, r.xmin, to_jsonb(p)->>'pubgencols' FROM pg_publication p \
             LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = {oid} WHERE p.pubname = {}",
            literal(name)
        );
        let Some(row) = connection.query(&sql).await?.into_iter().next() else { return Ok(None) };
        let columns: Vec<String> = listed.iter().filter_map(|row| row.get(1).cloned().flatten()).collect();
        let columns = (!columns.is_empty()).then_some(columns);
        Ok(Some(Publication { row, columns, filter: first.first().cloned().flatten() }))
    }

    /// Returns whether all operations and the key are published.
    fn check(&self, key: &[String]) -> Result<(), SyncError> {
        let name = identifier(&text(&self.row, 0));
        if (1..5).any(|place| text(&self.row, place) == "f") {
            return refused(format!(
                "the publication {name} leaves out some operations, so the index would differ from the table: \
                 ALTER PUBLICATION {name} SET (publish = 'insert, update, delete, truncate')"
            ));
        }
        let is_missing = |column: &&String| self.columns.as_ref().is_some_and(|columns| !columns.contains(column));
        match key.iter().find(is_missing) {
            Some(column) => refused(format!(
                "the publication {name} leaves out the column `{column}` of the primary key: add it to its list of columns"
            )),
            None => Ok(()),
        }
    }
}
