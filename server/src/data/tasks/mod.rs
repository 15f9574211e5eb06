//! Tasks: every change is one. They are durable before they are acknowledged. What carries them out is in `worker`.

pub(crate) mod content;
pub(crate) mod delay;
pub(crate) mod details;
pub(crate) mod feed;
pub(crate) mod filter;
pub(crate) mod kind;
pub(crate) mod live;
pub(crate) mod new_task;
pub(crate) mod payload_check;
pub(crate) mod queue;
pub(crate) mod spill;
pub(crate) mod steps;
pub(crate) mod store;
pub(crate) mod task;
pub(crate) mod trace;
pub(crate) mod uid_set;
pub(crate) mod uploads;
pub(crate) mod work;
pub(crate) mod write_stats;

pub(crate) use content::{Content, Edit, Export, ExportedIndex, Method, PayloadPlace, Swap, Upsert};
pub(crate) use feed::{Follower, Happening, Mark, Missed, Remembered};
pub(crate) use filter::TaskFilter;
pub(crate) use kind::{Kind, Status};
pub(crate) use live::LiveBatch;
pub(crate) use new_task::NewTask;
pub(crate) use payload_check::{PayloadDamage, check_inline_payload, check_payload_file};
pub(crate) use queue::{Acceptance, Stage, TaskQueue};
pub(crate) use spill::{Spill, Spilled, free_bytes};
pub(crate) use store::{
    Batch, Check, Durable, IndexChange, LogCondition, LogReport, MarkFile, Marks, Page, RuleChange, Store, StoreError,
    TransferredBatch, TransferredTask, check_log,
};
pub(crate) use store::{
    FinishedBatch, StoredAliases, check_database, copy_database, open_to_read, progress, read_aliases, uid_for,
};
pub(crate) use task::{SummarizedTask, Task, TaskView};
pub(crate) use uid_set::UidSet;

pub(crate) use queue::{batch_not_found, blocking, task_not_found};
