use std::path::PathBuf;

use rusqlite::Connection;

use super::*;

const ROWS: u32 = 12;

/// A log of one transaction a row, as a server that was killed leaves it behind.
struct Left {
    _folder: tempfile::TempDir,
    log: PathBuf,
    whole: Vec<u8>,
}

fn left_behind() -> Left {
    let folder = tempfile::tempdir().unwrap();
    let (live, copy) = (folder.path().join("live.sqlite"), folder.path().join("tasks.sqlite"));
    let connection = Connection::open(&live).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection
        .execute_batch("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX by_text ON rows (text);")
        .unwrap();
    // A second log in the same file: frames of the first stay behind those of the second.
    for id in 1000..1010 {
        connection.execute("INSERT INTO rows VALUES (?1, ?2)", (id, "x".repeat(3000))).unwrap();
    }
    connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
    connection.execute("DELETE FROM rows", []).unwrap();
    for id in 0..ROWS {
        connection.execute("INSERT INTO rows VALUES (?1, ?2)", (id, format!("row {id}"))).unwrap();
    }
    std::fs::copy(&live, &copy).unwrap();
    let log = folder.path().join("tasks.sqlite-wal");
    std::fs::copy(folder.path().join("live.sqlite-wal"), &log).unwrap();
    let whole = std::fs::read(&log).unwrap();
    Left { _folder: folder, log, whole }
}

impl Left {
    fn check(&self, bytes: &[u8]) -> LogReport {
        std::fs::write(&self.log, bytes).unwrap();
        check_log(&self.log).unwrap()
    }

    /// Returns the number of rows that SQLite reads from database and log.
    fn rows(&self) -> u32 {
        let copy = tempfile::tempdir().unwrap();
        let database = copy.path().join("tasks.sqlite");
        std::fs::copy(self.log.with_file_name("tasks.sqlite"), &database).unwrap();
        std::fs::copy(&self.log, copy.path().join("tasks.sqlite-wal")).unwrap();
        let connection = Connection::open(&database).unwrap();
        let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
        connection.query_row("SELECT count(*) FROM rows WHERE id < 1000", [], |row| row.get(0)).unwrap()
    }

    fn frame_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + PAGE_BYTES_DEFAULT
    }
}

#[test]
fn a_log_that_was_used_before_is_sound() {
    let left = left_behind();
    let report = left.check(&left.whole);
    assert_eq!((report.condition, report.lost_frames, report.lost_transactions), (LogCondition::Sound, 0, 0));
    assert_eq!(report.transactions, u64::from(ROWS) + 1);
    assert!(report.kept_bytes < left.whole.len() as u64, "older frames come after: the test shows what it should");
    assert_eq!(left.rows(), ROWS);
}

#[test]
fn a_flipped_bit_cuts_the_log_and_looks_like_a_crash_only_in_the_last_transaction() {
    let left = left_behind();
    let whole = left.check(&left.whole);
    let live = usize::try_from(whole.kept_bytes).unwrap();
    let places = [0, 3, 5, 7, 9, 14, 17, 22, 24, 200, 1777, 4000, 4119];
    let frames = (HEADER_BYTES..live).step_by(left.frame_bytes()).enumerate();
    let frames =
        frames.flat_map(|(frame, start)| [0, 1, 2].map(|more| start + places[(3 * frame + more) % places.len()]));
    let (mut cut, mut torn) = (0, 0);
    for place in (0..HEADER_BYTES).chain(frames) {
        let mut damaged = left.whole.clone();
        damaged[place] ^= 1 << (place % 8);
        let report = left.check(&damaged);
        match report.condition {
            LogCondition::Cut => cut += 1,
            LogCondition::Torn => torn += 1,
            other => panic!("{place}: {other:?}"),
        }
        if place >= HEADER_BYTES {
            // The damaged frame may have been a commit.
            assert!(report.transactions + report.lost_transactions + 1 >= whole.transactions, "{place}: {report:?}");
        }
        report.cut(&left.log).unwrap();
        assert!(u64::from(left.rows()) <= report.transactions, "{place}");
        assert_ne!(check_log(&left.log).unwrap().condition, LogCondition::Cut, "{place}");
    }
    assert!(torn <= 12, "{torn} torn, {cut} cut");
    assert!(cut > 5 * torn, "{torn} torn, {cut} cut");
}

#[test]
fn damage_is_parted_from_a_torn_end() {
    let left = left_behind();
    let whole = left.check(&left.whole);
    let live = usize::try_from(whole.kept_bytes).unwrap();
    let starts: Vec<usize> = (HEADER_BYTES..live).step_by(left.frame_bytes()).collect();
    let (mut cut, mut torn) = (0, 0);
    for &start in &starts {
        let mut damaged = left.whole.clone();
        damaged[start + 300..start + 900].fill(0xA5);
        let report = left.check(&damaged);
        assert_eq!(report.lost_frames, whole.frames - report.frames, "{start}");
        match report.condition {
            LogCondition::Cut => cut += 1,
            LogCondition::Torn => torn += 1,
            other => panic!("{start}: {other:?}"),
        }
        assert_eq!(report.transactions + report.lost_transactions, whole.transactions, "{start}");
        report.cut(&left.log).unwrap();
        let after = check_log(&left.log).unwrap();
        assert!(matches!(after.condition, LogCondition::Sound | LogCondition::Empty), "{start}: {after:?}");
        assert_eq!(after.transactions, report.transactions, "{start}");
    }
    // Only damage of the last transaction looks like a crash.
    assert!(cut > 0, "{cut} {torn} of {}", starts.len());
    assert!(torn > 0, "{cut} {torn} of {}", starts.len());
    assert!(torn <= 3, "{cut} {torn} of {}", starts.len());
}

#[test]
fn a_log_cut_anywhere_is_torn_or_shorter() {
    let left = left_behind();
    let live = usize::try_from(left.check(&left.whole).kept_bytes).unwrap();
    for length in (0..live).step_by(1013) {
        let report = left.check(&left.whole[..length]);
        assert_ne!(report.condition, LogCondition::Cut, "{length}");
        report.cut(&left.log).unwrap();
        assert!(u64::from(left.rows()) <= report.transactions, "{length}");
    }
}

#[test]
fn a_header_that_says_nothing_loses_the_whole_log() {
    let left = left_behind();
    let mut damaged = left.whole.clone();
    damaged[..HEADER_BYTES].fill(0);
    let report = left.check(&damaged);
    assert_eq!((report.condition, report.frames, report.kept_bytes), (LogCondition::Cut, 0, 0));
    assert!(report.lost_frames > 10);
    report.cut(&left.log).unwrap();
    assert_eq!(std::fs::metadata(&left.log).unwrap().len(), 0);
}
