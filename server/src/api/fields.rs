//! `/indexes/{uid}/fields`: the fields of an index and what its settings let them do.

use std::collections::BTreeSet;
use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_data::tasks::blocking;
use lamina_engine::index::Snapshot;
use lamina_engine::index::settings::{
    FacetOrder, FilterableFeatures, RankingRule, Settings, VECTORS_FIELD, covers, filterable_features, locales_of,
};
use lamina_protocol::wire::fields::{FieldFilter, FieldList};
use lamina_protocol::wire::schema::{count, exactly, flag, or_null, texts};
use serde_json::{Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[Route::post("/indexes/{indexUid}/fields", Action::FieldsPost)
    .about("List the fields of an index", Answer::Ok("FieldPage"))
    .json(body, r#"{ "limit": 50, "filter": { "filterable": true } }"#)
    .run(|request| Box::pin(list_fields(request)))];

fn body() -> Value {
    let switches = ["displayed", "searchable", "sortable", "distinct", "rankingRule", "filterable"];
    let filter =
        switches.map(|name| (name, or_null(flag()))).into_iter().chain([("attributePatterns", or_null(texts()))]);
    let page = or_null(count());
    exactly([("offset", page.clone()), ("limit", page), ("filter", or_null(exactly(filter, &[])))], &[])
}

async fn list_fields(request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    let instance = Arc::clone(&request.state().instance);
    let wanted = FieldList::from_body(&*request.json().await?)?;
    let body = blocking(move || instance.snapshot(&uid).map(|snapshot| page(&snapshot, &wanted)));
    Ok(json_answer(StatusCode::OK, &body.await??))
}

fn page(snapshot: &Snapshot, wanted: &FieldList) -> Value {
    // Parents of nested fields are fields of documents without being fields of the index.
    let names: BTreeSet<&str> = snapshot
        .fields
        .names()
        .chain(snapshot.field_distribution.keys().map(String::as_str))
        .filter(|name| !covers(VECTORS_FIELD, name))
        .collect();
    let fields: Vec<Field<'_>> = names
        .into_iter()
        .map(|name| Field::new(name, &snapshot.settings))
        .filter(|field| field.passes(&wanted.filter))
        .collect();
    let results: Vec<Value> = fields.iter().skip(wanted.offset).take(wanted.limit).map(Field::view).collect();
    json!({ "results": results, "offset": wanted.offset, "limit": wanted.limit, "total": fields.len() })
}

/// Settings of one field.
struct Field<'a> {
    name: &'a str,
    is_displayed: bool,
    is_searchable: bool,
    is_sortable: bool,
    is_distinct: bool,
    /// The first custom ranking rule on it.
    ranking_order: Option<&'static str>,
    filterable: Option<FilterableFeatures>,
    facet_order: FacetOrder,
    locales: &'a [String],
}

impl<'a> Field<'a> {
    fn new(name: &'a str, settings: &'a Settings) -> Field<'a> {
        let ranking_order = settings.ranking_rules.iter().find_map(|rule| match rule {
            RankingRule::Asc(field) if field == name => Some("asc"),
            RankingRule::Desc(field) if field == name => Some("desc"),
            _ => None,
        });
        Field {
            name,
            is_displayed: settings.displayed_attributes.selects(name),
            is_searchable: settings.searchable_attributes.selects(name),
            is_sortable: settings.sortable_attributes.iter().any(|sortable| covers(sortable, name)),
            is_distinct: settings.distinct_attribute.as_deref().is_some_and(|distinct| covers(distinct, name)),
            ranking_order,
            filterable: filterable_features(&settings.filterable_attributes, name),
            facet_order: settings.faceting.order_of(name),
            locales: settings.localized_attributes.as_deref().map_or(&[], |rules| locales_of(rules, name)),
        }
    }

    fn passes(&self, filter: &FieldFilter) -> bool {
        let agrees = |wanted: Option<bool>, is: bool| wanted.is_none_or(|wanted| wanted == is);
        filter.patterns.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| pattern.matches(self.name)))
            && agrees(filter.displayed, self.is_displayed)
            && agrees(filter.searchable, self.is_searchable)
            && agrees(filter.sortable, self.is_sortable)
            && agrees(filter.distinct, self.is_distinct)
            && agrees(filter.ranking_rule, self.ranking_order.is_some())
            && agrees(filter.filterable, self.filterable.is_some())
    }

    fn view(&self) -> Value {
        let mut ranking_rule = json!({ "enabled": self.ranking_order.is_some() });
        if let Some(order) = self.ranking_order {
            ranking_rule["order"] = order.into();
        }
        let features = self.filterable;
        json!({
            "name": self.name,
            "displayed": { "enabled": self.is_displayed },
            "searchable": { "enabled": self.is_searchable },
            "sortable": { "enabled": self.is_sortable },
            "distinct": { "enabled": self.is_distinct },
            "rankingRule": ranking_rule,
            "filterable": {
                "enabled": features.is_some(),
                "sortBy": self.facet_order,
                "facetSearch": features.is_some_and(|features| features.facet_search),
                "equality": features.is_some_and(|features| features.filter.equality),
                "comparison": features.is_some_and(|features| features.filter.comparison),
            },
            "localized": { "locales": self.locales },
        })
    }
}
