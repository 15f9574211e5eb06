//! Where a writer accepts tasks: they are in the journal before they are acknowledged.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use lamina_base::timestamp::Timestamp;
use lamina_data::tasks::NewTask;

use super::published::{numbers, task_of};
use super::server::{Actor, Process};
use super::store::Store;
use crate::chain::{Chain, Setback};
use crate::journal::{Appended, Journal, Ledger};

/// Knowledge of the writer about the journal, besides the position where it appends.
pub(super) struct Desk {
    journal: Journal<Store>,
    ledger: Rc<RefCell<Ledger>>,
    next_task: u32,
    unsettled: Option<Vec<(u32, u32)>>,
    /// The process has ended, or is about to: it puts nothing on its disk any more.
    is_over: Rc<Cell<bool>>,
}

impl Process {
    /// Ends the journal of the writer before, and brings what no root covers.
    pub(super) async fn take_journal(
        &self,
        chain: &mut Chain<Store>,
        has_followed: bool,
    ) -> Result<(Desk, Rc<RefCell<Ledger>>), Setback> {
        let (epoch, nonce, position) = (chain.last().epoch, chain.last().nonce, chain.last().journal.clone());
        let taken = Journal::take_over(self.store.clone(), epoch, nonce, position.as_ref()).await;
        let (journal, ledger, records) = taken?;
        if let Some(position) = &position {
            let mut disk = self.disk.borrow_mut();
            let next = disk.next_task;
            for (uid, task) in records.iter().flat_map(|record| &record.tasks).map(|(task, _)| numbers(task)) {
                let is_needed = if has_followed { !position.covers(uid) } else { uid >= next };
                if is_needed {
                    self.trace(format_args!("brings {uid} (task {task})"));
                    disk.queue.entry(uid).or_insert(task);
                    disk.next_task = disk.next_task.max(uid + 1);
                    self.world.counts.borrow_mut().replayed += 1;
                }
            }
        } else {
            chain.announce(self.position(&ledger)).await?;
            self.world.is_believed(chain.last());
        }
        let over = journal.leftovers(&ledger, position.as_ref()).await?;
        chain.remove_unneeded(&over).await?;
        let ledger = Rc::new(RefCell::new(ledger));
        let desk = Desk { journal, ledger: Rc::clone(&ledger), next_task: 0, unsettled: None, is_over: Rc::default() };
        Ok((desk, ledger))
    }

    /// Accepts tasks beside what the publisher does, until that is over.
    pub(super) fn open(&self, mut desk: Desk, is_over: &Rc<Cell<bool>>) {
        let (process, is_over) = (self.another(), Rc::clone(is_over));
        desk.is_over = Rc::clone(&is_over);
        let accepting = async move {
            while !is_over.get() {
                if let Err(Setback::TakenOver) = process.accept(&mut desk).await {
                    process.world.counts.borrow_mut().refused += 1;
                    is_over.set(true);
                }
                process.world.sleep(process.world.below(4_000)).await;
            }
        };
        let actor = Actor { server: self.server, wake: self.world.millis(), future: Box::pin(accepting) };
        self.spawned.borrow_mut().push(actor);
    }

    async fn accept(&self, desk: &mut Desk) -> Result<(), Setback> {
        if let Some(tasks) = &desk.unsettled {
            let number = desk.journal.next();
            let nothing = desk.journal.record(&[], Timestamp::from_nanos(0));
            match desk.journal.append(&nothing).await? {
                Appended::This => desk.ledger.borrow_mut().revoke(number),
                Appended::Earlier => self.enqueue(desk, tasks),
            }
            desk.unsettled = None;
        }
        let mut tasks = Vec::new();
        desk.next_task = desk.next_task.max(self.disk.borrow().next_task);
        for _ in 0..=self.world.below(2) {
            tasks.push((desk.next_task, self.shared.next_task()));
            desk.next_task += 1;
        }
        let all: Vec<NewTask> = tasks.iter().map(|(uid, task)| task_of(*uid, *task)).collect();
        self.trace(format_args!("begins record {} of {tasks:?}", desk.journal.next()));
        desk.ledger.borrow_mut().begin(desk.journal.next(), all.iter());
        let bytes = desk.journal.record(&all, Timestamp::from_nanos(0));
        let attempts = 1 + self.world.below(3);
        for attempt in 1..=attempts {
            match desk.journal.append(&bytes).await {
                Ok(appended) => {
                    assert_eq!(appended, Appended::This, "what came before is settled");
                    self.trace(format_args!("acknowledges {tasks:?}, is over: {}", desk.is_over.get()));
                    self.enqueue(desk, &tasks);
                    self.world.is_acknowledged(tasks.iter().map(|(_, task)| *task));
                    return Ok(());
                }
                Err(Setback::TakenOver) => return Err(Setback::TakenOver),
                Err(Setback::Object(_)) if attempt == attempts => {}
                Err(Setback::Object(_)) => self.world.sleep(100).await,
            }
        }
        desk.unsettled = Some(tasks);
        Ok(())
    }

    fn enqueue(&self, desk: &Desk, tasks: &[(u32, u32)]) {
        if desk.is_over.get() {
            return;
        }
        let mut disk = self.disk.borrow_mut();
        for (uid, task) in tasks {
            disk.queue.insert(*uid, *task);
            disk.next_task = disk.next_task.max(uid + 1);
        }
    }
}
