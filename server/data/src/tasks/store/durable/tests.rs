use std::path::PathBuf;

use super::super::schema;
use super::*;

/// A database in a folder, with a row a transaction.
struct Database {
    folder: tempfile::TempDir,
    durable: Durable,
}

impl Database {
    fn new() -> Database {
        let folder = tempfile::tempdir().unwrap();
        let mut database = Database { durable: open(folder.path()), folder };
        database.durable.execute("CREATE TABLE rows (text TEXT)", []).unwrap();
        database.add("first");
        database
    }

    fn add(&mut self, text: &str) {
        self.durable.execute("INSERT INTO rows VALUES (?1)", [text]).unwrap();
    }

    fn log(&self) -> PathBuf {
        log_of(&self.folder.path().join("db"))
    }

    /// Returns what the process that was killed now leaves behind.
    fn killed(&self) -> Database {
        let folder = tempfile::tempdir().unwrap();
        for name in ["db", "db-wal"] {
            std::fs::copy(self.folder.path().join(name), folder.path().join(name)).unwrap();
        }
        Database { durable: open(folder.path()), folder }
    }

    fn rows(&self) -> Vec<String> {
        let mut statement = self.durable.connection().prepare("SELECT text FROM rows ORDER BY rowid").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// Leaves a whole transaction behind the end of the log, as a commit does whose sync fails.
    fn leave(&self, text: &str) {
        let mut other = self.killed();
        other.add(text);
        let (log, longer) = (std::fs::read(self.log()).unwrap(), std::fs::read(other.log()).unwrap());
        assert_eq!(log[..], longer[..log.len()], "the same log, and more");
        assert!(longer.len() > log.len());
        std::fs::write(self.log(), longer).unwrap();
    }
}

fn open(folder: &Path) -> Durable {
    Durable::new(schema::open_writer(&folder.join("db")).unwrap()).unwrap()
}

fn failure() -> rusqlite::Result<()> {
    Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_FSYNC), None))
}

#[test]
fn what_a_failed_commit_left_does_not_come_back() {
    let mut database = Database::new();
    database.leave("refused");
    assert_eq!(database.killed().rows(), ["first", "refused"], "it is in the log");
    assert!(matches!(database.durable.settle(failure()), Err(StoreError::Sqlite(_))));
    assert_eq!(database.killed().rows(), ["first"]);
    // Those that others have committed since stay.
    let mut other = open(database.folder.path());
    other.execute("INSERT INTO rows VALUES ('of another')", []).unwrap();
    database.leave("refused again");
    database.durable.settle(failure()).unwrap_err();
    database.add("last");
    for database in [&database, &database.killed()] {
        assert_eq!(database.rows(), ["first", "of another", "last"]);
    }
}

#[test]
fn a_log_that_begins_again_is_cut_as_well() {
    let mut database = Database::new();
    database.durable.execute_alone("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let mut longer = database.killed();
    longer.add("refused");
    std::fs::copy(longer.log(), database.log()).unwrap();
    assert_eq!(database.killed().rows(), ["first", "refused"]);
    database.durable.settle(failure()).unwrap_err();
    assert_eq!(database.killed().rows(), ["first"]);
    database.add("next");
    assert_eq!(database.killed().rows(), ["first", "next"]);
}

#[test]
fn where_the_log_cannot_be_cut_the_answer_says_so_and_nothing_is_written() {
    let mut database = Database::new();
    database.leave("refused");
    let log = database.durable.log.replace(Arc::new(File::open(database.log()).unwrap()));
    let error = database.durable.settle(failure()).unwrap_err();
    assert!(matches!(error, StoreError::Unsettled(_)));
    assert!(error.is_momentary());
    assert!(error.to_string().contains("look at `GET /tasks`"), "{error}");
    assert!(matches!(database.durable.transaction(), Err(StoreError::Io(_))));
    assert_eq!(database.rows(), ["first"]);
    database.durable.log = log;
    database.add("next");
    assert_eq!(database.killed().rows(), ["first", "next"]);
}

#[test]
fn a_transaction_that_is_dropped_changes_nothing() {
    let mut database = Database::new();
    let transaction = database.durable.transaction().unwrap();
    transaction.execute("DELETE FROM rows", []).unwrap();
    drop(transaction);
    database.add("second");
    assert_eq!(database.rows(), ["first", "second"]);
}
