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
    assert!(report.repairs.is_empty());
    assert!(!report.is_damaged());
    assert_eq!(report.transactions, u64::from(ROWS) + 1);
    assert!(report.kept_bytes < left.whole.len() as u64, "older frames come after: the test shows what it should");
    assert_eq!(left.rows(), ROWS);
}

#[test]
fn a_flipped_bit_is_put_right_nearly_everywhere() {
    let left = left_behind();
    let whole = left.check(&left.whole);
    let live = usize::try_from(whole.kept_bytes).unwrap();
    let places = [0, 3, 5, 7, 9, 14, 17, 22, 24, 200, 1777, 4000, 4119];
    let frames = (HEADER_BYTES..live).step_by(left.frame_bytes()).enumerate();
    let frames =
        frames.flat_map(|(frame, start)| [0, 1, 2].map(|more| start + places[(3 * frame + more) % places.len()]));
    let last = (0..places.len()).map(|place| live - left.frame_bytes() + places[place]);
    let (mut right, mut doubtful) = (0, 0);
    // The last checksum with each of its bits.
    let sums = (FRAME_SUM..FRAME_HEADER_BYTES).flat_map(|place| (0..8).map(move |bit| (place, bit)));
    let sums = sums.map(|(place, bit)| (live - left.frame_bytes() + place, bit));
    let others = (0..HEADER_BYTES).chain(frames).chain(last).map(|place| (place, place % 8));
    for (place, bit) in others.chain(sums) {
        let mut damaged = left.whole.clone();
        damaged[place] ^= 1 << bit;
        let report = left.check(&damaged);
        let within = (place.wrapping_sub(HEADER_BYTES)) % left.frame_bytes();
        let is_last = place >= live - left.frame_bytes();
        if is_last && (FRAME_SUM..FRAME_HEADER_BYTES).contains(&within) {
            // Nothing comes after the last checksum that would say that it is the one that is wrong.
            assert_eq!(report.condition, LogCondition::Torn, "{place}");
            continue;
        }
        // In the last transaction it may look like the end of a crash.
        assert!(report.is_damaged() || report.condition == LogCondition::Torn, "{place}: {report:?}");
        report.mend(&left.log).unwrap();
        if report.condition == LogCondition::Sound {
            right += 1;
            assert_eq!((report.transactions, left.rows()), (whole.transactions, ROWS), "{place}");
        } else {
            // The highest bits of a word, in the last frame of a page.
            doubtful += 1;
            assert!(place >= HEADER_BYTES, "{place}");
            assert!(within % 4 == 3 || bit == 7, "{place}");
            assert!(u64::from(left.rows()) <= report.transactions, "{place}");
        }
        assert!(!check_log(&left.log).unwrap().is_damaged(), "{place}");
    }
    assert!(right > 5 * doubtful, "{right} put right, {doubtful} not");
}

#[test]
fn more_damage_than_that_is_reported_from_a_torn_end() {
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
        report.mend(&left.log).unwrap();
        let after = check_log(&left.log).unwrap();
        assert!(matches!(after.condition, LogCondition::Sound | LogCondition::Empty), "{start}: {after:?}");
        assert_eq!(after.transactions, report.transactions, "{start}");
    }
    // Only damage of the last transaction looks like a crash.
    assert!(cut > 0, "{cut} {torn} of {}", starts.len());
    assert!((1..=3).contains(&torn), "{cut} {torn} of {}", starts.len());
}

#[test]
fn a_log_cut_anywhere_is_torn_or_shorter() {
    let left = left_behind();
    let live = usize::try_from(left.check(&left.whole).kept_bytes).unwrap();
    for length in (0..live).step_by(1013) {
        let report = left.check(&left.whole[..length]);
        assert!(report.repairs.is_empty(), "{length}");
        assert_ne!(report.condition, LogCondition::Cut, "{length}");
        report.mend(&left.log).unwrap();
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
    report.mend(&left.log).unwrap();
    assert_eq!(std::fs::metadata(&left.log).unwrap().len(), 0);
}
