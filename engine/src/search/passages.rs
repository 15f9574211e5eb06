//! The passages of a hit that are nearest to the vector of a query. They are not stored: the text of a document is cut again as it was
//! when its vectors were made.

use lamina_index::index::embedding::{PassageTemplate, Passages};
use lamina_index::index::settings::{AttributeList, Distribution};
use lamina_index::index::{DocumentAddress, Snapshot};
use lamina_segment::document::{append_member, members};

use crate::highlight::{Projection, Selection};
use crate::vector::{QueryVector, nearest_of};

/// Finds passages of documents.
#[derive(Debug)]
pub struct NearPassages<'s> {
    snapshot: &'s Snapshot,
    embedder: String,
    template: PassageTemplate,
    distribution: Option<Distribution>,
    query: QueryVector,
    displayed: Projection,
}

/// A passage that may be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct NearPassage {
    /// Part of the rendered text, as it was cut.
    pub text: String,
    /// Offset in the text that the template makes of what is displayed, in bytes.
    pub start: usize,
    /// Similarity to the query, as the embedder's distribution shows it.
    pub score: f32,
}

impl<'s> NearPassages<'s> {
    /// For a query by an embedder; `None` if it does not cut texts into passages, or the query has no vector.
    pub fn new(snapshot: &'s Snapshot, embedder: &str, vector: &[f32]) -> Option<NearPassages<'s>> {
        let settings = snapshot.settings.embedder(embedder).filter(|one| one.chunks.is_some() && !vector.is_empty())?;
        let displayed = match &snapshot.settings.displayed_attributes {
            AttributeList::All => Selection::All,
            AttributeList::These(names) => Selection::new(names),
        };
        Some(NearPassages {
            snapshot,
            embedder: embedder.to_owned(),
            template: PassageTemplate::new(&settings).ok()?,
            distribution: settings.distribution,
            query: QueryVector::new(vector),
            displayed: Projection { displayed, retrieved: Selection::All, with_vectors: false },
        })
    }

    /// All passages of a document (given as it is stored), and the order of them, the nearest first.
    fn ranked(&self, address: DocumentAddress, document: &[u8]) -> Option<(Passages, Vec<(usize, f32)>)> {
        let passages = self.snapshot.passages(address, &self.embedder, &self.template, document)?;
        let vectors = self.snapshot.segments[address.segment as usize].reader.vectors_of(&self.embedder)?;
        Some((passages, nearest_of(vectors, &self.query, address.doc)))
    }

    /// The text that the nearest passage was embedded with, whatever is displayed.
    pub fn embedded_text(&self, address: DocumentAddress, document: &[u8]) -> Option<String> {
        let (passages, order) = self.ranked(address, document)?;
        passages.texts().nth(order.first()?.0)
    }

    /// The `count` nearest passages that consist of nothing but what is displayed, the nearest first. Costs rendering the document, twice
    /// if not all of it is displayed.
    pub fn of(&self, address: DocumentAddress, document: &[u8], count: usize) -> Vec<NearPassage> {
        let Some((Passages { text, ranges, .. }, order)) = self.ranked(address, document) else { return Vec::new() };
        let is_whole = self.displayed.displayed == Selection::All;
        let shown = if is_whole { None } else { Some(self.displayed_text(document).unwrap_or_default()) };
        let passage = |(position, similarity): (usize, f32)| {
            let range = ranges.get(position)?.clone();
            let passage = &text[range.clone()];
            let start = shown.as_ref().map_or(Some(range.start), |shown| shown.find(passage))?;
            let score = self.distribution.map_or(similarity, |distribution| distribution.shift(similarity));
            Some(NearPassage { text: passage.to_owned(), start, score })
        };
        order.into_iter().filter_map(passage).take(count).collect()
    }

    /// The text of a document of which attributes that are not displayed are null.
    fn displayed_text(&self, document: &[u8]) -> Option<String> {
        let mut shown = Vec::new();
        self.displayed.write(document, &mut shown).ok()?;
        let known = shown.clone();
        let known = members(std::str::from_utf8(&known).ok()?).ok()?;
        for (name, _) in members(std::str::from_utf8(document).ok()?).ok()? {
            if !known.iter().any(|(known, _)| *known == name) {
                append_member(&mut shown, &name, b"null");
            }
        }
        let is_searchable = |name: &str| self.snapshot.settings.is_searchable_to_templates(name);
        Some(self.template.render(&shown, &is_searchable).ok()?.text)
    }
}
