//! An index: a set of segments, the manifest that names them, and the operations that change it.
//!
//! Readers take a [`Snapshot`] and never block others. Writers go through [`Index::apply`], one at a time: a
//! batch of [`Operation`]s becomes new segments and tombstones, and one commit makes it visible and durable at once.
//! A thread merges segments in the background.
//!
//! Words used here: a *tombstone* is the mark of a deleted document, in a bitmap beside its segment. A *manifest* is the file that names
//! everything that makes up the index. A *generation* is the number of a commit or a merge, which begins with the epoch of its
//! writer; that of a commit is also the number of its *state*, which readers find until the next commit. A *patch* is a number or a boolean
//! that a document got after its segment was written.

mod bulk;
mod changes;
mod commit;
mod copies;
mod damaged;
mod document_vectors;
pub mod embedding;
mod error;
mod expiry;
mod files;
mod follow;
mod generations;
mod handle;
mod history;
mod insertion_order;
mod inspect;
mod kept;
mod lock;
mod manifest;
mod meanwhile;
mod merge_control;
mod merge_policy;
mod merge_thread;
mod naming;
mod operation;
mod options;
mod patching;
mod progress;
mod recovery;
pub mod repair;
mod retokenize;
mod scrub;
pub mod settings;
mod shared;
mod snapshot;
mod status;
mod summary;
#[cfg(test)]
mod tests;
mod tombstones;
mod transaction;
mod vectors_later;
mod verify;

/// The format of the segments that this program writes, and the newest that it reads.
pub const FORMAT: u32 = lamina_segment::segment::FORMAT;

pub use changes::Change;
pub use copies::leave_numbers_to_original;
pub use damaged::{Damage, DamagedSegment};
pub use document_vectors::VectorCounts;
pub use error::{GeoCoordinates, GeoError, IndexError, OperationError, ShapeError, is_momentary};
pub use expiry::{expired, unexpired_at};
pub use follow::{ManifestContents, NamedFile, Way, kept_state_count, newest_generation, place_manifest};
pub use handle::Index;
pub use history::{FirstNumber, History, epoch_of, first_number, next_number};
pub use inspect::{DocumentReport, PostingReport, TermReport, TokenReport};
pub use kept::{At, GenerationReport};
pub use merge_policy::{MergePolicy, SegmentSize};
pub use naming::{ManifestSummary, read_summary};
pub use operation::{CommitNote, Marking, Operation, Outcome, Payload, Selector, Upsert, WriteMethod};
pub use options::{IndexOptions, MergeLimit, document_bytes_max};
pub use progress::{Phase, Progress};
pub use scrub::Scrubbed;
pub use settings::{Setting, Settings, SettingsPatch};
pub use snapshot::{DocumentAddress, SegmentView, Snapshot};
pub use status::{IndexReport, MergeStatus, SegmentReport};
pub use summary::{DamageSummary, IndexSummary};
pub use tombstones::Tombstones;
pub use verify::{Verified, VerifyWatch, verify_folder};
