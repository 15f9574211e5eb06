//! A directory that fails on purpose, to prove that commits survive crashes.
//!
//! It keeps two states: what a running process sees, and what the disk would still hold after a power loss. Content
//! becomes durable when its writer is synced, a created, renamed or deleted name when the directory is synced. At a
//! chosen step the directory stops: that step and all later ones fail. A test runs once to count the steps, then once
//! per step, and opens what [`FaultyDirectory::after_crash`] gives back.

use super::{Directory, FileIdentity, FileWriter, MemoryDirectory, OwnedBytes};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Fault to inject, and its time. Steps are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing; steps are only counted.
    None,
    /// The power goes at the n-th sync (of content or directory): it and every later call fail.
    PowerLossAtSync(u64),
    /// The disk is full from the n-th write on: writes and creations fail, the rest keeps working.
    NoSpaceAtWrite(u64),
    /// The n-th call of any kind fails with this error number of the system; all others work.
    RefusalAtCall(u64, i32),
}

/// Amount of unsynced data that survives a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Only what a completed sync made durable.
    SyncedOnly,
    /// Everything that was written: the system happened to write it back in time.
    Everything,
}

/// An in-memory directory with a [`Fault`]. Clones share the state.
#[derive(Clone, Debug)]
pub struct FaultyDirectory {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    fault: Option<Fault>,
    syncs: u64,
    writes: u64,
    calls: u64,
    stopped: bool,
    next_inode: u64,
    /// Names as the process sees them.
    names: BTreeMap<String, u64>,
    /// Names as of the last directory sync.
    durable_names: BTreeMap<String, u64>,
    inodes: BTreeMap<u64, Inode>,
}

#[derive(Debug, Default)]
struct Inode {
    content: Vec<u8>,
    durable: Vec<u8>,
}

impl State {
    fn check_running(&self) -> io::Result<()> {
        if self.stopped { Err(io::Error::other("the power is gone")) } else { Ok(()) }
    }

    /// Counts a call of any kind.
    fn count_call(&mut self) -> io::Result<()> {
        self.check_running()?;
        let step = self.calls;
        self.calls += 1;
        match self.fault {
            Some(Fault::RefusalAtCall(refused, number)) if refused == step => Err(io::Error::from_raw_os_error(number)),
            _ => Ok(()),
        }
    }

    fn count_sync(&mut self) -> io::Result<()> {
        self.count_call()?;
        let step = self.syncs;
        self.syncs += 1;
        if self.fault == Some(Fault::PowerLossAtSync(step)) {
            self.stopped = true;
        }
        self.check_running()
    }

    fn count_write(&mut self) -> io::Result<()> {
        self.count_call()?;
        let step = self.writes;
        self.writes += 1;
        match self.fault {
            Some(Fault::NoSpaceAtWrite(first)) if step >= first => {
                Err(io::Error::new(io::ErrorKind::StorageFull, "no space left"))
            }
            _ => Ok(()),
        }
    }

    fn new_inode(&mut self) -> u64 {
        self.next_inode += 1;
        self.inodes.insert(self.next_inode, Inode::default());
        self.next_inode
    }

    fn inode(&mut self, id: u64) -> &mut Inode {
        self.inodes.entry(id).or_default()
    }
}

impl FaultyDirectory {
    /// An empty directory that will suffer `fault`.
    pub fn new(fault: Fault) -> FaultyDirectory {
        FaultyDirectory { state: Arc::new(Mutex::new(State { fault: Some(fault), ..State::default() })) }
    }

    /// A directory that holds these files, durable already.
    ///
    /// # Errors
    /// The errors of reading them.
    pub fn holding(files: &MemoryDirectory) -> io::Result<FaultyDirectory> {
        let mut state = State::default();
        for name in files.list()? {
            let content = files.open_read(&name)?.to_vec();
            let inode = state.new_inode();
            *state.inode(inode) = Inode { durable: content.clone(), content };
            state.names.insert(name, inode);
        }
        state.durable_names = state.names.clone();
        Ok(FaultyDirectory { state: Arc::new(Mutex::new(state)) })
    }

    /// Changes the fault and starts counting anew; what is there is kept.
    pub fn set_fault(&self, fault: Fault) {
        let mut state = self.state.lock();
        state.fault = Some(fault);
        state.syncs = 0;
        state.writes = 0;
        state.calls = 0;
    }

    /// Number of syncs so far.
    pub fn sync_count(&self) -> u64 {
        self.state.lock().syncs
    }

    /// Number of writes so far.
    pub fn write_count(&self) -> u64 {
        self.state.lock().writes
    }

    /// Number of calls of any kind so far.
    pub fn call_count(&self) -> u64 {
        self.state.lock().calls
    }

    /// Returns the directory that a restarted process finds.
    pub fn after_crash(&self, survival: Survival) -> MemoryDirectory {
        let state = self.state.lock();
        let names = if survival == Survival::Everything { &state.names } else { &state.durable_names };
        MemoryDirectory::with_files(names.iter().filter_map(|(name, id)| {
            let inode = state.inodes.get(id)?;
            let content = if survival == Survival::Everything { &inode.content } else { &inode.durable };
            Some((name.clone(), content.clone()))
        }))
    }
}

fn not_found(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("no file {name}"))
}

impl Directory for FaultyDirectory {
    fn open_read(&self, name: &str) -> io::Result<OwnedBytes> {
        let mut state = self.state.lock();
        state.count_call()?;
        let inode = state.names.get(name).and_then(|id| state.inodes.get(id)).ok_or_else(|| not_found(name))?;
        Ok(OwnedBytes::from(inode.content.clone()))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn FileWriter>> {
        let mut state = self.state.lock();
        state.count_write()?;
        if state.names.contains_key(name) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("file {name} exists")));
        }
        let inode = state.new_inode();
        state.names.insert(name.to_owned(), inode);
        Ok(Box::new(FaultyWriter { inode, state: self.state.clone() }))
    }

    fn atomic_write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        state.count_write()?;
        let inode = state.new_inode();
        state.inode(inode).content = bytes.to_vec();
        state.count_sync()?;
        state.inode(inode).durable = bytes.to_vec();
        state.names.insert(name.to_owned(), inode);
        state.count_sync()?;
        state.durable_names = state.names.clone();
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.count_call()?;
        let inode = state.names.remove(from).ok_or_else(|| not_found(from))?;
        state.names.insert(to.to_owned(), inode);
        Ok(())
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.count_call()?;
        state.names.remove(name).map(drop).ok_or_else(|| not_found(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = self.state.lock();
        state.count_call()?;
        Ok(state.names.keys().cloned().collect())
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        Ok(self.open_read(name)?.as_slice().len() as u64)
    }

    fn identity(&self, name: &str) -> io::Result<FileIdentity> {
        let state = self.state.lock();
        let inode = state.names.get(name).ok_or_else(|| not_found(name))?;
        Ok(FileIdentity([*inode, 0, 0]))
    }

    fn hard_link_to(&self, name: &str, target: &Path) -> io::Result<()> {
        let bytes = self.open_read(name)?;
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(target)?;
        file.write_all(&bytes)
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.count_sync()?;
        state.durable_names = state.names.clone();
        Ok(())
    }
}

struct FaultyWriter {
    inode: u64,
    state: Arc<Mutex<State>>,
}

impl Write for FaultyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock();
        state.count_write()?;
        state.inode(self.inode).content.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.state.lock().check_running()
    }
}

impl FileWriter for FaultyWriter {
    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.count_sync()?;
        let inode = state.inode(self.inode);
        inode.durable = inode.content.clone();
        Ok(())
    }
}
