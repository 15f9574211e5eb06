//! A prepared filter over one segment.

use lamina_index::caches::SegmentCaches;
use lamina_index::index::SegmentView;
use lamina_segment::bits::{BitsetBuilder, DocSet};
use lamina_segment::segment::{Column, SegmentReader};
use lamina_text::id::FieldId;

use super::elements::ElementQuestion;
use super::node::Node;
use super::ordinal_set::OrdinalSet;
use super::ordinals::ValueQuestion;
use super::{OutOfTime, PreparedFilter, TimeLimit};

/// Divisor of the number of candidates. If fewer than `1 / FEW_SHARE` of the documents that may have a matching element
/// are left, only these are read, and the result is not cached.
pub(super) const FEW_SHARE: u32 = 4;
/// Unions of more sets than this are gathered in one bitset instead of being merged pair by pair.
const PAIRWISE_MAX: usize = 4;

impl PreparedFilter {
    /// The live documents of `segment` that pass.
    ///
    /// # Errors
    /// When `limit` is over before all conditions were evaluated.
    pub fn evaluate(&self, segment: &SegmentView, limit: TimeLimit<'_>) -> Result<DocSet, OutOfTime> {
        let mut docs = documents_of(&self.root, segment, limit)?;
        if let Some(deleted) = segment.deleted_set() {
            docs.and_not_assign(deleted);
        }
        Ok(docs)
    }
}

/// The documents of `segment`, deleted ones included, that pass `node`.
///
/// # Errors
/// When `limit` is over before.
pub(super) fn documents_of(node: &Node, segment: &SegmentView, limit: TimeLimit<'_>) -> Result<DocSet, OutOfTime> {
    Evaluation { reader: &segment.reader, caches: &segment.caches, limit }.documents(node)
}

struct Evaluation<'a> {
    reader: &'a SegmentReader,
    caches: &'a SegmentCaches,
    limit: TimeLimit<'a>,
}

/// A condition on values, looked up in the column but not gathered yet.
struct Pending {
    column: Column,
    ordinals: OrdinalSet,
    pair_count: u32,
}

/// The nodes of a conjunction, by what they cost.
#[derive(Default)]
struct Sorted<'n> {
    /// A few look-ups each.
    pending: Vec<Pending>,
    others: Vec<&'n Node>,
    /// Conditions that read documents.
    elements: Vec<(&'n ElementQuestion, Option<&'n Node>)>,
    /// Conditions that read all strings of a column, unless few documents are left to look at.
    scans: Vec<(Column, &'n ValueQuestion)>,
    /// One of them holds for no document of the segment.
    has_empty: bool,
}

impl Evaluation<'_> {
    /// The documents of a segment, deleted ones included, that pass `node`.
    fn documents(&self, node: &Node) -> Result<DocSet, OutOfTime> {
        self.limit.check()?;
        let doc_count = self.reader.doc_count();
        // A segment without the column has no document with the field.
        let column = |field: FieldId| self.reader.columns().get(field);
        let from_column = |field: FieldId, ask: fn(&Column) -> DocSet| {
            column(field).map_or_else(DocSet::empty, |column| ask(&column))
        };
        Ok(match node {
            Node::And { all, none } => self.intersection(all, none)?,
            Node::Or(nodes) => self.union(nodes)?,
            Node::Not(node) => self.documents(node)?.complement(doc_count),
            Node::Nothing => DocSet::empty(),
            Node::Values(field, question) => match column(*field) {
                Some(column) => question.ordinals(&column, self.limit)?.documents(&column, doc_count),
                None => DocSet::empty(),
            },
            Node::Digits(field, name, question) => match column(*field) {
                Some(column) => question.exact_documents(name, &column, self.reader, self.limit)?,
                None => DocSet::empty(),
            },
            Node::Exists(field) => from_column(*field, Column::exists),
            Node::Null(field) => from_column(*field, Column::null),
            Node::Empty(field) => from_column(*field, Column::empty),
            Node::Blank(field) => from_column(*field, Column::blank),
            Node::Vectors(question) => question.documents(self.reader),
            Node::Elements { question, candidates } => self.with_element((question, candidates.as_deref()), None)?,
            Node::Shapes(region) => {
                let stop = || self.limit.is_over();
                let docs = self.reader.shapes().map_or_else(DocSet::empty, |shapes| region.documents(shapes, &stop));
                self.limit.check()?;
                docs
            }
            Node::Region(region) => {
                let stop = || self.limit.is_over();
                let docs = self.reader.geo().map_or_else(DocSet::empty, |geo| region.documents_unless(geo, &stop));
                self.limit.check()?;
                docs
            }
        })
    }

    /// The documents of which one element passes, or those `among` some. Cost: reading those that may pass, unless all were read
    /// before.
    fn with_element(
        &self,
        (question, candidates): (&ElementQuestion, Option<&Node>),
        among: Option<&DocSet>,
    ) -> Result<DocSet, OutOfTime> {
        let kept = &self.caches.elements;
        if let Some(passing) = kept.get(&question.text) {
            return Ok(among.map_or_else(|| (*passing).clone(), |among| passing.and(among)));
        }
        let candidates = match candidates {
            Some(node) => self.documents(node)?,
            None => DocSet::full(self.reader.doc_count()),
        };
        let left = among.map_or_else(|| candidates.clone(), |among| candidates.and(among));
        if left.is_empty() {
            return Ok(left);
        }
        if left.len() < candidates.len() / FEW_SHARE {
            return question.passing(&left, self.reader, self.limit);
        }
        let passing = question.passing(&candidates, self.reader, self.limit)?;
        // What could not be read is missing, and may be there again once it is repaired.
        if self.reader.health().check().is_ok() {
            kept.get_or_find(question.text.clone(), || passing.clone());
        }
        Ok(among.map_or_else(|| passing.clone(), |among| passing.and(among)))
    }

    /// Sorts the nodes of a conjunction. With `needs_all`, one that holds for no document ends it.
    fn sorted<'n>(&self, nodes: &'n [Node], needs_all: bool) -> Result<Sorted<'n>, OutOfTime> {
        let mut sorted = Sorted::default();
        for node in nodes {
            let (field, question) = match node {
                Node::Values(field, question) => (field, question),
                Node::Elements { question, candidates } => {
                    sorted.elements.push((question, candidates.as_deref()));
                    continue;
                }
                _ => {
                    sorted.others.push(node);
                    continue;
                }
            };
            let Some(column) = self.reader.columns().get(*field) else {
                sorted.has_empty = true;
                continue;
            };
            if question.reads_all() {
                sorted.scans.push((column, question));
                continue;
            }
            self.limit.check()?;
            let ordinals = question.ordinals(&column, self.limit)?;
            match ordinals.pair_count(&column) {
                0 => sorted.has_empty = true,
                pair_count => sorted.pending.push(Pending { column, ordinals, pair_count }),
            }
            if needs_all && sorted.has_empty {
                break;
            }
        }
        Ok(sorted)
    }

    /// Documents that pass all of `all` and none of `none`. The condition that leaves fewest documents goes first; where
    /// these are few, the other conditions look at them instead of gathering their own.
    fn intersection(&self, all: &[Node], none: &[Node]) -> Result<DocSet, OutOfTime> {
        let Sorted { mut pending, others, elements, scans, has_empty } = self.sorted(all, true)?;
        if has_empty {
            return Ok(DocSet::empty());
        }
        pending.sort_by_key(|condition| condition.pair_count);
        let mut pending = pending.into_iter();
        let mut docs = pending.next().map(|first| first.ordinals.documents(&first.column, self.reader.doc_count()));
        for node in others {
            if docs.as_ref().is_some_and(DocSet::is_empty) {
                return Ok(DocSet::empty());
            }
            let passing = self.documents(node)?;
            match &mut docs {
                None => docs = Some(passing),
                Some(docs) => docs.and_assign(&passing),
            }
        }
        let mut docs = docs.unwrap_or_else(|| DocSet::full(self.reader.doc_count()));
        self.retain(&mut docs, pending.collect(), scans, true)?;
        for question in elements {
            if docs.is_empty() {
                return Ok(docs);
            }
            docs.and_assign(&self.with_element(question, Some(&docs))?);
        }
        let Sorted { pending, others, elements, scans, .. } = self.sorted(none, false)?;
        self.retain(&mut docs, pending, scans, false)?;
        for node in others {
            if docs.is_empty() {
                break;
            }
            docs.and_not_assign(&self.documents(node)?);
        }
        for question in elements {
            if docs.is_empty() {
                break;
            }
            docs.and_not_assign(&self.with_element(question, Some(&docs))?);
        }
        Ok(docs)
    }

    /// Keeps the documents for which the conditions hold, or those for which none does.
    fn retain(
        &self,
        docs: &mut DocSet,
        pending: Vec<Pending>,
        scans: Vec<(Column, &ValueQuestion)>,
        wanted: bool,
    ) -> Result<(), OutOfTime> {
        for condition in pending {
            if docs.is_empty() {
                return Ok(());
            }
            self.limit.check()?;
            condition.ordinals.retain(&condition.column, docs, wanted);
        }
        for (column, question) in scans {
            if docs.is_empty() {
                return Ok(());
            }
            self.limit.check()?;
            question.ordinals_among(&column, docs, self.limit)?.retain(&column, docs, wanted);
        }
        Ok(())
    }

    fn union(&self, nodes: &[Node]) -> Result<DocSet, OutOfTime> {
        if nodes.len() <= PAIRWISE_MAX {
            let mut docs = DocSet::empty();
            for node in nodes {
                docs.or_assign(&self.documents(node)?);
            }
            return Ok(docs);
        }
        let mut builder = BitsetBuilder::new(self.reader.doc_count());
        for node in nodes {
            builder.insert_set(&self.documents(node)?);
        }
        Ok(builder.finish())
    }
}
