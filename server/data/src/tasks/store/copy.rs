//! A copy of a SQLite database that is in use.

use std::fs::File;
use std::path::Path;

use super::{StoreError, schema};

/// Writes the present state of the database at `source` to the new file `target`, durably. Writers go on meanwhile.
pub fn copy_database(source: &Path, target: &Path) -> Result<(), StoreError> {
    let connection = schema::open_reader(source)?;
    let name = target.to_str().ok_or_else(|| rusqlite::Error::InvalidPath(target.to_owned()))?;
    connection.execute("VACUUM INTO ?1", [name])?;
    Ok(File::open(target)?.sync_all()?)
}
