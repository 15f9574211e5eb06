//! Tasks: every change is one. They are durable before they are acknowledged. What carries them out is in `worker`.

pub mod content;
pub mod delay;
pub mod details;
pub mod feed;
pub mod kind;
pub mod live;
pub mod new_task;
pub mod payload_check;
pub mod queue;
pub mod spill;
pub mod steps;
pub mod store;
pub mod task;
pub mod trace;
pub(crate) mod uid_set;
pub mod uploads;
pub mod work;
pub mod write_stats;

pub use content::{Content, Edit, Export, ExportedIndex, Method, PayloadPlace, Swap, Upsert};
pub use feed::{Follower, Mark, Missed, RecordedEvent, TaskEvent};
pub use kind::{Kind, Status};
pub use live::LiveBatch;
pub use new_task::NewTask;
pub use payload_check::{PayloadDamage, check_inline_payload, check_payload_file};
pub use queue::{Acceptance, Stage, TaskQueue};
pub use spill::{Spill, Spilled, free_bytes};
pub(crate) use store::open_to_read;
pub use store::{
    Batch, Check, IndexChange, LogCondition, LogReport, MarkFile, Page, RuleChange, Store, StoreError,
    TransferredBatch, TransferredTask, check_log,
};
pub use store::{Durable, Marks};
pub use store::{FinishedBatch, StoredAliases, check_database, copy_database, progress, read_aliases, uid_for};
pub use task::{SummarizedTask, Task, TaskView};
pub use uid_set::UidSet;

pub use queue::{batch_not_found, blocking, task_not_found};
