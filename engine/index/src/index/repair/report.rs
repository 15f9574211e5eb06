//! What a repair has found and done.

/// The outcome of a repair, or what it would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    pub manifest: ManifestFound,
    /// Segments that stay as they are.
    pub sound_segments: usize,
    /// Damaged segments.
    pub segments: Vec<SegmentRepair>,
    /// Documents of the index afterwards.
    pub document_count: u64,
}

impl RepairReport {
    /// Reports whether there is nothing to repair.
    pub fn is_sound(&self) -> bool {
        self.manifest == ManifestFound::Sound && self.segments.is_empty()
    }
}

/// The manifest that a repair starts from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ManifestFound {
    /// The newest one.
    #[default]
    Sound,
    /// An older one: the newest is damaged, for this reason.
    Older { reason: String },
    /// No manifest can be read: the segments say what they hold, but settings, the dates, and what was deleted are lost. The primary
    /// key is the one that follows from the keys of the documents, if any.
    Lost { reason: String, primary_key: Option<String> },
}

/// One damaged segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentRepair {
    pub id: u64,
    /// Name of its file.
    pub file: String,
    /// A sentence for each file and section that is damaged.
    pub damage: Vec<String>,
    /// Documents that are written anew.
    pub kept: u64,
    /// Documents that cannot be read, by id.
    pub lost_ids: Vec<String>,
    /// Documents that cannot be read and whose ids cannot be read either.
    pub lost_without_id: u64,
    /// Documents that are in another segment as well, which has the newer version.
    pub superseded: u64,
    /// Documents that were read from damaged sections, with nothing left to compare them with.
    pub uncompared: u64,
    /// True if the file of tombstones cannot be read: no document is taken for deleted.
    pub tombstones_lost: bool,
    /// The order of insertion could not be read: documents are in the order of the segment.
    pub order_lost: bool,
    pub lost_vectors: Vec<LostVectors>,
}

/// Vectors of an embedder that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostVectors {
    /// Name of the embedder; empty when that is damaged too.
    pub embedder: String,
    /// True if the embedder regenerates them when the server runs.
    pub made_again: bool,
    /// The documents that are kept, and had vectors or not: that cannot be read either.
    pub ids: Vec<String>,
}
