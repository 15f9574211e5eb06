//! What the manifest keeps of a segment.

use lamina_text::id::{FieldId, InternalId};
use serde::{Deserialize, Serialize};

/// The text fields that a segment indexes: the searchable attributes when it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TextFields {
    /// Every field.
    #[default]
    All,
    /// The named attributes (dotted paths; an attribute covers its children).
    Listed(Vec<String>),
}

impl TextFields {
    /// Returns the fields that a segment merged from segments with these fields indexes for certain.
    pub fn common(&self, other: &TextFields) -> TextFields {
        match (self, other) {
            (TextFields::All, fields) | (fields, TextFields::All) => fields.clone(),
            (TextFields::Listed(a), TextFields::Listed(b)) => {
                TextFields::Listed(a.iter().filter(|name| b.contains(name)).cloned().collect())
            }
        }
    }
}

/// A file of an index as the manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileMeta {
    /// Name in the directory.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
    /// CRC-32 of the whole file.
    pub checksum: u32,
}

/// A file with columns that were added to a segment after it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnFileMeta {
    /// File of the columns, beside the segment.
    pub file: FileMeta,
    /// Fields whose columns it holds; they replace columns of the same fields in the segment.
    pub fields: Vec<FieldId>,
    /// True if it holds the geo column.
    pub geo: bool,
    /// True if it holds the shapes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shapes: bool,
    /// Embedders whose vectors it holds; they replace those of the same embedders in the segment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedders: Vec<String>,
    /// True if it holds a layer of values that documents received since the segment was written. The layers of earlier
    /// such files are below it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub patches: bool,
}

impl ColumnFileMeta {
    /// Creates the metadata of a file of which nothing else is known.
    pub fn of(file: FileMeta) -> ColumnFileMeta {
        ColumnFileMeta { file, fields: Vec::new(), geo: false, shapes: false, embedders: Vec::new(), patches: false }
    }
}

/// A segment as the manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentMeta {
    /// The segment.
    pub id: u64,
    /// File with everything except columns that were added later.
    pub file: FileMeta,
    /// Number of documents, deleted ones included.
    pub doc_count: u32,
    /// Internal id of the first document.
    pub first_internal_id: InternalId,
    /// Internal id of the last document.
    pub last_internal_id: InternalId,
    /// Sum of the lengths of the documents' JSON.
    pub raw_bytes: u64,
    /// Number of distinct terms.
    pub term_count: u32,
    /// Number of words and gaps in the token column.
    pub token_count: u64,
    /// Text fields it indexes.
    pub text_fields: TextFields,
    /// The rules by which its texts were split into words, see [`TEXT_RULES`](lamina_text::text::TEXT_RULES). 0 if they are not
    /// known, because the manifest is lost.
    pub text_rules: u32,
    /// Fields with a column in the segment file (not counting `column_files`), ascending.
    pub column_fields: Vec<FieldId>,
    /// True if the segment file has the geo column.
    pub geo: bool,
    /// True if the segment file has the shapes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shapes: bool,
    /// Columns added later, in the order they were added.
    pub column_files: Vec<ColumnFileMeta>,
}

impl SegmentMeta {
    /// Reports whether documents can be filtered and sorted by the field in this segment.
    pub fn has_column(&self, field: FieldId) -> bool {
        self.column_fields.binary_search(&field).is_ok() || self.column_files.iter().any(|f| f.fields.contains(&field))
    }

    /// Reports whether the segment has a geo column.
    pub fn has_geo(&self) -> bool {
        self.geo || self.column_files.iter().any(|f| f.geo)
    }

    /// Reports whether the segment has the shapes.
    pub fn has_shapes(&self) -> bool {
        self.shapes || self.column_files.iter().any(|f| f.shapes)
    }

    /// The same segment, with this file of patches in the place of the last `replaced` ones.
    pub(crate) fn with_patch_file(&self, file: ColumnFileMeta, replaced: usize) -> SegmentMeta {
        let mut kept = self.patch_files().count().saturating_sub(replaced);
        let mut meta = self.clone();
        meta.column_files.retain(|earlier| {
            let is_kept = !earlier.patches || kept > 0;
            kept -= usize::from(earlier.patches && is_kept);
            is_kept
        });
        meta.column_files.push(file);
        meta
    }

    /// The files of patches, oldest first.
    pub fn patch_files(&self) -> impl Iterator<Item = &FileMeta> {
        self.column_files.iter().filter(|file| file.patches).map(|file| &file.file)
    }

    /// The last file of patches: each change of them has another one.
    pub fn last_patch_file(&self) -> Option<&FileMeta> {
        self.patch_files().last()
    }

    /// Every file of the segment.
    pub fn files(&self) -> impl Iterator<Item = &FileMeta> {
        std::iter::once(&self.file).chain(self.column_files.iter().map(|f| &f.file))
    }

    /// Bytes of all files.
    pub fn total_bytes(&self) -> u64 {
        self.files().map(|f| f.bytes).sum()
    }
}
