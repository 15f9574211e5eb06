//! How far uids have got, outside of SQLite: what says after a loss that there was one, and which uids were given.
//!
//! One line in the file `lock`, written over in place by the process that holds the lock.
//! It is written after each transaction and left to the system to bring to the disk; only the bounds that uids may not pass
//! without it are synced, once for some thousand uids. So what it says was given, was given, and what was given is below the bounds.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::xxh3_64;

/// Uids that may be given before the line is synced again.
const STEP: u32 = 4096;
/// Bytes of the line: less than a sector, so it is never half written.
const LINE_BYTES: usize = 96;

/// Uids of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The next one, as of the last transaction.
    pub next: u32,
    /// All that were ever given are below.
    pub bound: u32,
}

/// Content of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Progress of the uids of tasks.
    pub tasks: Given,
    /// Progress of the uids of batches.
    pub batches: Given,
}

impl Marks {
    fn line(self) -> String {
        let Marks { tasks, batches } = self;
        let text = format!(
            "tasks {:>10} below {:>10} batches {:>10} below {:>10} ",
            tasks.next, tasks.bound, batches.next, batches.bound
        );
        let sum = xxh3_64(text.as_bytes());
        format!("{:<width$}\n", format!("{text}{sum:016x}"), width = LINE_BYTES - 1)
    }

    /// `None` when the line is missing or damaged.
    fn parse(line: &str) -> Option<Marks> {
        let line = line.trim_end();
        let (text, sum) = line.split_at_checked(line.len().checked_sub(16)?)?;
        if u64::from_str_radix(sum, 16).ok()? != xxh3_64(text.as_bytes()) {
            return None;
        }
        let numbers: Vec<u32> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [tasks, tasks_bound, batches, batches_bound] = numbers[..] else { return None };
        Some(Marks {
            tasks: Given { next: tasks, bound: tasks_bound },
            batches: Given { next: batches, bound: batches_bound },
        })
    }
}

/// The line and the file that it is in.
#[derive(Debug)]
pub struct MarkFile {
    file: File,
    marks: Marks,
}

impl MarkFile {
    /// Reads the marks of `file`, which is locked. Returns `None` if it holds none.
    ///
    /// # Errors
    /// Fails with the error of the file system.
    pub fn read(file: &File) -> io::Result<Option<Marks>> {
        let mut line = vec![0; LINE_BYTES];
        match file.read_exact_at(&mut line, 0) {
            Ok(()) => Ok(std::str::from_utf8(&line).ok().and_then(Marks::parse)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes `marks` into `file`, durably, and goes on from there.
    ///
    /// # Errors
    /// What the file system says.
    pub fn begin(file: File, marks: Marks) -> io::Result<MarkFile> {
        let mut begun = MarkFile { file, marks };
        begun.write(marks)?;
        begun.file.sync_data()?;
        Ok(begun)
    }

    /// To be called before a transaction that gives tasks uids below `next` is committed. Syncs once for some thousand.
    ///
    /// # Errors
    /// Nothing may be given then.
    pub(super) fn allow_tasks(&mut self, next: u32) -> io::Result<()> {
        self.allow(|marks| &mut marks.tasks, next)
    }

    /// Allows batches like [`MarkFile::allow_tasks`] allows tasks.
    ///
    /// # Errors
    /// Same as there.
    pub(super) fn allow_batches(&mut self, next: u32) -> io::Result<()> {
        self.allow(|marks| &mut marks.batches, next)
    }

    fn allow(&mut self, of: impl Fn(&mut Marks) -> &mut Given, next: u32) -> io::Result<()> {
        let mut marks = self.marks;
        if next <= of(&mut marks).bound {
            return Ok(());
        }
        of(&mut marks).bound = next.saturating_add(STEP);
        self.write(marks)?;
        self.file.sync_data()
    }

    /// The transaction is committed: task uids below `next` are given.
    pub(super) fn given_tasks(&mut self, next: u32) {
        let tasks = Given { next, ..self.marks.tasks };
        self.given(Marks { tasks, ..self.marks });
    }

    /// The end of this batch is committed.
    pub(super) fn given_batch(&mut self, uid: u32) {
        let batches = Given { next: self.marks.batches.next.max(uid.saturating_add(1)), ..self.marks.batches };
        self.given(Marks { batches, ..self.marks });
    }

    fn given(&mut self, marks: Marks) {
        if marks != self.marks
            && let Err(error) = self.write(marks)
        {
            // What is stored is stored; the next transaction writes the line again.
            tracing::warn!(%error, "cannot record the next uids in `lock`");
        }
    }

    fn write(&mut self, marks: Marks) -> io::Result<()> {
        self.file.write_all_at(marks.line().as_bytes(), 0)?;
        self.marks = marks;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back_and_a_damaged_one_is_none() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(MarkFile::read(&file).unwrap(), None);
        let mut marks = MarkFile::begin(file.try_clone().unwrap(), Marks::default()).unwrap();
        marks.allow_tasks(3).unwrap();
        marks.given_tasks(3);
        marks.allow_batches(1).unwrap();
        marks.given_batch(0);
        let read = MarkFile::read(&file).unwrap().unwrap();
        assert_eq!(read.tasks, Given { next: 3, bound: 3 + STEP });
        assert_eq!(read.batches, Given { next: 1, bound: 1 + STEP });
        marks.allow_tasks(STEP).unwrap();
        assert_eq!(MarkFile::read(&file).unwrap().unwrap().tasks.bound, 3 + STEP, "no sync for each");
        assert_eq!(file.metadata().unwrap().len(), LINE_BYTES as u64);
        let line = read.line();
        for place in 0..line.trim_end().len() {
            let mut damaged = line.clone().into_bytes();
            damaged[place] ^= 1;
            assert_eq!(std::str::from_utf8(&damaged).ok().and_then(Marks::parse), None, "{place}");
        }
        let largest = Given { next: u32::MAX, bound: u32::MAX };
        let largest = Marks { tasks: largest, batches: largest };
        assert_eq!((Marks::parse(&largest.line()), largest.line().len()), (Some(largest), LINE_BYTES));
    }
}
