//! The states that the queries of a request see.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use lamina_base::aliases::IndexName;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::access::Rights;
use lamina_data::instance::Instance;
use lamina_protocol::wire::multi_search::{IndexQuery, MultiSearch};
use tokio::runtime::Handle;

use super::super::rerank::rerank_in;
use crate::answer::points_in_time::{Lease, NamedSnapshot, PointsInTime, Snapshots};
use crate::answer::search::{Context, OwnView, Reranked, at_query};
use crate::app::AppState;

/// Queries of one request whose hits are put into another order at the same time.
const RERANKED_AT_ONCE: usize = 8;

/// The states that the queries of a request see.
pub(super) struct Views {
    /// Snapshots of the indexes of the view.
    pub(super) shared: Snapshots,
    /// The view that `shared` is of, if the request holds one.
    pub(super) whole: Option<Lease>,
    /// Views of queries that have their own, by position.
    own: BTreeMap<usize, Lease>,
    /// States of queries that name one, by position.
    before: BTreeMap<usize, Snapshots>,
    /// The order of the first hits of queries that have another one, by position.
    reranked: BTreeMap<usize, Arc<Reranked>>,
    /// True if rerankings were requested: these states outlive an attempt to respond.
    pub(super) is_reranked: bool,
}

impl Views {
    pub(super) fn hold(
        asked: &MultiSearch,
        instance: &Instance,
        points: &PointsInTime,
        rights: &Rights,
    ) -> ApiResult<Views> {
        let is_merged = asked.federation.is_some();
        let all: Vec<IndexName> = indexes(asked).map(|name| rights.index(name)).collect();
        let present = || {
            let mut present = snapshots(instance, &all)?;
            if is_merged {
                present.extend(states(instance, &asked.queries, rights)?);
            }
            Ok(present)
        };
        let whole = asked.point_in_time.map(|point| points.hold(all.iter(), point, rights, present)).transpose()?;
        let shared = whole.as_ref().map_or_else(present, |held| Ok(held.snapshots.clone()))?;
        let mut views = Views {
            shared,
            whole,
            own: BTreeMap::new(),
            before: BTreeMap::new(),
            reranked: BTreeMap::new(),
            is_reranked: false,
        };
        // Merged lists refuse them.
        let apart = asked.queries.iter().filter(|_| !is_merged);
        for (position, query) in apart.enumerate() {
            let index = [rights.index(&query.index_uid)];
            let own = match query.query.point_in_time {
                Some(point) => points
                    .hold(index.iter(), point, rights, || snapshots(instance, &index))
                    .map(|held| drop(views.own.insert(position, held))),
                None if query.query.at.is_some() => states(instance, std::slice::from_ref(query), rights)
                    .map(|state| drop(views.before.insert(position, state))),
                None => Ok(()),
            };
            if let Err(error) = own {
                views.give_up(points);
                return Err(at_query(error, query.query_position.unwrap_or(position)));
            }
        }
        Ok(views)
    }

    /// The states that queries see whose first hits get another order, with these orders; `None` where none does. Providers are
    /// asked before the searches take a thread, about the hits of these states.
    pub(super) async fn reranked(
        state: &Arc<AppState>,
        asked: &MultiSearch,
        context: &Context,
    ) -> ApiResult<Option<Views>> {
        // Merged lists refuse it.
        if asked.federation.is_some() || asked.queries.iter().all(|query| query.query.rerank.is_none()) {
            return Ok(None);
        }
        let points = &state.points_in_time;
        let mut views = Views { is_reranked: true, ..Views::hold(asked, &state.instance, points, &context.rights)? };
        // The client may be gone before there is an answer.
        views.held().for_each(|held| points.watch(held, &Handle::current()));
        let mut asking = Vec::with_capacity(asked.queries.len());
        for (position, query) in asked.queries.iter().enumerate() {
            asking.push(views.order(state, position, query, context));
        }
        let orders: Vec<_> = stream::iter(asking).buffered(RERANKED_AT_ONCE).collect().await;
        for (position, order) in orders.into_iter().enumerate() {
            match order {
                Ok(order) => views.reranked.extend(order.map(|order| (position, order))),
                Err(error) => {
                    views.give_up(points);
                    return Err(at_query(error, asked.queries[position].query_position.unwrap_or(position)));
                }
            }
        }
        Ok(Some(views))
    }

    /// The order for the first hits of a query. An index that is not there is reported by the search.
    async fn order(
        &self,
        state: &Arc<AppState>,
        position: usize,
        query: &IndexQuery,
        context: &Context,
    ) -> ApiResult<Option<Arc<Reranked>>> {
        match self.of(position).get(&query.index_uid) {
            Some(of) => {
                let index = IndexName { asked: query.index_uid.clone(), uid: (*of.uid).to_owned() };
                rerank_in(state, &index, &of.snapshot, &query.query, context).await
            }
            None => Ok(None),
        }
    }

    /// The states that a query sees.
    fn of(&self, position: usize) -> &Snapshots {
        let own = self.own.get(&position).map(|held| &held.snapshots);
        own.or_else(|| self.before.get(&position)).unwrap_or(&self.shared)
    }

    /// Returns the views of the queries that do not use the shared one, by position.
    pub(super) fn own(&self) -> BTreeMap<usize, OwnView<'_>> {
        let of = |&position: &usize| {
            let point = self.own.get(&position).map(Lease::shown);
            let reranked = self.reranked.get(&position).cloned();
            (position, OwnView { snapshots: self.of(position), point, reranked })
        };
        self.own.keys().chain(self.before.keys()).chain(self.reranked.keys()).map(of).collect()
    }

    /// Views that no client will ask for.
    pub(super) fn give_up(&self, points: &PointsInTime) {
        self.held().for_each(|held| points.give_up(held));
    }

    pub(super) fn held(&self) -> impl Iterator<Item = &Lease> {
        self.whole.iter().chain(self.own.values())
    }
}

/// The indexes that the request names.
pub(super) fn indexes(asked: &MultiSearch) -> impl Iterator<Item = &String> {
    let in_queries = asked.queries.iter().map(|query| &query.index_uid);
    in_queries.chain(asked.federation.iter().flat_map(|federation| federation.facets_by_index.keys()))
}

/// The states that queries name by `at`: one of each index.
fn states(instance: &Instance, queries: &[IndexQuery], rights: &Rights) -> ApiResult<Snapshots> {
    let mut states = Snapshots::new();
    for (position, IndexQuery { index_uid: uid, query, query_position, .. }) in queries.iter().enumerate() {
        let named =
            |error| if queries.len() == 1 { error } else { at_query(error, query_position.unwrap_or(position)) };
        let index = rights.index(uid);
        let is_same = |other: &IndexQuery| rights.target(&other.index_uid) == index.uid;
        if queries.iter().any(|other| is_same(other) && other.query.at != query.at) {
            return Err(named(not_several_states(uid)));
        }
        if let Some(at) = query.at.filter(|_| !states.contains_key(uid)) {
            let known = states.values().find(|state| *state.uid == *index.uid);
            let known = known.map(|state| Arc::clone(&state.snapshot));
            match known.map_or_else(|| instance.searchable_at(&index.uid, Some(at)), Ok) {
                Ok(snapshot) => states.extend([NamedSnapshot::named(&index, snapshot)]),
                // Reported by the query that needs it.
                Err(error) if error.code == Code::IndexNotFound => {}
                Err(error) => return Err(named(error)),
            }
        }
    }
    Ok(states)
}

/// Returns the snapshots of the indexes that are there, as they were named at one moment.
fn snapshots(instance: &Instance, indexes: &[IndexName]) -> ApiResult<Snapshots> {
    instance.at_one_moment(|| snapshots_one_by_one(instance, indexes))
}

/// Each index once, so that its queries see the same state, whatever names they use.
fn snapshots_one_by_one(instance: &Instance, indexes: &[IndexName]) -> ApiResult<Snapshots> {
    let mut snapshots = Snapshots::new();
    for index in indexes {
        if snapshots.contains_key(&index.asked) {
            continue;
        }
        let known = snapshots.values().find(|state| *state.uid == *index.uid);
        let known = known.map(|state| Arc::clone(&state.snapshot));
        match known.map_or_else(|| instance.searchable(&index.uid), Ok) {
            Ok(snapshot) => snapshots.extend([NamedSnapshot::named(index, snapshot)]),
            // Reported by the query that needs it.
            Err(error) if error.code == Code::IndexNotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(snapshots)
}

/// The refusal of a merged list that would be of several states of one index.
fn not_several_states(uid: &str) -> ApiError {
    let message = format!(
        "The queries of `{uid}` name different states: in one list, all queries of an index have the same `at`."
    );
    ApiError::new(Code::InvalidSearchAt, message)
}
