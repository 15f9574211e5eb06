//! Several searches in one request, answered one by one or merged.

use std::collections::BTreeMap;

use lamina_base::error::{ApiError, ApiResult, Code};
use serde_json::Value;

use super::identifier::check_index_uid;
use super::json::{At, required};
use super::point_in_time::PointInTime;
use super::search::{self, FacetMeasure, Place, SearchQuery, Window, personalize};

/// The body of a multi-search.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiSearch {
    /// In the order of the request.
    pub queries: Vec<IndexQuery>,
    /// Present: one merged list of hits.
    pub federation: Option<Federation>,
    /// The states of all its indexes to search, if not the present ones; queries may have points of their own.
    pub point_in_time: Option<PointInTime>,
}

/// The fields of a body, in the order in which messages list them.
pub const FIELDS: [&str; 3] = ["queries", "federation", "pointInTime"];

/// One search and the index it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexQuery {
    /// Index to search.
    pub index_uid: String,
    /// Search to run.
    pub query: SearchQuery,
    /// Part of the query in the merged list.
    pub options: Option<FederationOptions>,
    /// The first field that pages through hits, by name: allowed only where hits are not merged.
    pub paging_field: Option<String>,
    /// True if the query has `personalize`. It is refused everywhere, in another way where hits are merged.
    pub is_personalized: bool,
    /// The server of the network that runs it.
    pub remote: Option<String>,
    /// Position of the query in the original request, if this request is a part of it.
    pub query_position: Option<usize>,
}

/// Name of `useNetwork` in a refusal.
pub const USING_NETWORK: &str = "passing `useNetwork` in a search query";

/// Queries of one request.
pub const QUERIES_MAX: usize = 1000;

impl MultiSearch {
    /// The points in time of the request and of its queries.
    pub fn points_in_time(&self) -> impl Iterator<Item = PointInTime> {
        self.point_in_time.into_iter().chain(self.queries.iter().filter_map(|asked| asked.query.point_in_time))
    }

    /// One search of all servers, as a merged list.
    pub fn over_network(index_uid: String, query: SearchQuery) -> MultiSearch {
        // An empty list is no list.
        let facets = query.facets.iter().filter(|names| !names.is_empty() || !query.measures.is_empty());
        let measures = (!query.measures.is_empty()).then(|| (index_uid.clone(), query.measures.clone()));
        let federation = Federation {
            window: query.window(),
            facets_by_index: facets.map(|names| (index_uid.clone(), names.clone())).collect(),
            measures_by_index: measures.into_iter().collect(),
            merge_facets: None,
            distinct: query.distinct.clone(),
            show_performance_details: false,
        };
        let query = IndexQuery {
            index_uid,
            query,
            options: None,
            paging_field: None,
            is_personalized: false,
            remote: None,
            query_position: None,
        };
        MultiSearch { queries: vec![query], federation: Some(federation), point_in_time: None }
    }

    /// The body that [`MultiSearch::over_network`] is read from; its pages are left out.
    pub fn body_over_network(&self) -> Value {
        let queries = self.queries.iter().map(|asked| {
            let mut query = asked.query.as_federated_query();
            query.insert("indexUid".to_owned(), asked.index_uid.clone().into());
            Value::Object(query)
        });
        let federation = self.federation.as_ref();
        let mut fields = serde_json::Map::new();
        if let Some(federation) = federation {
            let by_index = federation.facets_by_index.iter().map(|(uid, names)| {
                let measures = federation.measures_by_index.get(uid).into_iter().flatten();
                let names = names.iter().map(|name| Value::from(name.as_str()));
                (uid.clone(), names.chain(measures.map(|one| one.written.clone())).collect())
            });
            fields.insert("facetsByIndex".to_owned(), Value::Object(by_index.collect()));
        }
        if let Some(distinct) = federation.and_then(|federation| federation.distinct.clone()) {
            fields.insert("distinct".to_owned(), distinct.into());
        }
        serde_json::json!({ "federation": fields, "queries": queries.collect::<Vec<Value>>() })
    }
}

/// The part of one search in a merged list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FederationOptions {
    /// Factor of its scores, at least 0.
    pub weight: f64,
}

impl Default for FederationOptions {
    fn default() -> FederationOptions {
        FederationOptions { weight: 1.0 }
    }
}

/// Options for building and showing the merged list.
#[derive(Clone, Debug, PartialEq)]
pub struct Federation {
    /// Part of the merged list to show.
    pub window: Window,
    /// Facets to count, by index.
    pub facets_by_index: BTreeMap<String, Vec<String>>,
    /// Facets by index that ask for ranges, histograms and statistics.
    pub measures_by_index: BTreeMap<String, Vec<FacetMeasure>>,
    /// Present: the facets of all indexes are summed.
    pub merge_facets: Option<MergeFacets>,
    /// Attribute of which all hits have different values.
    pub distinct: Option<String>,
    /// True if the response reports the duration of each step.
    pub show_performance_details: bool,
}

/// Options for the sum of facets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeFacets {
    /// Most values of a facet.
    pub max_values_per_facet: Option<usize>,
}

impl MultiSearch {
    /// Reads a body.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub fn from_body(body: &Value) -> ApiResult<MultiSearch> {
        let (mut queries, mut federation, mut point_in_time) = (None, None, None);
        let root = At::root(body);
        root.fields(&FIELDS, |name, field| {
            match name {
                "queries" => queries = Some(field.list(IndexQuery::read)?),
                "federation" => federation = field.optional(Federation::read)?,
                _ => point_in_time = field.code(Code::InvalidSearchPointInTime).optional(PointInTime::read)?,
            }
            Ok(())
        })?;
        let queries: Vec<IndexQuery> = required(queries, &root, "queries", Code::BadRequest)?;
        if queries.len() > QUERIES_MAX {
            return Err(root.error(format!(
                "Invalid value at `.queries`: {} queries; at most {QUERIES_MAX} are allowed. Use several requests.",
                queries.len()
            )));
        }
        if federation.is_none()
            && let Some(position) = queries.iter().position(|asked| asked.is_personalized)
        {
            return Err(personalize::unavailable().prefixed(format_args!("Inside `.queries[{position}]`: ")));
        }
        Ok(MultiSearch { queries, federation, point_in_time })
    }
}

impl IndexQuery {
    /// # Errors
    /// `feature_not_enabled` when it needs the network, for servers that know none.
    pub fn check_without_network(&self) -> ApiResult<()> {
        let action = match (&self.remote, self.query_position, self.query.use_network) {
            (Some(_), _, _) => "Performing a remote federated search",
            (None, Some(_), _) => "Using `federationOptions.queryPosition`",
            (None, None, true) => USING_NETWORK,
            (None, None, false) => return Ok(()),
        };
        Err(ApiError::feature_not_enabled(action, "network"))
    }

    fn read(at: At<'_>) -> ApiResult<IndexQuery> {
        let (mut index_uid, mut options, mut paging_field) = (None, None, None);
        let (mut remote, mut query_position) = (None, None);
        let mut is_personalized = false;
        let mut query = SearchQuery::default();
        let fields = search::fields_of_several();
        at.fields_by_place(fields, |place, field| {
            match fields[place] {
                "indexUid" => index_uid = Some(field.code(Code::InvalidIndexUid).index_uid()?),
                _ if field.value().is_null() => {}
                "personalize" => is_personalized = personalize::is_personalized(field)?,
                "federationOptions" => {
                    let field = field.code(Code::InvalidMultiSearchFederationOptions);
                    options = Some(FederationOptions::read(field, &mut remote, &mut query_position)?);
                }
                name => {
                    query.read_field(place, field)?;
                    if search::is_paging(name) {
                        paging_field.get_or_insert_with(|| name.to_owned());
                    }
                }
            }
            Ok(())
        })?;
        let index_uid = required(index_uid, &at, "indexUid", Code::MissingIndexUid)?;
        query.check_network()?;
        Ok(IndexQuery { index_uid, query, options, paging_field, is_personalized, remote, query_position })
    }
}

impl FederationOptions {
    /// The rest of what the object holds goes where it belongs.
    fn read(
        at: At<'_>,
        remote: &mut Option<String>,
        query_position: &mut Option<usize>,
    ) -> ApiResult<FederationOptions> {
        let mut options = FederationOptions::default();
        at.given(&["weight", "remote", "queryPosition"], &[], |name, field| {
            match name {
                "weight" => {
                    let field = field.code(Code::InvalidMultiSearchWeight);
                    options.weight = field.number()?;
                    if options.weight < 0.0 {
                        return Err(
                            field.invalid("the value of `weight` is invalid, expected a positive float (>= 0.0).")
                        );
                    }
                }
                "remote" => *remote = Some(field.code(Code::InvalidMultiSearchRemote).string()?),
                _ => *query_position = Some(size(field.code(Code::InvalidMultiSearchQueryPosition))?),
            }
            Ok(())
        })?;
        Ok(options)
    }
}

impl Federation {
    fn read(at: At<'_>) -> ApiResult<Federation> {
        let (mut facets_by_index, mut measures_by_index) = (BTreeMap::new(), BTreeMap::new());
        let (mut merge_facets, mut list) = (None, SearchQuery::default());
        at.given(search::federation_fields(), &[], |name, field| {
            match name {
                "facetsByIndex" => {
                    field.code(Code::InvalidMultiSearchFacetsByIndex).entries(|uid, names| {
                        check_index_uid(uid).map_err(|reason| names.invalid(reason))?;
                        if let Some((names, measures)) = names.optional(FacetMeasure::read_list)? {
                            facets_by_index.insert(uid.to_owned(), names);
                            measures_by_index.insert(uid.to_owned(), measures);
                        }
                        Ok(())
                    })?;
                }
                "mergeFacets" => {
                    merge_facets = field.code(Code::InvalidMultiSearchMergeFacets).optional(MergeFacets::read)?;
                }
                // Of the merged list, with the meaning that they have in a search.
                _ => list.read_field_of(Place::Federation, name, field)?,
            }
            Ok(())
        })?;
        measures_by_index.retain(|_, measures: &mut Vec<FacetMeasure>| !measures.is_empty());
        let window = list.window();
        let SearchQuery { distinct, show_performance_details, .. } = list;
        Ok(Federation { window, facets_by_index, measures_by_index, merge_facets, distinct, show_performance_details })
    }
}

impl MergeFacets {
    /// Values of a merged facet when nothing else is asked for.
    const DEFAULT_VALUES_MAX: usize = 100;

    /// Most values of a merged facet.
    pub fn values_max(self) -> usize {
        self.max_values_per_facet.unwrap_or(MergeFacets::DEFAULT_VALUES_MAX)
    }

    fn read(at: At<'_>) -> ApiResult<MergeFacets> {
        let mut merge = MergeFacets::default();
        at.fields(&["maxValuesPerFacet"], |_, field| {
            merge.max_values_per_facet = field.code(Code::InvalidMultiSearchMaxValuesPerFacet).optional(size)?;
            Ok(())
        })?;
        Ok(merge)
    }
}

fn size(at: At<'_>) -> ApiResult<usize> {
    Ok(usize::try_from(at.positive_integer()?).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(body: Value) -> (Code, String) {
        let error = MultiSearch::from_body(&body).expect_err(&body.to_string());
        (error.code, error.message)
    }

    #[test]
    fn queries_are_required_and_need_an_index() {
        assert_eq!(refused(json!({})), (Code::BadRequest, "Missing field `queries`".into()));
        assert_eq!(
            refused(json!({"queries": [{"q": "a"}]})),
            (Code::MissingIndexUid, "Missing field `indexUid` inside `.queries[0]`".into())
        );
        assert_eq!(refused(json!({"queries": [{"indexUid": "a b"}]})).0, Code::InvalidIndexUid);
        let (code, message) = refused(json!({"queries": [{"indexUid": "a", "limit": "x"}]}));
        assert_eq!(code, Code::InvalidSearchLimit);
        assert!(message.starts_with("Invalid value type at `.queries[0].limit`: "), "{message}");
        assert_eq!(MultiSearch::from_body(&json!({"queries": []})).unwrap().queries, []);
        let many = vec![json!({"indexUid": "a"}); 1001];
        assert_eq!(refused(json!({"queries": many})).0, Code::BadRequest);
        assert_eq!(MultiSearch::from_body(&json!({"queries": many[1..]})).unwrap().queries.len(), 1000);
    }

    #[test]
    fn federation_is_read() {
        let read = MultiSearch::from_body(&json!({
            "federation": {"limit": 5, "facetsByIndex": {"a": ["x"], "b": null}, "mergeFacets": {}},
            "queries": [{"indexUid": "a", "q": "x", "federationOptions": {"weight": 0.5}}, {"indexUid": "b", "limit": null}]
        }))
        .unwrap();
        let federation = read.federation.unwrap();
        assert_eq!(federation.window, Window::Offset { offset: 0, limit: 5 });
        assert_eq!(federation.facets_by_index, BTreeMap::from([("a".to_owned(), vec!["x".to_owned()])]));
        assert_eq!(federation.merge_facets, Some(MergeFacets::default()));
        assert_eq!(read.queries[0].options, Some(FederationOptions { weight: 0.5 }));
        assert_eq!(read.queries[1].paging_field, None);
        let paged = MultiSearch::from_body(&json!({"federation": {"page": 2}, "queries": []})).unwrap();
        assert_eq!(paged.federation.unwrap().window, Window::Page { page: 2, hits_per_page: 20 });
    }

    #[test]
    fn bad_values() {
        let in_query = |options: Value| refused(json!({"queries": [{"indexUid": "a", "federationOptions": options}]}));
        assert_eq!(
            in_query(json!({"weight": -1})),
            (
                Code::InvalidMultiSearchWeight,
                "Invalid value at `.queries[0].federationOptions.weight`: the value of `weight` is invalid, expected \
                 a positive float (>= 0.0)."
                    .into()
            )
        );
        let queries = json!([{"indexUid": "a", "federationOptions": {"remote": "ms", "queryPosition": 3}}]);
        let read = MultiSearch::from_body(&json!({"queries": queries})).unwrap();
        assert_eq!((read.queries[0].remote.as_deref(), read.queries[0].query_position), (Some("ms"), Some(3)));
        assert_eq!(read.queries[0].check_without_network().unwrap_err().code, Code::FeatureNotEnabled);
        assert_eq!(in_query(json!({"remote": 1})).0, Code::InvalidMultiSearchRemote);
        assert_eq!(in_query(json!({"queryPosition": -1})).0, Code::InvalidMultiSearchQueryPosition);
        assert_eq!(in_query(json!({"doggo": 1})).0, Code::InvalidMultiSearchFederationOptions);
        for (federation, code) in [
            (json!({"limit": "x"}), Code::InvalidSearchLimit),
            (json!({"offset": -1}), Code::InvalidSearchOffset),
            (json!({"facetsByIndex": []}), Code::InvalidMultiSearchFacetsByIndex),
            (json!({"facetsByIndex": {"a": "x"}}), Code::InvalidMultiSearchFacetsByIndex),
            (json!({"facetsByIndex": {"a b": []}}), Code::InvalidMultiSearchFacetsByIndex),
            (json!({"mergeFacets": 1}), Code::InvalidMultiSearchMergeFacets),
            (json!({"mergeFacets": {"maxValuesPerFacet": "x"}}), Code::InvalidMultiSearchMaxValuesPerFacet),
            (json!({"distinct": 1}), Code::InvalidMultiSearchDistinct),
            (json!({"showPerformanceDetails": 1}), Code::InvalidMultiSearchQueryShowPerformanceDetails),
            (json!({"doggo": 1}), Code::BadRequest),
        ] {
            assert_eq!(refused(json!({"federation": federation, "queries": []})).0, code);
        }
    }
}
