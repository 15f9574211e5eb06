//! Fields that hold ids of documents of other indexes (`foreignKeys`): filters on what they refer to, and the documents
//! themselves in the place of the ids.

use std::sync::Arc;

use lamina_base::budget::{AnswerBudget, Reservation, VALUE_BYTES, json_heap_bytes};
use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::instance::Instance;
use lamina_engine::bits::DocSet;
use lamina_engine::condition::{OutOfTime, PreparedFilter, TimeLimit};
use lamina_engine::document::document_id;
use lamina_engine::filter::{Condition, Filter, Location};
use lamina_engine::highlight::{Projection, Selection};
use lamina_engine::index::Snapshot;
use lamina_engine::index::settings::{AttributeList, ForeignKey, Settings};
use serde_json::Value;

use super::{Context, filter_time, refusal};

/// Documents that all `_foreign` of a filter may stand for: their ids are read.
const REFERRED_MAX: u64 = 100_000;

/// The answer to `_foreign` while foreign keys are off.
pub(super) fn refused(at: &Location) -> ApiError {
    let mut refusal = ApiError::feature_not_enabled("Using `_foreign` in a filter", "foreign_keys");
    refusal.message = format!("{}\n{at}", refusal.message);
    refusal
}

/// `filter` with the ids that each `_foreign(field, filter)` stands for in its place.
///
/// # Errors
/// `code` when the field refers to no index or the inner filter can't be applied there, `feature_not_enabled` when
/// foreign keys are off, what the caller may not search, and when the documents referred to are too many or take too long
/// to be found.
pub(crate) fn resolve(filter: Filter, settings: &Settings, context: &Context, code: Code) -> ApiResult<Filter> {
    Resolving { context, code, limit: filter_time(), left: REFERRED_MAX }.resolve(filter, settings)
}

/// The resolution of one filter.
struct Resolving<'a> {
    context: &'a Context,
    code: Code,
    limit: TimeLimit<'static>,
    /// Documents that the rest of it may stand for.
    left: u64,
}

impl Resolving<'_> {
    fn resolve(&mut self, filter: Filter, settings: &Settings) -> ApiResult<Filter> {
        Ok(match filter {
            Filter::And(filters) => Filter::And(self.resolve_all(filters, settings)?),
            Filter::Or(filters) => Filter::Or(self.resolve_all(filters, settings)?),
            Filter::Not(filter) => Filter::Not(Box::new(self.resolve(*filter, settings)?)),
            Filter::Foreign { field, filter, at } => {
                let context = self.context;
                let Some(instance) = &context.foreign else { return Err(refused(&at.at)) };
                let Some(key) = settings.foreign_keys.iter().find(|key| key.field_name == field.value) else {
                    let message =
                        format!("Attribute `{}` is not a foreign key of this index.\n{}", field.value, field.at);
                    return Err(ApiError::new(self.code, message));
                };
                let ids = self.referred(instance, key, *filter)?;
                Filter::Condition { field, condition: Condition::In(ids) }
            }
            other => other,
        })
    }

    fn resolve_all(&mut self, filters: Vec<Filter>, settings: &Settings) -> ApiResult<Vec<Filter>> {
        filters.into_iter().map(|filter| self.resolve(filter, settings)).collect()
    }

    /// The ids of the documents of the other index that pass `filter` and that the caller may see.
    fn referred(&mut self, instance: &Instance, key: &ForeignKey, filter: Filter) -> ApiResult<Vec<String>> {
        let (context, code, uid) = (self.context, self.code, &key.foreign_index_uid);
        context.rights.check_index(uid)?;
        let snapshot = instance.snapshot(context.rights.target(uid)).map_err(|error| match error.code {
            // Not the path but a setting names the index.
            Code::IndexNotFound => ApiError::new(code, error.message),
            _ => error,
        })?;
        let Some(primary_key) = &snapshot.primary_key else { return Ok(Vec::new()) };
        let refused = |reason: String| ApiError::new(code, format!("Index `{uid}`: {reason}"));
        let filter = self.resolve(filter, &snapshot.settings)?;
        let filter = match context.imposed_filter(uid, context.rights.target(uid), code)? {
            Some(imposed) => imposed.and(filter),
            None => filter,
        };
        let prepared = PreparedFilter::new(&filter, &snapshot.settings, &snapshot.fields)
            .map_err(|error| refused(error.sentence()))?;
        let passing: Vec<DocSet> = snapshot
            .segments
            .iter()
            .map(|segment| prepared.evaluate(segment, self.limit).map_err(|error| refused(error.sentence())))
            .collect::<ApiResult<_>>()?;
        snapshot.check_health()?;
        let count: u64 = passing.iter().map(|docs| u64::from(docs.len())).sum();
        if count > self.left {
            return Err(refused(format!(
                "`_foreign` stands for {count} documents, and may for {REFERRED_MAX} at most, all of a filter taken \
                 together. Make its filter narrower."
            )));
        }
        self.left -= count;
        let addresses = snapshot.documents_among(&passing, 0, u64::MAX).into_iter();
        let id = |address| {
            let document = snapshot.document(address)?;
            let id = document_id(&document, primary_key).map_err(refusal::unretrievable)?;
            Ok(id.as_str().to_owned())
        };
        addresses.map(id).collect()
    }
}

/// Puts documents of other indexes in the place of their ids.
#[derive(Debug, Default)]
pub(super) struct ForeignDocuments(Vec<Referred>);

/// One foreign key and the index it refers to.
#[derive(Debug)]
struct Referred {
    field: String,
    snapshot: Arc<Snapshot>,
    /// Documents that the caller may see, if not all: one set per segment.
    visible: Option<Vec<DocSet>>,
    projection: Projection,
}

impl ForeignDocuments {
    /// For hits of an index with these settings. Indexes that are not there or that the caller may not search are left
    /// alone: their ids stay ids.
    ///
    /// # Errors
    /// A filter of the caller's rights that can't be applied.
    pub(super) fn of(settings: &Settings, context: &Context) -> ApiResult<ForeignDocuments> {
        let Some(instance) = &context.foreign else { return Ok(ForeignDocuments::default()) };
        let mut all = Vec::new();
        for ForeignKey { foreign_index_uid: uid, field_name } in &settings.foreign_keys {
            let target = context.rights.target(uid);
            if !context.rights.admits(uid) || !instance.contains(target) {
                continue;
            }
            let snapshot = instance.snapshot(target)?;
            let visible = match context.imposed_filter(uid, target, Code::InvalidSearchFilter)? {
                Some(imposed) => {
                    let refused = |reason| ApiError::new(Code::InvalidSearchFilter, format!("Index `{uid}`: {reason}"));
                    let prepared = PreparedFilter::new(&imposed, &snapshot.settings, &snapshot.fields);
                    let prepared = prepared.map_err(|error| refused(error.sentence()))?;
                    let passing = snapshot.segments.iter().map(|segment| prepared.evaluate(segment, filter_time()));
                    let passing =
                        passing.collect::<Result<_, OutOfTime>>().map_err(|error| refused(error.sentence()))?;
                    snapshot.check_health()?;
                    Some(passing)
                }
                None => None,
            };
            let displayed = match &snapshot.settings.displayed_attributes {
                AttributeList::All => Selection::All,
                AttributeList::These(names) => Selection::new(names),
            };
            let projection = Projection { displayed, retrieved: Selection::All, with_vectors: false };
            all.push(Referred { field: field_name.clone(), snapshot, visible, projection });
        }
        Ok(ForeignDocuments(all))
    }

    /// Changes `hit`, the text of a JSON object.
    ///
    /// # Errors
    /// A stored document that can't be read.
    pub(super) fn fill(&self, hit: &mut Vec<u8>, budget: &AnswerBudget) -> ApiResult<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        // Until the hit is a text again, which is counted as one.
        let mut held = budget.hold(json_heap_bytes(hit, VALUE_BYTES))?;
        let mut value: Value = serde_json::from_slice(hit).map_err(refusal::unretrievable)?;
        for referred in &self.0 {
            referred.fill(&mut value, &referred.field, &mut held)?;
        }
        hit.clear();
        serde_json::to_writer(hit, &value).expect("a Vec takes everything");
        Ok(())
    }
}

impl Referred {
    /// Follows `path` through objects and arrays of objects.
    fn fill(&self, value: &mut Value, path: &str, held: &mut Reservation) -> ApiResult<()> {
        match value {
            Value::Array(elements) => elements.iter_mut().try_for_each(|element| self.fill(element, path, held)),
            Value::Object(members) => match (members.contains_key(path), path.split_once('.')) {
                (true, _) => self.replace(&mut members[path], held),
                (false, Some((head, rest))) => {
                    members.get_mut(head).map_or(Ok(()), |value| self.fill(value, rest, held))
                }
                (false, None) => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn replace(&self, value: &mut Value, held: &mut Reservation) -> ApiResult<()> {
        let id = match value {
            Value::Array(elements) => return elements.iter_mut().try_for_each(|element| self.replace(element, held)),
            Value::String(id) => id.clone(),
            Value::Number(id) => id.to_string(),
            _ => return Ok(()),
        };
        let Some(address) = self.snapshot.find(&id) else { return Ok(()) };
        let is_visible = |visible: &Vec<DocSet>| visible[address.segment as usize].contains(address.doc);
        if !self.visible.as_ref().is_none_or(is_visible) {
            return Ok(());
        }
        held.grow(self.snapshot.document_bytes(address)?)?;
        let document = self.snapshot.document(address)?;
        let mut shown = Vec::with_capacity(document.len());
        self.projection.write(&document, &mut shown).map_err(refusal::unretrievable)?;
        held.grow(json_heap_bytes(&shown, VALUE_BYTES))?;
        *value = serde_json::from_slice(&shown).map_err(refusal::unretrievable)?;
        Ok(())
    }
}
