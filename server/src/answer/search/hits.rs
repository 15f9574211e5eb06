//! Writes hits: the stored document with what the request hides removed and what it asks for added.

use std::cell::RefCell;

use lamina_base::budget::costs::{READING_FACTOR, RENDERING_FACTOR};
use lamina_base::budget::{AnswerBudget, Reservation, VALUE_BYTES, json_heap_bytes};
use lamina_base::error::ApiResult;
use lamina_engine::highlight::{
    CropSelection, FormatOptions, Formatter, MatchingTerms, Projection, Selection, append_field,
};
use lamina_engine::index::Snapshot;
use lamina_engine::index::settings::{AttributeList, VECTORS_FIELD, locales_of};
use lamina_engine::search::{Explanation, Hit, NearPassages, SearchResult};
use lamina_engine::text::Language;
use lamina_protocol::wire::search::SearchQuery;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::foreign::ForeignDocuments;
use super::{Context, Found, Target, details, explanation, geo_distance, refusal};

/// Hits that are copied one after the other: waking a thread for fewer takes longer than it saves.
const COPIED_PER_JOB: usize = 20;
/// The same where they are highlighted, cropped or searched for positions.
const FORMATTED_PER_JOB: usize = 5;
/// Hits that are written before they are put behind the others.
const WRITTEN_AT_ONCE: usize = 256;
/// A document of so many bytes is read without asking for memory: there are as many as threads.
const UNASKED_BYTES: usize = 64 << 10;
/// The member of a hit that has its passages.
const PASSAGES_FIELD: &str = "_passages";
/// Number of hits that are prefetched before they are read. More would evict each other from the caches.
const FETCHED_MAX: usize = 100;

/// Writes the hits of one search. Documents are copied as the bytes they were sent with wherever they are shown whole.
#[derive(Debug)]
pub(crate) struct HitWriter<'a> {
    target: Target<'a>,
    query: &'a SearchQuery,
    projection: Projection,
    format: FormatOptions,
    terms: MatchingTerms,
    from: Option<(f64, f64)>,
    /// Passages of hits, where there are any, and how many of each.
    passages: Option<(NearPassages<'a>, usize)>,
    foreign: ForeignDocuments,
    budget: AnswerBudget,
}

impl<'a> HitWriter<'a> {
    /// For the hits of `found`, whose matching terms it takes. What it writes is counted in `budget`.
    pub(crate) fn new(
        target: Target<'a>,
        query: &'a SearchQuery,
        found: &mut Found,
        budget: &AnswerBudget,
    ) -> HitWriter<'a> {
        let displayed = match &target.snapshot.settings.displayed_attributes {
            AttributeList::All => Selection::All,
            AttributeList::These(names) => Selection::new(names),
        };
        let retrieved = query.attributes_to_retrieve.as_ref().map_or(Selection::All, |names| {
            let known: Vec<_> = names.iter().filter(|name| is_known(target.snapshot, name)).collect();
            Selection::new(&known)
        });
        let highlight = query.attributes_to_highlight.iter().flatten();
        let highlight: Vec<_> = highlight.filter(|name| means_displayed(target.snapshot, name)).collect();
        let crop = query.attributes_to_crop.iter().flatten();
        let name = |entry: &'a String| entry.rsplit_once(':').map_or(entry.as_str(), |(name, _)| name);
        let crop: Vec<_> = crop.filter(|entry| means_displayed(target.snapshot, name(entry))).collect();
        HitWriter {
            target,
            query,
            projection: Projection { displayed, retrieved, with_vectors: false },
            format: FormatOptions {
                highlight: Selection::new(&highlight),
                crop: CropSelection::new(&crop, query.crop_length),
                pre_tag: query.highlight_pre_tag.clone(),
                post_tag: query.highlight_post_tag.clone(),
                crop_marker: query.crop_marker.clone(),
                with_positions: query.show_matches_position,
            },
            terms: found.result.matching_terms.take().unwrap_or_default(),
            from: geo_distance::sorted_from(&found.sort),
            passages: near_passages(target, query, found.vector.as_deref()),
            foreign: ForeignDocuments::default(),
            budget: budget.clone(),
        }
    }

    /// Also with the documents of other indexes in the place of their ids.
    ///
    /// # Errors
    /// The errors of [`ForeignDocuments::of`].
    pub(super) fn with_foreign(mut self, context: &Context) -> ApiResult<HitWriter<'a>> {
        self.foreign = ForeignDocuments::of(&self.target.snapshot.settings, context)?;
        Ok(self)
    }

    /// Writes all hits, separated by commas.
    ///
    /// # Errors
    /// A stored document that can't be read, or not in the memory that there is.
    pub(crate) fn write_all(&self, result: &SearchResult, out: &mut Vec<u8>) -> ApiResult<()> {
        let hit = |hit| self.hit(hit, result.explanation.as_deref());
        let per_job = if self.is_formatted() { FORMATTED_PER_JOB } else { COPIED_PER_JOB };
        self.target.snapshot.fetch(result.hits.iter().take(FETCHED_MAX).map(|hit| hit.address));
        let mut is_first = true;
        for some in result.hits.chunks(WRITTEN_AT_ONCE) {
            // Unpacking, highlighting and cropping of each hit is work of its own.
            let written: Vec<ApiResult<Vec<u8>>> = some.par_iter().with_min_len(per_job).map(hit).collect();
            for hit in written {
                if !std::mem::take(&mut is_first) {
                    out.push(b',');
                }
                out.append(&mut hit?);
            }
        }
        Ok(())
    }

    /// Reports whether hits need more than copying.
    fn is_formatted(&self) -> bool {
        self.format.formats() || self.format.with_positions
    }

    /// One hit: a JSON object, counted as a part of the answer.
    ///
    /// # Errors
    /// A stored document that can't be read, or not in the memory that there is.
    pub(crate) fn hit(&self, hit: &Hit, explained: Option<&Explanation>) -> ApiResult<Vec<u8>> {
        let out = self.written(hit, explained)?;
        // A body that grows holds up to twice as much.
        self.budget.take(out.len() * 2)?;
        Ok(out)
    }

    /// The document of a hit, and the memory that it takes to read and to write it.
    fn read(&self, hit: &Hit) -> ApiResult<(Vec<u8>, Option<Reservation>)> {
        let vectors = if self.shows_vectors() { self.target.snapshot.vectors_json_bytes(hit.address) } else { 0 };
        let mut held = Ok(None);
        let may_read = |block_bytes: usize| {
            let bytes = block_bytes.saturating_mul(READING_FACTOR).saturating_add(vectors);
            held = (bytes > UNASKED_BYTES).then(|| self.budget.hold(bytes)).transpose();
            held.is_ok()
        };
        let document = self.target.snapshot.document_if(hit.address, may_read)?;
        let held = held?;
        Ok((document.unwrap_or_default(), held))
    }

    fn written(&self, hit: &Hit, explained: Option<&Explanation>) -> ApiResult<Vec<u8>> {
        let (document, _held) = self.read(hit)?;
        let mut out = Vec::with_capacity(document.len());
        self.projection.write(&document, &mut out).map_err(refusal::unretrievable)?;
        self.foreign.fill(&mut out, &self.budget)?;
        if self.shows_vectors() {
            let vectors = self.target.snapshot.vectors_json(hit.address, &document)?;
            append_field(&mut out, VECTORS_FIELD, &vectors);
        }
        if let Some(metres) = self.from.and_then(|from| geo_distance::distance(from, &out)) {
            append_field(&mut out, "_geoDistance", metres.to_string().as_bytes());
        }
        let passages = self.passages(hit, &document)?;
        self.format(&document, passages.as_ref(), &mut out)?;
        if let Some(passages) = passages {
            append_field(&mut out, PASSAGES_FIELD, passages.to_string().as_bytes());
        }
        if self.query.show_ranking_score {
            append_field(&mut out, "_rankingScore", serde_json::json!(hit.score).to_string().as_bytes());
        }
        if self.query.show_ranking_score_details {
            let displayed = &self.target.snapshot.settings.displayed_attributes;
            let details = details::details(&hit.details, displayed);
            append_field(&mut out, "_rankingScoreDetails", details.to_string().as_bytes());
        }
        let displayed = &self.target.snapshot.settings.displayed_attributes;
        if let Some(explanation) = explanation::of_hit(explained, hit, displayed) {
            append_field(&mut out, "_explanation", explanation.to_string().as_bytes());
        }
        Ok(out)
    }

    /// The passages of a hit as JSON, the nearest first; `None` if there are none to show.
    fn passages(&self, hit: &Hit, document: &[u8]) -> ApiResult<Option<Value>> {
        let Some((near, count)) = &self.passages else { return Ok(None) };
        let rendered = || {
            let values = json_heap_bytes(document, RENDERING_FACTOR * VALUE_BYTES);
            self.budget.hold(values.saturating_add(RENDERING_FACTOR * document.len()))
        };
        let _held = (document.len() > UNASKED_BYTES).then(rendered).transpose()?;
        let found = near.of(hit.address, document, *count).into_iter();
        let shown = found.map(|passage| {
            json!({
                "text": passage.text, "start": passage.start, "length": passage.text.len(),
                "score": f64::from(passage.score),
            })
        });
        let shown: Vec<Value> = shown.collect();
        Ok(if shown.is_empty() { None } else { Some(shown.into()) })
    }

    /// Adds the formatted copy of a document, with that of its passages, and the positions of matches.
    fn format(&self, document: &[u8], passages: Option<&Value>, out: &mut Vec<u8>) -> ApiResult<()> {
        if !self.is_formatted() {
            return Ok(());
        }
        let resolved = self.target.snapshot.resolved_settings();
        let (held, refused) = (RefCell::new(self.budget.hold(0)?), RefCell::new(None));
        let may_take = |bytes| {
            let taken = held.borrow_mut().grow(bytes).map_err(|error| refused.replace(Some(error)));
            taken.is_ok()
        };
        let format = |projection: &Projection, options: &FormatOptions, document: &[u8]| {
            let formatter = Formatter {
                projection,
                options,
                terms: &self.terms,
                tokenizer: &resolved.tokenizer,
                languages: &|path| self.languages(path),
                may_take: &may_take,
            };
            let formatted = formatter.format(document);
            formatted.map_err(|error| refused.take().unwrap_or_else(|| refusal::unretrievable(error)))
        };
        let formatted = format(&self.projection, &self.format, document)?;
        let mut copy = formatted.document.filter(|copy| copy != b"{}");
        if let Some(copy) = &mut copy {
            self.foreign.fill(copy, &self.budget)?;
        }
        if let Some(passages) = passages.filter(|_| self.format.highlight != Selection::Nothing) {
            let all = Projection { displayed: Selection::All, retrieved: Selection::All, with_vectors: false };
            let options =
                FormatOptions { crop: CropSelection::default(), with_positions: false, ..self.format.clone() };
            let options = FormatOptions { highlight: Selection::All, ..options };
            let texts = passages.as_array().into_iter().flatten().map(|passage| json!({ "text": passage["text"] }));
            let texts = json!({ PASSAGES_FIELD: texts.collect::<Vec<Value>>() }).to_string();
            let texts = format(&all, &options, texts.as_bytes())?.document.unwrap_or_default();
            let texts: Value = serde_json::from_slice(&texts).unwrap_or_default();
            append_field(
                copy.get_or_insert_with(|| b"{}".to_vec()),
                PASSAGES_FIELD,
                texts[PASSAGES_FIELD].to_string().as_bytes(),
            );
        }
        if let Some(copy) = copy {
            append_field(out, "_formatted", &copy);
        }
        if let Some(positions) = formatted.positions {
            append_field(out, "_matchesPosition", &positions);
        }
        Ok(())
    }

    /// Vectors are shown when they are asked for and displayed, whatever else is.
    fn shows_vectors(&self) -> bool {
        self.query.retrieve_vectors && self.target.snapshot.settings.displayed_attributes.selects(VECTORS_FIELD)
    }

    /// Languages of the texts at `path`: those of the request, else those of the settings; none: detection.
    fn languages(&self, path: &str) -> Vec<Language> {
        if !self.query.locales.is_empty() {
            return self.query.locales.clone();
        }
        let rules = self.target.snapshot.settings.localized_attributes.as_deref().unwrap_or_default();
        locales_of(rules, path).iter().filter_map(|code| Language::parse(code)).collect()
    }
}

/// The passages that a search by meaning shows of each hit, and how many.
fn near_passages<'a>(
    target: Target<'a>,
    query: &SearchQuery,
    vector: Option<&[f32]>,
) -> Option<(NearPassages<'a>, usize)> {
    let hybrid = query.hybrid.as_ref().filter(|hybrid| hybrid.passages > 0)?;
    Some((NearPassages::new(target.snapshot, &hybrid.embedder, vector?)?, hybrid.passages))
}

/// Reports whether any document has, or had, this attribute; `*` means all.
fn is_known(snapshot: &Snapshot, name: &str) -> bool {
    name == "*" || snapshot.fields.get(name).is_some() || snapshot.field_distribution.contains_key(name)
}

/// Reports whether a name matches a displayed attribute, or something inside one. Otherwise nothing is formatted
/// for it.
fn means_displayed(snapshot: &Snapshot, name: &str) -> bool {
    let inside = |path: &str, parent: &str| {
        path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let displayed = &snapshot.settings.displayed_attributes;
    let shows = |field: &str| {
        (inside(field, name) && displayed.selects(field)) || (inside(name, field) && displayed.selects(name))
    };
    // Attributes that are not indexed are only known by their distribution, and only at the top level.
    let mut known = snapshot.field_distribution.keys().map(String::as_str).chain(snapshot.fields.names());
    name == "*" || known.any(shows)
}
