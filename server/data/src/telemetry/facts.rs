//! What routes report: numbers, switches, and words of ours. A text of a request gets in here only as its length or as
//! "there was one", but for the name of a primary key that was given and the languages of a search.

use lamina_engine::index::SettingsPatch;
use lamina_protocol::wire::filter::mentions;
use lamina_protocol::wire::search::{Figure, SearchQuery, figures};
use serde_json::Value;

use super::RequestFacts;
use super::aggregate::Aggregate;
use crate::tasks::Content;

/// Adds the facts that follow from the route and the names of parameters.
pub(super) fn of_parameters(event: &mut Aggregate, request: &RequestFacts) {
    const FILTERS: [(&str, &str); 11] = [
        ("uids", "filtered_by_uid"),
        ("indexUids", "filtered_by_index_uid"),
        ("types", "filtered_by_type"),
        ("statuses", "filtered_by_status"),
        ("canceledBy", "filtered_by_canceled_by"),
        ("beforeEnqueuedAt", "filtered_by_before_enqueued_at"),
        ("afterEnqueuedAt", "filtered_by_after_enqueued_at"),
        ("beforeStartedAt", "filtered_by_before_started_at"),
        ("afterStartedAt", "filtered_by_after_started_at"),
        ("beforeFinishedAt", "filtered_by_before_finished_at"),
        ("afterFinishedAt", "filtered_by_after_finished_at"),
    ];
    let names = |part: &str| request.pattern.contains(part);
    match request.event {
        "Tasks Seen" | "Tasks Canceled" | "Tasks Deleted" => {
            event.any("per_task_uid", names("{taskUid}"));
            for (parameter, name) in FILTERS {
                event.any(name, request.has(parameter));
            }
        }
        "Stats Seen" => event.any("per_index_uid", names("{indexUid}")),
        "Documents Fetched" | "Documents Deleted" if names("{documentId}") => event.any("per_document_id", true),
        "Documents Fetched" if request.method == "GET" => {
            event.any("per_document_id", false);
            event.any("per_filter", request.has("filter"));
            event.any("vector.retrieve_vectors", request.has("retrieveVectors"));
        }
        "Documents Deleted" => {
            event.any("clear_all", request.method == "DELETE");
            event.any("per_filter", request.pattern.ends_with("/delete"));
            event.any("per_batch", request.pattern.ends_with("/delete-batch"));
            event.any("per_document_id", false);
        }
        "Webhook Created" => event.count("webhooks_created", 1),
        "Webhook Updated" => event.count("webhooks.updated", 1),
        _ => {}
    }
}

/// Facts that a route reports about a request.
#[derive(Clone, Debug)]
pub enum Facts {
    /// One search, with what it asks for and what became of it.
    Search(SearchFacts),
    /// Several in one request.
    MultiSearch {
        search_count: usize,
        distinct_index_count: usize,
        distinct_remote_count: usize,
        is_federated: bool,
        point_count: usize,
    },
    /// A search among the values of a facet.
    FacetSearch { has_point: bool },
    /// A list of documents that was asked for by a body.
    Fetch { has_filter: bool, filters_vectors: bool, retrieves_vectors: bool, limit: u64, offset: u64 },
    /// A change of settings.
    Settings(Box<SettingsPatch>),
    /// An addition of documents: the primary key that the request names, and whether it creates the index.
    Documents { primary_key: Option<String>, index_creation: bool },
    /// The network as it is after a change of it.
    Network { has_self: bool, size: usize },
    /// A deletion by filter.
    DeleteByFilter { filters_vectors: bool },
    /// A new index, with the primary key that the request names.
    Index { primary_key: Option<String> },
    /// Indexes sent to another server.
    Export { has_api_key: bool, pattern_count: usize, filter_count: usize, payload_bytes: u64 },
    /// An exchange of indexes.
    Swap { count: usize },
}

/// Facts about a search, without any of its text.
#[derive(Clone, Debug)]
pub struct SearchFacts {
    /// By dotted names.
    figures: Vec<(&'static str, Figure)>,
    is_degraded: bool,
}

/// Figure that counts the uses of `pointInTime`.
const POINTS: &str = "point_in_time.total_number_of_uses";

const VECTORS: &str = "_vectors";

impl SearchFacts {
    pub fn of(query: &SearchQuery, is_degraded: bool) -> SearchFacts {
        SearchFacts { figures: figures(query), is_degraded }
    }

    fn add_to(&self, event: &mut Aggregate) {
        event.count("requests.total_degraded", self.is_degraded.into());
        for (name, figure) in &self.figures {
            match figure {
                Figure::Count(number) => event.count(name, *number),
                Figure::Max(number) => event.max(name, *number),
                Figure::Any(is_so) => event.any(name, *is_so),
                Figure::Average(number) => event.average(name, *number),
                Figure::Most(word) => event.most(name, word),
                Figure::Words(words) => words.iter().for_each(|word| event.text(name, word)),
            }
        }
    }
}

impl Facts {
    /// Returns the facts about a registered task.
    pub fn of_task(content: &Content) -> Option<Facts> {
        Some(match content {
            Content::Upsert(upsert) => {
                Facts::Documents { primary_key: upsert.primary_key.clone(), index_creation: upsert.may_create_index }
            }
            Content::Settings { patch, .. } => Facts::Settings(patch.clone()),
            Content::DeleteByFilter { filter } => Facts::DeleteByFilter { filters_vectors: mentions(filter, VECTORS) },
            Content::CreateIndex { primary_key } | Content::UpdateIndex { primary_key, .. } => {
                Facts::Index { primary_key: primary_key.clone() }
            }
            Content::Export(export) => Facts::Export {
                has_api_key: export.api_key.is_some(),
                pattern_count: export.indexes.len(),
                filter_count: export.indexes.iter().filter(|index| index.filter.is_some()).count(),
                payload_bytes: export.payload_bytes,
            },
            Content::SwapIndexes { swaps } => Facts::Swap { count: swaps.len() },
            _ => return None,
        })
    }

    /// Returns the facts about a list of documents.
    pub fn of_fetch(filter: Option<&Value>, retrieves_vectors: bool, limit: u64, offset: u64) -> Facts {
        let filters_vectors = filter.is_some_and(|filter| mentions(filter, VECTORS));
        Facts::Fetch { has_filter: filter.is_some(), filters_vectors, retrieves_vectors, limit, offset }
    }

    pub(super) fn add_to(&self, event: &mut Aggregate) {
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        match self {
            Facts::Search(search) => search.add_to(event),
            Facts::MultiSearch {
                search_count,
                distinct_index_count,
                distinct_remote_count,
                is_federated,
                point_count,
            } => {
                event.count(POINTS, *point_count as u64);
                event.average("searches.avg_search_count", *search_count as f64);
                event.count("searches.total_search_count", *search_count as u64);
                event.average("indexes.avg_distinct_index_count", *distinct_index_count as f64);
                event.count("indexes.total_distinct_index_count", *distinct_index_count as u64);
                event.count("indexes.total_single_index", (*distinct_index_count == 1).into());
                event.average("remotes.avg_distinct_remote_count", *distinct_remote_count as f64);
                event.count("remotes.total_distinct_remote_count", *distinct_remote_count as u64);
                event.any("federation.use_federation", *is_federated);
            }
            Facts::FacetSearch { has_point } => event.count(POINTS, (*has_point).into()),
            Facts::Fetch { has_filter, filters_vectors, retrieves_vectors, limit, offset } => {
                event.any("per_filter", *has_filter);
                event.any("with_vector_filter", *filters_vectors);
                event.any("vector.retrieve_vectors", *retrieves_vectors);
                event.max("pagination.max_limit", size(*limit));
                event.max("pagination.max_offset", size(*offset));
            }
            Facts::Settings(patch) => super::settings::add(event, patch),
            Facts::Documents { primary_key, index_creation } => {
                event.last("primary_key", primary_key.clone());
                event.any("index_creation", *index_creation);
            }
            Facts::DeleteByFilter { filters_vectors } => {
                event.any("per_filter", true);
                event.any("with_vector_filter", *filters_vectors);
            }
            Facts::Index { primary_key } => event.last("primary_key", primary_key.clone()),
            Facts::Export { has_api_key, pattern_count, filter_count, payload_bytes } => {
                event.count("export.total_received", 1);
                event.any("export.has_api_key", *has_api_key);
                event.average("export.avg_index_patterns", *pattern_count as f64);
                event.average("export.avg_patterns_with_filter", *filter_count as f64);
                event.average("export.avg_payload_size", *payload_bytes as f64);
            }
            Facts::Network { has_self, size } => {
                event.any("network", true);
                event.any("network_has_self", *has_self);
                event.max("network_size", *size);
            }
            Facts::Swap { count } => event.count("swap_operation_number", *count as u64),
        }
    }
}
