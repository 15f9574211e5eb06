//! The names that each request may have, in the order in which messages list them: that of the table.

use std::sync::LazyLock;

use super::{Place, SearchParameter, TOPICS};
use crate::wire::text_fields::{InQueryStrings, TextField};

/// Lists that the table yields, made once.
static LISTS: LazyLock<Lists> = LazyLock::new(Lists::new);

#[derive(Debug)]
struct Lists {
    table: Vec<&'static SearchParameter>,
    fields: Vec<&'static str>,
    fields_of_several: Vec<&'static str>,
    texts: Vec<Text>,
    parameters: Vec<&'static str>,
    similar: Vec<&'static str>,
    selecting: Vec<&'static str>,
    completions: Vec<&'static str>,
    federation: Vec<&'static str>,
    variant: Vec<&'static str>,
}

/// A parameter of a query string: the parameter of the search, and the field of it where it is an object.
pub(super) type Text = (&'static SearchParameter, Option<&'static TextField>);

impl Lists {
    fn new() -> Lists {
        let table: Vec<&SearchParameter> = TOPICS.into_iter().flatten().collect();
        let texts: Vec<Text> = table.iter().flat_map(|parameter| texts_of(parameter)).collect();
        let name = |(parameter, field): &Text| field.map_or(parameter.name, |field| field.name);
        let of = |place: Place| table.iter().filter(move |one| one.stands_in(place)).map(|one| one.name);
        let fields: Vec<&str> = table.iter().map(|parameter| parameter.name).collect();
        Lists {
            fields_of_several: fields.iter().copied().chain(["indexUid", "federationOptions"]).collect(),
            parameters: texts.iter().map(name).collect(),
            similar: ["id", "embedder"].into_iter().chain(of(Place::Similar)).collect(),
            selecting: of(Place::FacetSearch).collect(),
            completions: of(Place::Completions).collect(),
            federation: of(Place::Federation).chain(["facetsByIndex", "mergeFacets"]).collect(),
            variant: of(Place::Variant).collect(),
            fields,
            texts,
            table,
        }
    }
}

fn texts_of(parameter: &'static SearchParameter) -> Vec<Text> {
    match parameter.in_query_strings {
        InQueryStrings::Absent => Vec::new(),
        InQueryStrings::Same | InQueryStrings::Read(..) => vec![(parameter, None)],
        InQueryStrings::Fields(fields) => fields.fields.iter().map(|field| (parameter, Some(field))).collect(),
    }
}

/// Returns all parameters.
pub(super) fn table() -> &'static [&'static SearchParameter] {
    &LISTS.table
}

/// Returns the parameter behind each name of [`parameters`].
pub(super) fn texts() -> &'static [Text] {
    &LISTS.texts
}

/// Returns the fields of the body of a search: the names of all parameters.
pub fn fields() -> &'static [&'static str] {
    &LISTS.fields
}

/// Returns the fields of one of several searches: those of a search at the same places, then its own.
pub fn fields_of_several() -> &'static [&'static str] {
    &LISTS.fields_of_several
}

/// Returns the parameters of the query string of a search.
pub fn parameters() -> &'static [&'static str] {
    &LISTS.parameters
}

/// Returns the fields of a request for documents like another one.
pub fn similar_fields() -> &'static [&'static str] {
    &LISTS.similar
}

/// Returns the fields of a search among the values of a facet that select documents, and the state that they are selected in.
pub fn selecting() -> &'static [&'static str] {
    &LISTS.selecting
}

/// Returns the fields of a request for completions.
pub fn completion_fields() -> &'static [&'static str] {
    &LISTS.completions
}

/// Returns the fields of `federation`.
pub fn federation_fields() -> &'static [&'static str] {
    &LISTS.federation
}

/// Returns the parameters that a variant of an experiment may have.
pub fn variant_fields() -> &'static [&'static str] {
    &LISTS.variant
}
