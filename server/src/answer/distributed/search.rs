//! A federated search whose queries go to several servers.
//!
//! Each server runs its own queries as a federated search of their own; what comes back is merged here by the values that
//! hits are ordered by. A server that fails is named in `remoteErrors`, and the others answer. This server is one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use lamina_base::budget::AnswerBudget;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::outbound::Outbound;
use lamina_data::access::Rights;
use lamina_data::network::{Remote, Topology};
use lamina_protocol::wire::multi_search::{Federation, MultiSearch};
use lamina_protocol::wire::search::Window;
use serde_json::{Map, Value, json};

use super::answers::{self, Part};
use super::remote::{self, Question};
use crate::answer::search::ValuesWanted;

/// A search that has been cut into one part per server.
#[derive(Debug)]
pub(crate) struct NetworkSearch {
    topology: Arc<Topology>,
    /// The part of this server.
    local: Option<RemoteQueries>,
    /// Name, address, part.
    remotes: Vec<(String, Remote, RemoteQueries)>,
}

/// Response of each of the other servers.
pub(crate) struct RemoteAnswers(Vec<Result<remote::Answered, ApiError>>);

/// The queries that go to one server.
#[derive(Debug)]
struct RemoteQueries {
    body: Value,
    /// Positions of the queries in the original request.
    positions: Vec<usize>,
}

/// Reports whether any query goes to a named server, or to all servers.
pub(crate) fn asks_network(asked: &MultiSearch) -> bool {
    asked.federation.is_some() && asked.queries.iter().any(|query| query.remote.is_some() || query.query.use_network)
}

impl NetworkSearch {
    /// Cuts a request, which has been read as `asked` from `body`.
    ///
    /// # Errors
    /// A name that no server has; a document that another server is to explain to who sees a part of the index only.
    pub(crate) fn new(
        topology: Arc<Topology>,
        asked: &MultiSearch,
        body: &Value,
        caller: &Rights,
    ) -> ApiResult<NetworkSearch> {
        let mut by_server: BTreeMap<Option<String>, Vec<usize>> = BTreeMap::new();
        for (position, query) in asked.queries.iter().enumerate() {
            if query.query.use_network {
                let others = topology.remotes.keys().filter(|name| topology.own_name.as_ref() != Some(name));
                for server in std::iter::once(None).chain(others.cloned().map(Some)) {
                    by_server.entry(server).or_default().push(position);
                }
                continue;
            }
            let name = query.remote.clone().filter(|name| topology.own_name.as_ref() != Some(name));
            if let Some(name) = &name
                && !topology.remotes.contains_key(name)
            {
                return Err(ApiError::new(
                    Code::InvalidMultiSearchRemote,
                    format!(
                        "Invalid value at `.queries[{position}].federationOptions.remote`: remote `{name}` not found"
                    ),
                ));
            }
            by_server.entry(name).or_default().push(position);
        }
        let of_others = |positions: &[usize]| {
            let uid = |position: usize| asked.queries[position].index_uid.as_str();
            let mine: Vec<&str> = positions.iter().map(|&position| uid(position)).collect();
            (0..asked.queries.len()).map(uid).filter(|uid| !mine.contains(uid)).map(str::to_owned).collect::<Vec<_>>()
        };
        let mut search = NetworkSearch { topology: Arc::clone(&topology), local: None, remotes: Vec::new() };
        for (name, positions) in by_server {
            let rights = name.is_some().then_some(caller);
            if rights.is_some() {
                positions.iter().try_for_each(|&position| check_explained(asked, position, caller))?;
            }
            let part = RemoteQueries { body: part(body, asked, &positions, &of_others(&positions), rights), positions };
            match name {
                None => search.local = Some(part),
                Some(name) => {
                    let remote = topology.remotes[&name].clone();
                    search.remotes.push((name, remote, part));
                }
            }
        }
        Ok(search)
    }

    /// The queries of this server, with the positions that they had.
    ///
    /// # Errors
    /// None that reading the whole request did not have.
    pub(crate) fn local(&self) -> ApiResult<Option<MultiSearch>> {
        let Some(local) = &self.local else { return Ok(None) };
        let mut asked = MultiSearch::from_body(&local.body)?;
        for (query, &position) in asked.queries.iter_mut().zip(&local.positions) {
            query.query_position.get_or_insert(position);
        }
        Ok(Some(asked))
    }

    /// Asks all other servers at the same time; each may take as long as `patience` lasts. What they answer is counted in
    /// `budget`.
    pub(crate) async fn ask(
        &self,
        outbound: &Outbound,
        wanted: ValuesWanted,
        with_metadata: bool,
        patience: Duration,
        budget: &AnswerBudget,
    ) -> RemoteAnswers {
        let asking = self.remotes.iter().map(|(_, remote, part)| {
            let (path, action) = ("/multi-search", "search");
            let question = Question { path, action, body: &part.body, wanted, with_metadata };
            remote::post(outbound, remote, question, patience, budget)
        });
        RemoteAnswers(futures_util::future::join_all(asking).await)
    }

    /// One answer out of all; `local` is that of [`NetworkSearch::local`], `remote` those of [`NetworkSearch::ask`]. The
    /// limits that others met are added to `cuts`.
    ///
    /// # Errors
    /// Facets that can't be merged.
    pub(crate) fn merge(
        &self,
        federation: &Federation,
        local: Option<Value>,
        remote: RemoteAnswers,
        error_body: impl Fn(&ApiError) -> Value,
        cuts: &mut BTreeSet<String>,
    ) -> ApiResult<Map<String, Value>> {
        let mut errors = Map::new();
        let mut parts = Vec::new();
        if let (Some(asked), Some(answer)) = (&self.local, local) {
            // The positions of its hits are those of the request already.
            parts.push(Part::new(self.topology.own_name.clone(), &asked.positions, true, answer));
        }
        for ((name, _, asked), answer) in self.remotes.iter().zip(remote.0) {
            let checked = answer.and_then(|answer| Ok((answers::check(answer.body, federation)?, answer.cuts)));
            match checked {
                Ok((answer, named)) => {
                    parts.push(Part::new(Some(name.clone()), &asked.positions, false, answer));
                    cuts.extend(named);
                }
                Err(error) => {
                    tracing::warn!(remote = name, code = %error.code, message = %error.message, "a remote search failed");
                    errors.insert(name.clone(), error_body(&error));
                }
            }
        }
        let mut fields = answers::merge(parts, federation, cuts)?;
        fields.insert("remoteErrors".into(), Value::Object(errors));
        Ok(fields)
    }
}

/// Refuses to ask another server about a document that the caller may not see: the answer would reveal what is in the way.
fn check_explained(asked: &MultiSearch, position: usize, caller: &Rights) -> ApiResult<()> {
    let query = &asked.queries[position];
    let names_document = query.query.explain.as_ref().is_some_and(|explain| explain.document_id.is_some());
    if names_document && caller.imposed_filter(&query.index_uid, caller.target(&query.index_uid)).is_some() {
        return Err(ApiError::new(
            Code::InvalidSearchExplain,
            format!(
                "A tenant token with a filter for the index `{}` cannot ask other servers to explain a document: \
                 `explain` can be `true` here.",
                query.index_uid
            ),
        ));
    }
    Ok(())
}

/// The body for one server: its queries without their place in the network, and the first hits of the merged list.
fn part(
    body: &Value,
    asked: &MultiSearch,
    positions: &[usize],
    elsewhere: &[String],
    rights: Option<&Rights>,
) -> Value {
    let queries: Vec<Value> = positions
        .iter()
        .map(|&position| {
            let mut query = body["queries"][position].clone();
            if let Some(query) = query.as_object_mut() {
                // The others ask no further server.
                query.remove("useNetwork");
            }
            if let Some(options) = query.get_mut("federationOptions").and_then(Value::as_object_mut) {
                options.remove("remote");
                // Filled in again from our own list.
                options.remove("queryPosition");
            }
            let name = &asked.queries[position].index_uid;
            let imposed = rights.and_then(|rights| rights.imposed_filter(name, rights.target(name)));
            if let Some(imposed) = imposed {
                // The other server knows nothing of the caller's rights.
                query["filter"] = both(&imposed, query.get("filter").unwrap_or(&Value::Null));
            }
            query
        })
        .collect();
    let mut federation = body["federation"].as_object().cloned().unwrap_or_default();
    if let Some(federated) = &asked.federation {
        let (offset, limit) = federated.window.bounds(usize::MAX);
        let reach = json!(offset.saturating_add(limit));
        for name in ["offset", "limit", "page", "hitsPerPage", "mergeFacets"] {
            federation.remove(name);
        }
        // In the mode that was asked for, which decides what a server counts.
        if let Window::Page { .. } = federated.window {
            federation.insert("page".into(), json!(1));
            federation.insert("hitsPerPage".into(), reach);
        } else {
            federation.insert("limit".into(), reach);
        }
        if let Some(Value::Object(facets)) = federation.get_mut("facetsByIndex") {
            facets.retain(|uid, _| !elsewhere.contains(uid));
        }
    }
    json!({ "federation": federation, "queries": queries })
}

/// Both filters: the elements of a list must all hold.
fn both(one: &Value, other: &Value) -> Value {
    let elements = |filter: &Value| match filter {
        Value::Null => Vec::new(),
        Value::Array(elements) => elements.clone(),
        text => vec![text.clone()],
    };
    Value::Array(elements(one).into_iter().chain(elements(other)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology() -> Arc<Topology> {
        let remote = |url: &str| Remote { url: url.to_owned(), search_api_key: None, write_api_key: None };
        let remotes = [("me", remote("http://me")), ("b", remote("http://b"))];
        Arc::new(Topology {
            own_name: Some("me".into()),
            remotes: remotes.into_iter().map(|(name, remote)| (name.to_owned(), remote)).collect(),
        })
    }

    fn cut(body: &Value) -> ApiResult<NetworkSearch> {
        NetworkSearch::new(topology(), &MultiSearch::from_body(body).unwrap(), body, &Rights::all())
    }

    #[test]
    fn queries_go_to_their_servers() {
        let body = json!({
            "federation": {"offset": 3, "limit": 4, "facetsByIndex": {"x": ["f"], "y": ["g"]}, "mergeFacets": {}},
            "queries": [
                {"indexUid": "x", "q": "1", "federationOptions": {"remote": "b", "weight": 2.0}},
                {"indexUid": "y", "q": "2"},
                {"indexUid": "y", "q": "3", "federationOptions": {"remote": "me"}},
            ]
        });
        let search = cut(&body).unwrap();
        assert_eq!(
            search.remotes[0].2.body,
            json!({
                "federation": {"facetsByIndex": {"x": ["f"]}, "limit": 7},
                "queries": [{"indexUid": "x", "q": "1", "federationOptions": {"weight": 2.0}}]
            })
        );
        let local = search.local().unwrap().unwrap();
        assert_eq!(local.queries.iter().map(|query| query.query_position).collect::<Vec<_>>(), [Some(1), Some(2)]);
        assert_eq!(search.remotes.len(), 1);
    }

    #[test]
    fn a_query_for_all_goes_to_each_once() {
        let body = json!({"federation": {}, "queries": [{"indexUid": "x"}, {"indexUid": "y", "useNetwork": true}]});
        let search = cut(&body).unwrap();
        assert_eq!(search.remotes.len(), 1, "this server is not asked over the network");
        assert_eq!(search.remotes[0].2.positions, [1]);
        assert_eq!(search.remotes[0].2.body["queries"], json!([{"indexUid": "y"}]));
        let local = search.local().unwrap().unwrap();
        assert_eq!(local.queries.iter().map(|query| query.query_position).collect::<Vec<_>>(), [Some(0), Some(1)]);
        assert!(local.queries.iter().all(|query| !query.query.use_network));
    }

    #[test]
    fn unknown_names_are_refused() {
        let body =
            json!({"federation": {}, "queries": [{"indexUid": "x", "federationOptions": {"remote": "unknown"}}]});
        let error = cut(&body).unwrap_err();
        assert_eq!(error.code, Code::InvalidMultiSearchRemote);
        assert!(error.message.contains("`unknown`"), "{}", error.message);
    }

    #[test]
    fn filters_are_all_kept() {
        assert_eq!(both(&json!("a = 1"), &Value::Null), json!(["a = 1"]));
        assert_eq!(both(&json!("a = 1"), &json!("b = 2")), json!(["a = 1", "b = 2"]));
        assert_eq!(
            both(&json!(["a = 1", ["x = 1", "y = 1"]]), &json!(["b = 2"])),
            json!(["a = 1", ["x = 1", "y = 1"], "b = 2"])
        );
    }
}
