//! What routes report: numbers, switches, and words of ours. A text of a request gets in here only as its length or as
//! "there was one", but for the name of a primary key that was given and the languages of a search.

use lamina_engine::index::SettingsPatch;
use lamina_engine::search::MatchingStrategy;
use lamina_protocol::wire::search::{SearchQuery, Window};
use serde_json::Value;

use super::RequestFacts;
use super::aggregate::Aggregate;
use crate::tasks::Content;

/// The event that a request counts for; none for what is not counted.
pub(super) fn event_of(request: &RequestFacts) -> Option<&'static str> {
    Some(match (request.method, request.pattern) {
        (_, "/indexes/{indexUid}/search") => "Documents Searched",
        ("POST", "/multi-search") => "Documents Searched by Multi-Search",
        ("POST", "/indexes/{indexUid}/facet-search") => "Facet Searched",
        (_, "/indexes/{indexUid}/similar") => "Similar Documents Searched",
        ("POST", "/indexes/{indexUid}/documents") => "Documents Added",
        ("PUT" | "PATCH", "/indexes/{indexUid}/documents") => "Documents Updated",
        ("GET", "/indexes/{indexUid}/documents" | "/indexes/{indexUid}/documents/{documentId}")
        | ("POST", "/indexes/{indexUid}/documents/fetch") => "Documents Fetched",
        ("DELETE", "/indexes/{indexUid}/documents" | "/indexes/{indexUid}/documents/{documentId}")
        | ("POST", "/indexes/{indexUid}/documents/delete" | "/indexes/{indexUid}/documents/delete-batch") => {
            "Documents Deleted"
        }
        (
            "POST" | "PUT" | "PATCH" | "DELETE",
            "/indexes/{indexUid}/settings" | "/indexes/{indexUid}/settings/{setting}",
        ) => "Settings Updated",
        ("POST", "/indexes") => "Index Created",
        ("PATCH", "/indexes/{indexUid}") => "Index Updated",
        ("POST", "/swap-indexes") => "Indexes Swapped",
        ("GET", "/stats" | "/indexes/{indexUid}/stats") => "Stats Seen",
        ("GET", "/tasks" | "/tasks/{taskUid}" | "/batches" | "/batches/{batchUid}") => "Tasks Seen",
        ("POST", "/tasks/cancel") => "Tasks Canceled",
        ("DELETE", "/tasks") => "Tasks Deleted",
        ("POST", "/dumps") => "Dump Created",
        ("POST", "/snapshots") => "Snapshot Created",
        ("POST", "/webhooks") => "Webhook Created",
        ("PATCH", "/webhooks/{uuid}") => "Webhook Updated",
        ("POST", "/export") => "Export",
        ("PATCH", "/network") => "Network Updated",
        ("POST", "/indexes/{indexUid}/documents/edit") => "Documents Edited by Function",
        _ => return None,
    })
}

/// What path and names of parameters say.
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
    match request.pattern {
        "/tasks" | "/tasks/cancel" | "/tasks/{taskUid}" | "/batches" | "/batches/{batchUid}" => {
            event.any("per_task_uid", request.pattern == "/tasks/{taskUid}");
            for (parameter, name) in FILTERS {
                event.any(name, request.has(parameter));
            }
        }
        "/stats" | "/indexes/{indexUid}/stats" => {
            event.any("per_index_uid", request.pattern != "/stats");
        }
        "/indexes/{indexUid}/documents" if request.method == "GET" => {
            event.any("per_document_id", false);
            event.any("per_filter", request.has("filter"));
            event.any("vector.retrieve_vectors", request.has("retrieveVectors"));
        }
        "/indexes/{indexUid}/documents"
        | "/indexes/{indexUid}/documents/delete"
        | "/indexes/{indexUid}/documents/delete-batch"
            if request.method == "DELETE" || request.pattern != "/indexes/{indexUid}/documents" =>
        {
            event.any("clear_all", request.method == "DELETE");
            event.any("per_filter", request.pattern.ends_with("/delete"));
            event.any("per_batch", request.pattern.ends_with("/delete-batch"));
            event.any("per_document_id", false);
        }
        "/indexes/{indexUid}/documents/{documentId}" => event.any("per_document_id", true),
        "/webhooks" => event.count("webhooks_created", 1),
        "/webhooks/{uuid}" => event.count("webhooks.updated", 1),
        _ => {}
    }
}

/// What a route reports of a request.
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

/// What is remembered of a search: no text of it.
#[derive(Clone, Debug)]
pub struct SearchFacts {
    term_count: usize,
    uses_negative: bool,
    window: Window,
    matching: Option<MatchingStrategy>,
    sort: Option<(bool, usize)>,
    filter: Option<FilterFacts>,
    facet_count: Option<usize>,
    shows_more_than_facets: bool,
    has_distinct: bool,
    languages: Vec<&'static str>,
    retrieved: Option<usize>,
    highlighted: Option<usize>,
    cropped: Option<usize>,
    has_own_tags: [bool; 4],
    shows_positions: bool,
    shows_scores: [bool; 3],
    has_search_on: bool,
    vector_size: Option<usize>,
    has_media: bool,
    retrieves_vectors: bool,
    has_hybrid: bool,
    has_own_ratio: bool,
    has_point: bool,
    is_degraded: bool,
}

#[derive(Clone, Debug)]
struct FilterFacts {
    is_array: bool,
    uses: [bool; 3],
}

/// How often `pointInTime` was asked for.
const POINTS: &str = "point_in_time.total_number_of_uses";

const GEO_RADIUS: &str = "_geoRadius";
const GEO_BOX: &str = "_geoBoundingBox";
const VECTORS: &str = "_vectors";

/// Whether the word stands anywhere in the filter.
fn filter_holds(filter: &Value, word: &str) -> bool {
    match filter {
        Value::String(text) => text.contains(word),
        Value::Array(parts) => parts.iter().any(|part| filter_holds(part, word)),
        _ => false,
    }
}

impl SearchFacts {
    pub fn of(query: &SearchQuery, is_degraded: bool) -> SearchFacts {
        let default = SearchQuery::default();
        let text = query.text().unwrap_or_default();
        SearchFacts {
            term_count: text.split_whitespace().count(),
            uses_negative: text.split_whitespace().any(|word| word.len() > 1 && word.starts_with('-')),
            window: query.window(),
            matching: query.matching_strategy,
            sort: query.sort.as_ref().map(|sort| (sort.iter().any(|one| one.starts_with("_geoPoint")), sort.len())),
            filter: query.filter.as_ref().map(|filter| FilterFacts {
                is_array: filter.is_array(),
                uses: [GEO_BOX, GEO_RADIUS, VECTORS].map(|word| filter_holds(filter, word)),
            }),
            facet_count: query.facets.as_ref().map(Vec::len),
            shows_more_than_facets: query.facets.is_some() && (query.q.is_some() || query.filter.is_some()),
            has_distinct: query.distinct.is_some(),
            languages: query.locales.iter().map(|language| language.code()).collect(),
            retrieved: query.attributes_to_retrieve.as_ref().map(Vec::len),
            highlighted: query.attributes_to_highlight.as_ref().map(Vec::len),
            cropped: query.attributes_to_crop.as_ref().map(Vec::len),
            has_own_tags: [
                query.highlight_pre_tag != default.highlight_pre_tag,
                query.highlight_post_tag != default.highlight_post_tag,
                query.crop_length != default.crop_length,
                query.crop_marker != default.crop_marker,
            ],
            shows_positions: query.show_matches_position,
            shows_scores: [
                query.show_ranking_score,
                query.show_ranking_score_details,
                query.ranking_score_threshold.is_some(),
            ],
            has_search_on: query.attributes_to_search_on.is_some(),
            vector_size: query.vector.as_ref().map(Vec::len),
            has_media: query.media.is_some(),
            retrieves_vectors: query.retrieve_vectors,
            has_hybrid: query.hybrid.is_some(),
            has_own_ratio: query
                .hybrid
                .as_ref()
                .is_some_and(|hybrid| hybrid.semantic_ratio != lamina_protocol::wire::search::Hybrid::DEFAULT_RATIO),
            has_point: query.point_in_time.is_some(),
            is_degraded,
        }
    }

    fn add_to(&self, event: &mut Aggregate) {
        self.add_what_is_asked(event);
        self.add_what_is_shown(event);
    }

    /// Words, pages, order and filter.
    fn add_what_is_asked(&self, event: &mut Aggregate) {
        event.max("q.max_terms_number", self.term_count);
        event.count("requests.total_used_negative_operator", self.uses_negative.into());
        event.count("requests.total_degraded", self.is_degraded.into());
        let (navigation, limit, offset) = match self.window {
            Window::Offset { offset, limit } => ("estimated", limit, offset),
            Window::Page { page, hits_per_page } => {
                ("exhaustive", hits_per_page, page.saturating_sub(1).saturating_mul(hits_per_page))
            }
        };
        event.most("pagination.most_used_navigation", navigation);
        event.max("pagination.max_limit", limit);
        event.max("pagination.max_offset", offset);
        event.most(
            "matching_strategy.most_used_strategy",
            match self.matching {
                None | Some(MatchingStrategy::Last) => "last",
                Some(MatchingStrategy::All) => "all",
                Some(MatchingStrategy::Frequency) => "frequency",
                Some(MatchingStrategy::Any) => "any",
            },
        );
        if let Some((has_geo, count)) = self.sort {
            event.any("sort.with_geoPoint", has_geo);
            event.average("sort.avg_criteria_number", count as f64);
        }
        if let Some(filter) = &self.filter {
            let [in_box, in_radius, on_vectors] = filter.uses;
            event.any("filter.with_geoBoundingBox", in_box);
            event.any("filter.with_geoRadius", in_radius);
            event.any("filter.on_vectors", on_vectors);
            event.most("filter.most_used_syntax", if filter.is_array { "array" } else { "string" });
        }
        if let Some(count) = self.facet_count {
            event.average("facets.avg_facets_number", count as f64);
            event.count("facets.total_distinct_facet_count", count as u64);
            event.any("facets.additional_search_parameters_provided", self.shows_more_than_facets);
        }
        event.any("distinct", self.has_distinct);
        event.count("attributes_to_search_on.total_number_of_uses", self.has_search_on.into());
        event.max("vector.max_vector_size", self.vector_size.unwrap_or(0));
        event.any("hybrid.enabled", self.has_hybrid);
        event.any("hybrid.semantic_ratio", self.has_own_ratio);
        event.count("hybrid.total_media", self.has_media.into());
        event.count(POINTS, self.has_point.into());
        self.languages.iter().for_each(|language| event.text("locales", language));
    }

    /// Attributes, marks and scores of hits.
    fn add_what_is_shown(&self, event: &mut Aggregate) {
        event.max("formatting.max_attributes_to_retrieve", self.retrieved.unwrap_or(0));
        event.max("formatting.max_attributes_to_highlight", self.highlighted.unwrap_or(0));
        event.max("formatting.max_attributes_to_crop", self.cropped.unwrap_or(0));
        let [pre_tag, post_tag, crop_length, crop_marker] = self.has_own_tags;
        event.any("formatting.highlight_pre_tag", pre_tag);
        event.any("formatting.highlight_post_tag", post_tag);
        event.any("formatting.crop_length", crop_length);
        event.any("formatting.crop_marker", crop_marker);
        event.any("formatting.show_matches_position", self.shows_positions);
        let [score, details, threshold] = self.shows_scores;
        event.any("scoring.show_ranking_score", score);
        event.any("scoring.show_ranking_score_details", details);
        event.any("scoring.ranking_score_threshold", threshold);
        event.any("vector.retrieve_vectors", self.retrieves_vectors);
    }
}

impl Facts {
    /// What a registered task says.
    pub fn of_task(content: &Content) -> Option<Facts> {
        Some(match content {
            Content::Upsert(upsert) => {
                Facts::Documents { primary_key: upsert.primary_key.clone(), index_creation: upsert.may_create_index }
            }
            Content::Settings { patch, .. } => Facts::Settings(patch.clone()),
            Content::DeleteByFilter { filter } => {
                Facts::DeleteByFilter { filters_vectors: filter_holds(filter, VECTORS) }
            }
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

    /// What a list of documents says.
    pub fn of_fetch(filter: Option<&Value>, retrieves_vectors: bool, limit: u64, offset: u64) -> Facts {
        let filters_vectors = filter.is_some_and(|filter| filter_holds(filter, VECTORS));
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
