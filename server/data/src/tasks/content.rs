//! What a task has to do, as it is stored with it.

use lamina_base::aliases::AliasMoves;
use lamina_base::stored_names::PayloadName;
use lamina_engine::index::SettingsPatch;
pub use lamina_protocol::wire::documents::Edit;
use lamina_protocol::wire::export;
pub use lamina_protocol::wire::export::ExportedIndex;
pub use lamina_protocol::wire::indexes::Swap;
use lamina_protocol::wire::marking::Marking;
use lamina_protocol::wire::rules::RulePatch;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind::Kind;
use super::uid_set::UidSet;

/// The work of a task, with everything that the request said about it. Stored as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Content {
    /// Add or change documents.
    Upsert(Upsert),
    /// Delete documents by id; unknown ids are ignored.
    DeleteIds {
        /// Ids as texts.
        ids: Vec<String>,
        /// Change of the mark of the index.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mark: Option<Marking>,
    },
    /// Delete the documents that match; `filter` is the JSON value of the request.
    DeleteByFilter { filter: Value },
    /// Delete the documents that have expired when the task runs.
    DeleteExpired,
    /// Delete all documents.
    Clear {
        /// Change of the mark of the index.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mark: Option<Marking>,
    },
    /// Change documents by a function.
    Edit(Edit),
    /// Change settings.
    Settings {
        /// The change.
        patch: Box<SettingsPatch>,
        /// True if an absent index is created.
        may_create_index: bool,
    },
    /// Make an index without documents.
    CreateIndex { primary_key: Option<String> },
    /// Set the primary key or rename.
    UpdateIndex {
        /// `None` leaves it.
        primary_key: Option<String>,
        /// `None` leaves it.
        new_uid: Option<String>,
    },
    /// Remove an index with its documents, settings and files.
    DeleteIndex,
    /// Exchange or rename indexes, all or none.
    SwapIndexes { swaps: Vec<Swap> },
    /// Give aliases other indexes, or remove them, all or none.
    UpdateAliases { moves: AliasMoves },
    /// Make another index of the same files.
    CloneIndex {
        /// Name of the new index.
        new_uid: String,
    },
    /// Make an index of the files that `lamina build` has made.
    AttachIndex {
        /// A folder in the one of the option `--attach-dir`.
        folder: String,
    },
    /// Make a state before the present one the present one again.
    RestoreIndex {
        /// Number of the state, or a time; JSON value of the request.
        at: Value,
    },
    /// Write the index anew without what is deleted.
    CompactIndex,
    /// Copy the database folder.
    CreateSnapshot,
    /// Check a database that an older version wrote.
    UpgradeDatabase {
        /// The version that wrote it.
        from: String,
        /// Version of this program.
        to: String,
    },
    /// Write everything to an archive.
    CreateDump {
        /// True if documents in damaged segments are left out, instead of making the dump fail.
        skip_damaged: bool,
    },
    /// Send indexes to another server.
    Export(Export),
    /// Cancel the tasks that matched when the request came.
    CancelTasks {
        /// Query string of the request, with its `?`.
        filter: String,
        /// The tasks that matched.
        tasks: UidSet,
    },
    /// Delete the tasks that matched when the request came.
    DeleteTasks {
        /// Query string of the request, with its `?`.
        filter: String,
        /// The tasks that matched.
        tasks: UidSet,
    },
    /// Change a dynamic search rule, or make it.
    UpdateRule {
        /// Uid of the rule.
        uid: String,
        /// `None` removes it.
        patch: Option<Box<RulePatch>>,
    },
    /// Remove all dynamic search rules.
    ClearRules,
}

/// Documents to add or change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Upsert {
    /// POST replaces, PUT merges, PATCH changes single fields.
    pub method: Method,
    /// The primary key that the request names.
    pub primary_key: Option<String>,
    /// Ignore documents that are not in the index yet.
    pub skip_creation: bool,
    /// True if an absent index is created.
    pub may_create_index: bool,
    /// Number of documents in the payload.
    pub received: u64,
    /// Place of the documents.
    pub payload: PayloadPlace,
    /// Bytes of the normalised payload.
    pub payload_bytes: u64,
    /// XXH3-64 of them.
    pub payload_checksum: u64,
    /// Change of the mark of the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Marking>,
}

/// Treatment of a document that already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Method {
    /// The document is replaced.
    Replace,
    /// Fields are overwritten by those sent.
    Update,
    /// Numbers and truth values of single fields change; the payload says which.
    Values,
}

/// Place of the normalised documents of a task until it is final.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PayloadPlace {
    /// In the task store: durable with the task, one fsync less.
    Inline,
    /// A file of the payload folder, synced before the task was stored.
    File(PayloadName),
}

/// Indexes to send to another server.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Export {
    /// Base address of the other server; empty when the request named none.
    pub url: String,
    /// Key of the other server, a secret.
    pub api_key: Option<String>,
    /// Most bytes of documents in one request, before compression.
    pub payload_bytes: u64,
    /// True if the request named that size.
    pub shows_payload_size: bool,
    /// An index is sent as the first pattern says that it matches.
    pub indexes: Vec<ExportedIndex>,
    /// True if settings are sent with the secrets of their embedders.
    pub with_secrets: bool,
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Export").field("indexes", &self.indexes).finish_non_exhaustive()
    }
}

impl Export {
    /// Converts a request into an export, with requests of `default_bytes` if it names no size. Settings go without
    /// their secrets.
    pub fn of_request(asked: export::Export, default_bytes: u64) -> Export {
        let all = || vec![ExportedIndex { pattern: "*".to_owned(), filter: None, override_settings: false }];
        Export {
            url: asked.url,
            api_key: asked.api_key,
            payload_bytes: asked.payload_bytes.unwrap_or(default_bytes),
            shows_payload_size: asked.payload_bytes.is_some(),
            indexes: asked.indexes.unwrap_or_else(all),
            with_secrets: false,
        }
    }
}

impl Content {
    /// The public type.
    pub fn kind(&self) -> Kind {
        match self {
            Content::Upsert(_) => Kind::DocumentAdditionOrUpdate,
            Content::Edit(_) => Kind::DocumentEdition,
            Content::DeleteIds { .. }
            | Content::DeleteByFilter { .. }
            | Content::DeleteExpired
            | Content::Clear { .. } => Kind::DocumentDeletion,
            Content::Settings { .. } => Kind::SettingsUpdate,
            Content::CreateIndex { .. } => Kind::IndexCreation,
            Content::UpdateIndex { .. } => Kind::IndexUpdate,
            Content::DeleteIndex => Kind::IndexDeletion,
            Content::SwapIndexes { .. } => Kind::IndexSwap,
            Content::UpdateAliases { .. } => Kind::AliasUpdate,
            Content::CloneIndex { .. } => Kind::IndexClone,
            Content::AttachIndex { .. } => Kind::IndexAttachment,
            Content::RestoreIndex { .. } => Kind::IndexRestoration,
            Content::CompactIndex => Kind::IndexCompaction,
            Content::CreateSnapshot => Kind::SnapshotCreation,
            Content::UpgradeDatabase { .. } => Kind::UpgradeDatabase,
            Content::CreateDump { .. } => Kind::DumpCreation,
            Content::Export(_) => Kind::Export,
            Content::CancelTasks { .. } => Kind::TaskCancelation,
            Content::DeleteTasks { .. } => Kind::TaskDeletion,
            Content::UpdateRule { .. } => Kind::DsrUpdate,
            Content::ClearRules => Kind::DsrClear,
        }
    }

    /// Reports whether the task affects `uid` besides the index that it belongs to. It must then run in the order of
    /// both queues.
    pub fn involves(&self, uid: &str) -> bool {
        match self {
            Content::SwapIndexes { swaps } => swaps.iter().any(|swap| swap.indexes.iter().any(|index| index == uid)),
            Content::UpdateIndex { new_uid: Some(new), .. } | Content::CloneIndex { new_uid: new } => new == uid,
            Content::UpdateAliases { moves } => {
                moves.iter().any(|(alias, target)| alias == uid || target.as_deref() == Some(uid))
            }
            _ => false,
        }
    }

    /// Reports whether the task may need resources that only one server has or reaches: a retained generation, files
    /// placed there, a model. Another server that takes over may be unable to repeat it.
    pub fn is_bound_to_server(&self, index_has_embedders: impl Fn() -> bool) -> bool {
        match self {
            Content::RestoreIndex { .. } | Content::AttachIndex { .. } => true,
            Content::Settings { patch, .. } => {
                !(patch.embedders.is_unset() && patch.searchable_attributes.is_unset()) && index_has_embedders()
            }
            _ => false,
        }
    }

    /// The file of the payload folder that the task needs.
    pub fn payload_file(&self) -> Option<&PayloadName> {
        match self {
            Content::Upsert(Upsert { payload: PayloadPlace::File(name), .. }) => Some(name),
            _ => None,
        }
    }
}
