//! Tasks: every change is one. They are durable before they are acknowledged, and one thread carries them out.

mod attempts;
mod batch;
mod cleanup;
mod content;
mod delay;
mod details;
mod filter;
mod kind;
mod live;
mod payload_check;
mod queue;
mod run;
mod scheduler;
mod steps;
mod store;
mod task;
mod trace;
mod uid_set;
mod uploads;
mod write_stats;

pub use batch::Limits;
pub use content::{Content, Edit, Export, ExportedIndex, Method, PayloadPlace, Swap, Upsert};
pub use filter::{Bounds, TaskFilter};
pub use kind::{Kind, Status};
pub use live::LiveBatch;
pub use payload_check::{PayloadDamage, check_inline_payload, check_payload_file};
pub use queue::{NewTask, TaskQueue};
pub use scheduler::{Scheduler, StartError};
pub use steps::{Step, Steps};
pub use store::{
    Batch, Check, IndexChange, LogCondition, LogReport, MarkFile, Marks, Page, Paging, RowReport, Store, StoreError,
    TaskCounts, TransferredBatch, TransferredTask, check_log,
};
pub(crate) use store::{FinishedBatch, check_database, copy_database, open_to_read, progress};
pub use task::{SummarizedTask, Task, TaskView};
pub use trace::{RecentTraces, Trace};
pub use uid_set::UidSet;

pub(crate) use queue::{batch_not_found, blocking, task_not_found};
