//! A prepared filter over one segment.

use super::PreparedFilter;
use super::ordinal_set::OrdinalSet;
use super::prepare::Node;
use crate::bits::{BitsetBuilder, DocSet};
use crate::id::FieldId;
use crate::index::SegmentView;
use crate::segment::{Column, SegmentReader};

/// Unions of more sets than this are gathered in one bitset instead of being merged pair by pair.
const PAIRWISE_MAX: usize = 4;

impl PreparedFilter {
    /// The live documents of `segment` that pass.
    pub fn evaluate(&self, segment: &SegmentView) -> DocSet {
        let mut docs = documents(&self.root, &segment.reader);
        if let Some(deleted) = segment.deleted_set() {
            docs.and_not_assign(deleted);
        }
        docs
    }
}

/// The documents of a segment, deleted ones included, that pass `node`.
fn documents(node: &Node, reader: &SegmentReader) -> DocSet {
    let doc_count = reader.doc_count();
    let from_column = |field: FieldId, ask: &dyn Fn(&Column) -> DocSet| {
        // A segment without the column has no document with the field.
        reader.columns().get(field).map_or_else(DocSet::empty, |column| ask(&column))
    };
    match node {
        Node::And { all, none } => intersection(all, none, reader),
        Node::Or(nodes) => union(nodes, reader),
        Node::Not(node) => documents(node, reader).complement(doc_count),
        Node::Nothing => DocSet::empty(),
        Node::Values(field, question) => {
            from_column(*field, &|column| question.ordinals(column).documents(column, doc_count))
        }
        Node::Digits(field, name, question) => {
            from_column(*field, &|column| question.exact_documents(name, column, reader))
        }
        Node::Exists(field) => from_column(*field, &Column::exists),
        Node::Null(field) => from_column(*field, &Column::null),
        Node::Empty(field) => from_column(*field, &Column::empty),
        Node::Vectors(question) => question.documents(reader),
        Node::Shapes(region) => reader.shapes().map_or_else(DocSet::empty, |shapes| region.documents(shapes)),
        Node::Region(region) => reader.geo().map_or_else(DocSet::empty, |geo| region.documents(geo)),
    }
}

/// A condition on values, looked up in the column but not gathered yet.
struct Pending {
    column: Column,
    ordinals: OrdinalSet,
    pair_count: u32,
}

impl Pending {
    /// Splits conditions on values from other nodes. `None` when one of them can't hold in this segment.
    fn split<'n>(nodes: &'n [Node], reader: &SegmentReader) -> (Vec<Option<Pending>>, Vec<&'n Node>) {
        let (mut pending, mut others) = (Vec::new(), Vec::new());
        for node in nodes {
            match node {
                Node::Values(field, question) => pending.push(reader.columns().get(*field).and_then(|column| {
                    let ordinals = question.ordinals(&column);
                    let pair_count = ordinals.pair_count(&column);
                    (pair_count > 0).then_some(Pending { column, ordinals, pair_count })
                })),
                other => others.push(other),
            }
        }
        (pending, others)
    }
}

/// Documents that pass all of `all` and none of `none`. The condition that leaves fewest documents goes first; where
/// these are few, the other conditions look at them instead of gathering their own.
fn intersection(all: &[Node], none: &[Node], reader: &SegmentReader) -> DocSet {
    let (pending, others) = Pending::split(all, reader);
    let Some(mut pending) = pending.into_iter().collect::<Option<Vec<_>>>() else { return DocSet::empty() };
    pending.sort_by_key(|condition| condition.pair_count);
    let mut pending = pending.into_iter();

    let mut docs = pending.next().map(|first| first.ordinals.documents(&first.column, reader.doc_count()));
    for node in others {
        if docs.as_ref().is_some_and(DocSet::is_empty) {
            return DocSet::empty();
        }
        let passing = documents(node, reader);
        match &mut docs {
            None => docs = Some(passing),
            Some(docs) => docs.and_assign(&passing),
        }
    }
    let mut docs = docs.unwrap_or_else(|| DocSet::full(reader.doc_count()));
    for condition in pending {
        condition.ordinals.retain(&condition.column, &mut docs, true);
    }
    let (excluding, others) = Pending::split(none, reader);
    for condition in excluding.into_iter().flatten() {
        condition.ordinals.retain(&condition.column, &mut docs, false);
    }
    for node in others {
        if docs.is_empty() {
            break;
        }
        docs.and_not_assign(&documents(node, reader));
    }
    docs
}

fn union(nodes: &[Node], reader: &SegmentReader) -> DocSet {
    if nodes.len() <= PAIRWISE_MAX {
        let mut docs = DocSet::empty();
        nodes.iter().for_each(|node| docs.or_assign(&documents(node, reader)));
        return docs;
    }
    let mut builder = BitsetBuilder::new(reader.doc_count());
    nodes.iter().for_each(|node| builder.insert_set(&documents(node, reader)));
    builder.finish()
}
