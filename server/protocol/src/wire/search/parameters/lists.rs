//! The names that each request may have, in the order in which messages list them. The compiler makes the lists of the table.

use super::{Place, SearchParameter, TOPICS};
use crate::wire::text_fields::{InQueryStrings, TextField};

/// All parameters.
pub(super) const TABLE: &[&SearchParameter] = &table::<{ parameter_count() }>();
/// The fields of the body of a search: the names of all parameters.
pub const FIELDS: [&str; TABLE.len()] = names(&list(Place::Body, &[]));
/// The parameters of the query string of a search.
pub const PARAMETERS: [&str; IN_QUERY_STRINGS.len] = names(&IN_QUERY_STRINGS);
/// The fields of a request for documents like another one.
pub const SIMILAR_FIELDS: [&str; OF_SIMILAR.len] = names(&OF_SIMILAR);
/// The fields of a search among the values of a facet that select documents, and the state that they are selected in.
pub const SELECTING: [&str; OF_FACET_SEARCH.len] = names(&OF_FACET_SEARCH);
/// The fields of a request for completions.
pub const COMPLETION_FIELDS: [&str; OF_COMPLETIONS.len] = names(&OF_COMPLETIONS);
/// The fields of `federation`.
pub const FEDERATION_FIELDS: [&str; OF_FEDERATION.len] = names(&OF_FEDERATION);
/// The meaning of each of [`PARAMETERS`].
pub(super) const TEXTS: &[(&SearchParameter, Option<&TextField>)] = &texts::<{ PARAMETERS.len() }>();

const IN_QUERY_STRINGS: List = list(Place::QueryString, &[]);
const OF_SIMILAR: List = list(Place::Similar, &[("id", "offset"), ("embedder", "attributesToRetrieve")]);
const OF_FACET_SEARCH: List = list(Place::FacetSearch, &[]);
const OF_COMPLETIONS: List = list(Place::Completions, &[]);
const OF_FEDERATION: List = list(Place::Federation, &[("facetsByIndex", "distinct"), ("mergeFacets", "distinct")]);

/// A name of a list.
#[derive(Clone, Copy)]
struct Entry {
    name: &'static str,
    /// The name that it stands directly before; empty: it stands behind all names so far.
    before: &'static str,
    /// `None`: no parameter of a search.
    parameter: Option<&'static SearchParameter>,
    /// In a query string: the field of the parameter, which is an object.
    field: Option<&'static TextField>,
}

/// Some names.
#[derive(Clone, Copy)]
struct List {
    entries: [Entry; List::ROOM],
    len: usize,
}

impl List {
    /// More than any list has; the compiler refuses one that has more.
    const ROOM: usize = 100;
    const EMPTY: List =
        List { entries: [Entry { name: "", before: "", parameter: None, field: None }; List::ROOM], len: 0 };

    /// The list with one more entry, behind all others or directly before the one of the name `before`.
    const fn with(mut self, entry: Entry, before: &str) -> List {
        let mut place = self.len;
        while !before.is_empty() && (place == self.len || !is_same(self.entries[place].name, before)) {
            place -= 1;
        }
        let mut moved = self.len;
        while moved > place {
            self.entries[moved] = self.entries[moved - 1];
            moved -= 1;
        }
        self.entries[place] = entry;
        self.len += 1;
        self
    }

    /// The list in order: entries that stand before another one are put there when all others are.
    const fn in_order(self) -> List {
        let mut ordered = List::EMPTY;
        let mut i = 0;
        while i < self.len * 2 {
            let (entry, is_second_round) = (self.entries[i % self.len], i >= self.len);
            if entry.before.is_empty() != is_second_round {
                ordered = ordered.with(entry, entry.before);
            }
            i += 1;
        }
        ordered
    }
}

/// The names of a place: parameters, and others with the name that each stands before.
const fn list(place: Place, others: &[(&'static str, &'static str)]) -> List {
    let mut list = List::EMPTY;
    let mut i = 0;
    while i < TABLE.len() {
        let parameter = TABLE[i];
        let before = before(parameter, place);
        let entry = Entry { name: parameter.name, before, parameter: Some(parameter), field: None };
        match (place, &parameter.in_query_strings) {
            (Place::QueryString, InQueryStrings::Fields(fields)) => {
                let mut i = 0;
                while i < fields.fields.len() {
                    let field = &fields.fields[i];
                    list = list.with(Entry { name: field.name, field: Some(field), ..entry }, "");
                    i += 1;
                }
            }
            _ if stands_in(parameter, place) => list = list.with(entry, ""),
            _ => {}
        }
        i += 1;
    }
    let mut i = 0;
    while i < others.len() {
        let (name, before) = others[i];
        list = list.with(Entry { name, before, parameter: None, field: None }, "");
        i += 1;
    }
    list.in_order()
}

/// Returns whether a request has a parameter under its own name.
const fn stands_in(parameter: &SearchParameter, place: Place) -> bool {
    match place {
        Place::Body => true,
        Place::QueryString => !matches!(parameter.in_query_strings, InQueryStrings::Absent),
        Place::Page => parameter.reference.is_some(),
        _ => {
            let (also, with_code) = (parameter.also_in, parameter.with_code);
            let mut i = 0;
            let mut stands = false;
            while i < also.len() + with_code.len() {
                let known = if i < also.len() { also[i] } else { with_code[i - also.len()].0 };
                stands |= known as u8 == place as u8;
                i += 1;
            }
            stands
        }
    }
}

/// The name that a parameter stands directly before in a list; empty: it stands in the order of the table.
const fn before(parameter: &SearchParameter, place: Place) -> &'static str {
    let mut i = 0;
    while i < parameter.before.len() {
        if parameter.before[i].0 as u8 == place as u8 {
            return parameter.before[i].1;
        }
        i += 1;
    }
    ""
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut i = 0;
    while i < one.len() && i < other.len() && one[i] == other[i] {
        i += 1;
    }
    i == one.len() && i == other.len()
}

const fn names<const N: usize>(list: &List) -> [&'static str; N] {
    let mut names = [""; N];
    let mut i = 0;
    while i < N {
        names[i] = list.entries[i].name;
        i += 1;
    }
    names
}

const fn texts<const N: usize>() -> [(&'static SearchParameter, Option<&'static TextField>); N] {
    let mut texts = [(TABLE[0], None); N];
    let mut i = 0;
    while i < N {
        let Entry { parameter, field, .. } = IN_QUERY_STRINGS.entries[i];
        texts[i] = (parameter.expect("a query string has parameters of a search only"), field);
        i += 1;
    }
    texts
}

const fn parameter_count() -> usize {
    let (mut count, mut topic) = (0, 0);
    while topic < TOPICS.len() {
        count += TOPICS[topic].len();
        topic += 1;
    }
    count
}

const fn table<const N: usize>() -> [&'static SearchParameter; N] {
    let mut table = [&TOPICS[0][0]; N];
    let (mut topic, mut place, mut i) = (0, 0, 0);
    while i < N {
        if place == TOPICS[topic].len() {
            (topic, place) = (topic + 1, 0);
        } else {
            table[i] = &TOPICS[topic][place];
            (place, i) = (place + 1, i + 1);
        }
    }
    table
}

/// The parameters in the order of the reference page.
#[cfg(test)]
pub(in crate::wire) fn of_page() -> impl Iterator<Item = &'static SearchParameter> {
    const OF_PAGE: List = list(Place::Page, &[]);
    OF_PAGE.entries.into_iter().filter_map(|entry| entry.parameter)
}
