//! The parameters of a search, each with all that is known of it but for what it does. Bodies, query strings, what other
//! servers and the response cache get, `/openapi.json`, telemetry and `docs/reference/search-parameters.md` follow from here.
//!
//! A new parameter is an entry at the end of [`own`], a field of [`SearchQuery`], and the code that acts on it.

mod documents;
mod form;
mod hits;
mod lists;
mod matches;
mod own;
mod text;
mod words;

use lamina_base::error::{ApiResult, Code};
use serde_json::Value;

use super::SearchQuery;
use crate::wire::json::At;
use crate::wire::query_string::Parameter;
use crate::wire::text_fields::InQueryStrings;
use form::Form;

pub use lists::{
    completion_fields, federation_fields, fields, fields_of_several, parameters, selecting, similar_fields,
    variant_fields,
};
pub use text::parameter_schema;
pub(in crate::wire) use text::{filter, sort};

/// The parameters by the topics of their definitions, in the order in which messages list the fields of a body.
const TOPICS: [&[SearchParameter]; 5] =
    [words::PARAMETERS, hits::PARAMETERS, documents::PARAMETERS, matches::PARAMETERS, own::PARAMETERS];

/// A request, other than a search, that may have parameters of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wire) enum Place {
    /// A request for documents like another one.
    Similar,
    /// A search among the values of a facet.
    FacetSearch,
    /// A request for completions.
    Completions,
    /// `federation` of a multi-search.
    Federation,
    /// A variant of an experiment, which says which hits come first. Others select, or shape answers.
    Variant,
}

/// The part of a parameter in a query whose hits are merged with those of other queries, maybe of other servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merged {
    /// Acts on the query: the server that runs it gets it.
    OfQuery,
    /// Pages through the merged list.
    Paging,
    /// Belongs to the merged list, or to the server that makes it; or merged lists refuse it.
    OfList,
}

/// The part of a parameter in the response cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cached {
    /// The answer depends on it and on the state of the index: it is a part of the key.
    Key,
    /// With it, the answer depends on more: it is not kept.
    Never,
}

/// A number that a search adds to telemetry: no text of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// Numbers add up.
    Count(u64),
    /// The largest counts.
    Max(usize),
    /// Stays true once it was.
    Any(bool),
    /// The mean counts.
    Average(f64),
    /// The word that occurs most often counts.
    Most(&'static str),
    /// All words count that occur.
    Words(Vec<&'static str>),
}

/// The line of the reference page, beside name, type and default.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// A value as JSON.
    pub example: &'static str,
    /// The purpose, in Markdown.
    pub purpose: &'static str,
    /// The cost of a search with it.
    pub cost: &'static str,
}

/// A figure of telemetry with its name, read from a search.
type NamedFigure = (&'static str, fn(&SearchQuery) -> Option<Figure>);

/// Definition of a parameter: its name, type, places and effects.
#[derive(Debug)]
pub struct SearchParameter {
    /// The name in bodies.
    pub name: &'static str,
    /// The code of its refusals.
    code: Code,
    /// The type of its value, and the field of [`SearchQuery`] that has it.
    form: Form,
    in_query_strings: InQueryStrings,
    /// The requests of other kinds that may have it.
    also_in: &'static [Place],
    /// Requests that may have it and refuse it with another code.
    with_code: &'static [(Place, Code)],
    merged: Merged,
    cached: Cached,
    /// The figures of telemetry, by dotted names; none where a search has nothing to add.
    figures: &'static [NamedFigure],
    /// `None`: another page explains it.
    pub reference: Option<Reference>,
}

impl SearchParameter {
    /// A parameter of most kinds: under its own name in query strings, a part of the key of cached answers, sent to other servers.
    const fn new(name: &'static str, code: Code, form: Form) -> SearchParameter {
        SearchParameter {
            name,
            code,
            form,
            in_query_strings: InQueryStrings::Same,
            also_in: &[],
            with_code: &[],
            merged: Merged::OfQuery,
            cached: Cached::Key,
            figures: &[],
            reference: None,
        }
    }

    /// All parameters, in the order in which messages list the fields of a body.
    pub fn all() -> impl Iterator<Item = &'static SearchParameter> {
        lists::table().iter().copied()
    }

    /// The schema of its value in a body.
    pub fn schema(&self) -> Value {
        self.form.schema()
    }

    /// The type of its value in words, for the reference page.
    pub fn kind(&self) -> &'static str {
        self.form.kind()
    }

    /// The value as a body has it; null where nothing is set.
    pub fn written(&self, query: &SearchQuery) -> Value {
        self.form.written(query)
    }

    /// Reads a value of a body, refused with `code`. Null leaves the default.
    fn read(&self, code: Code, query: &mut SearchQuery, at: At<'_>) -> ApiResult<()> {
        if at.value().is_null() { Ok(()) } else { self.form.read(query, at.code(code)) }
    }

    /// Returns whether a query whose hits are merged has it, on whichever server that runs it.
    pub(super) fn is_of_query(&self) -> bool {
        self.merged == Merged::OfQuery
    }

    /// Returns whether it is a part of the key of a cached answer. With one that is set and is not, no answer is cached.
    pub(super) fn is_of_key(&self) -> bool {
        self.cached == Cached::Key
    }

    /// Returns whether its value is another one than by default.
    pub(super) fn is_set(&self, query: &SearchQuery) -> bool {
        self.form.is_set(query)
    }

    /// Returns whether a request may have it.
    fn stands_in(&self, place: Place) -> bool {
        self.also_in.contains(&place) || self.with_code.iter().any(|(known, _)| *known == place)
    }

    /// The code of its refusals in a request that may have it.
    fn code_in(&self, place: Place) -> Code {
        let known = self.with_code.iter().find(|(known, _)| *known == place);
        known.map_or(self.code, |(_, code)| *code)
    }
}

/// The parameter of this name.
fn named(name: &str) -> &'static SearchParameter {
    lists::table().iter().copied().find(|parameter| parameter.name == name).expect("the lists have names of the table")
}

impl SearchQuery {
    /// Reads a body.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub fn from_body(body: &Value) -> ApiResult<SearchQuery> {
        let mut query = SearchQuery::default();
        At::root(body).fields_by_place(fields(), |place, field| query.read_field(place, field))?;
        query.check_network()?;
        Ok(query)
    }

    /// Reads the field at a place of [`fields`]. Null leaves the default, whatever the field.
    ///
    /// # Errors
    /// With the code of the parameter.
    pub(in crate::wire) fn read_field(&mut self, place: usize, field: At<'_>) -> ApiResult<()> {
        let parameter = lists::table()[place];
        parameter.read(parameter.code, self, field)
    }

    /// Reads a field of another request, of a parameter that this may have. Null leaves the default, whatever the field.
    ///
    /// # Errors
    /// With the code of the parameter in that request.
    pub(in crate::wire) fn read_field_of(&mut self, request: Place, name: &str, field: At<'_>) -> ApiResult<()> {
        let parameter = named(name);
        parameter.read(parameter.code_in(request), self, field)
    }

    /// Works like [`SearchQuery::read_field_of`], for a query string.
    pub(in crate::wire) fn read_text_of(&mut self, request: Place, name: &str, text: Parameter<'_>) -> ApiResult<()> {
        let parameter = named(name);
        parameter.read_text(parameter.code_in(request), self, text)
    }

    /// Reads one of [`selecting`] of a search among the values of a facet, or one of [`completion_fields`].
    ///
    /// # Errors
    /// With the code of the parameter.
    pub fn read_selecting(&mut self, name: &str, field: At<'_>) -> ApiResult<()> {
        let parameter = named(name);
        parameter.read(parameter.code, self, field)
    }
}

/// The schema of the value of a parameter in a body, by its name.
///
/// # Panics
/// For what is no parameter of a search.
pub fn field_schema(name: &str) -> Value {
    named(name).schema()
}

/// The figures of a search for telemetry, by dotted names.
pub fn figures(query: &SearchQuery) -> Vec<(&'static str, Figure)> {
    let figures = SearchParameter::all().flat_map(|parameter| parameter.figures);
    figures.filter_map(|(name, figure)| figure(query).map(|figure| (*name, figure))).collect()
}

/// Returns whether a field of a query pages through hits.
pub(in crate::wire) fn is_paging(name: &str) -> bool {
    named(name).merged == Merged::Paging
}
