//! What a segment that is being written holds of its documents beside their words.

use lamina_text::id::{DocId, FieldId};

use super::keys::DocumentKeys;
use crate::bits::monotone::put_monotone;
use crate::segment::columns::ColumnsBuilder;
use crate::segment::format::{SectionKind, SectionWriter};
use crate::segment::geo::GeoBuilder;
use crate::segment::shapes::ShapesBuilder;
use crate::segment::store::StoreParts;
use crate::segment::vectors::VectorsBuilder;
use crate::segment::{ListThresholds, SegmentError, SegmentWriterOptions};

#[derive(Debug)]
pub(super) struct Documents {
    pub(super) keys: DocumentKeys,
    pub(super) columns: ColumnsBuilder,
    pub(super) geo: Option<GeoBuilder>,
    pub(super) shapes: Option<ShapesBuilder>,
    pub(super) vectors: Vec<VectorsBuilder>,
    pub(super) store: StoreParts,
}

/// Summary of the documents that were written.
pub(super) struct WrittenDocuments {
    pub(super) column_fields: Vec<FieldId>,
    pub(super) geo: bool,
    pub(super) shapes: bool,
    /// Bytes of JSON.
    pub(super) raw_bytes: u64,
}

/// The documents that stay, and where.
pub(super) struct Order {
    /// By number of arrival, in ascending order of their internal ids.
    pub(super) docs: Vec<u32>,
    /// By number of arrival the final number of each document (`DocId::MAX`: left out); `None`: they keep theirs.
    pub(super) new_docs: Option<Vec<DocId>>,
    /// Documents that are left out, by number of arrival.
    pub(super) replaced: Vec<u32>,
}

impl Order {
    /// Computes the order of documents by internal id. Of documents with the same id the one that came last is kept.
    pub(super) fn new(ids: &[u64]) -> Order {
        let mut docs: Vec<u32> = (0..ids.len() as u32).collect();
        if ids.is_sorted_by(|a, b| a < b) {
            return Order { docs, new_docs: None, replaced: Vec::new() };
        }
        // Stable, which is fastest for what two writers have had in order each.
        docs.sort_by_key(|&doc| ids[doc as usize]);
        let mut replaced = Vec::new();
        let mut kept: Vec<u32> = Vec::with_capacity(docs.len());
        for doc in docs {
            replaced.extend(kept.pop_if(|last| ids[*last as usize] == ids[doc as usize]));
            kept.push(doc);
        }
        let mut new_docs = vec![DocId::MAX; ids.len()];
        kept.iter().zip(0..).for_each(|(&old, new)| new_docs[old as usize] = new);
        Order { docs: kept, new_docs: Some(new_docs), replaced }
    }
}

impl Documents {
    pub(super) fn new(options: &SegmentWriterOptions) -> Documents {
        Documents {
            keys: DocumentKeys::default(),
            columns: ColumnsBuilder::new(&options.column_fields),
            geo: options.geo.then(GeoBuilder::default),
            shapes: options.shapes.then(ShapesBuilder::default),
            vectors: Vec::new(),
            store: StoreParts::new(options.store_dictionary.clone()),
        }
    }

    /// Bytes held now and needed at most while finishing.
    pub(super) fn memory_bytes(&self) -> usize {
        self.store.heap_bytes()
            + self.columns.heap_bytes()
            + self.geo.as_ref().map_or(0, GeoBuilder::heap_bytes)
            + self.shapes.as_ref().map_or(0, ShapesBuilder::heap_bytes)
            + self.vectors.iter().map(VectorsBuilder::heap_bytes).sum::<usize>()
            + self.keys.heap_bytes()
    }

    /// Adds those of `other`, numbered from `first_doc` on. Neither has vectors.
    pub(super) fn absorb(&mut self, other: Documents, first_doc: DocId) -> Result<(), SegmentError> {
        self.keys.absorb(&other.keys);
        self.columns.absorb(other.columns, first_doc);
        if let Some(geo) = &other.geo {
            self.geo.get_or_insert_default().absorb(geo, first_doc);
        }
        if let Some(shapes) = &other.shapes {
            self.shapes.get_or_insert_default().absorb(shapes, first_doc);
        }
        self.store.absorb(other.store)
    }

    /// Writes all sections; `ids` are the internal ids in their final order.
    pub(super) fn finish(
        self,
        file: &mut SectionWriter,
        ids: &[u64],
        order: &Order,
        thresholds: &ListThresholds,
    ) -> Result<WrittenDocuments, SegmentError> {
        let (doc_count, new_docs) = (ids.len() as u32, order.new_docs.as_deref());
        let mut section = Vec::new();
        put_monotone(&mut section, ids);
        file.section(SectionKind::InternalIds, 0, &section)?;
        self.keys.finish(file, &order.docs)?;
        let column_fields = self.columns.finish(file, new_docs, doc_count)?;
        if let Some(geo) = &self.geo {
            geo.finish(file, new_docs, doc_count)?;
        }
        if let Some(shapes) = &self.shapes {
            shapes.finish(file, new_docs)?;
        }
        for (number, vectors) in (0..).zip(&self.vectors) {
            vectors.finish(file, number, Some(&order.docs), doc_count, thresholds)?;
        }
        let raw_bytes = self.store.finish(file, new_docs.map(|_| order.docs.as_slice()))?;
        Ok(WrittenDocuments { column_fields, geo: self.geo.is_some(), shapes: self.shapes.is_some(), raw_bytes })
    }
}
