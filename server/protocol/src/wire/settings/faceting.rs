//! `faceting`: merged field by field.

use lamina_base::error::{ApiResult, Code};
use lamina_engine::index::Setting;
use lamina_engine::index::settings::{FacetOrder, FacetingPatch, SettingId};
use serde_json::{Map, Value, json};

use super::bounds;
use super::kind::{Figure, Figures, Reference, SettingKind, WriteVerb};
use super::values::{map, parts, sent, setting, size, word_of, words};
use crate::wire::json::At;
use crate::wire::schema;

const ORDERS: [(&str, FacetOrder); 2] = [("alpha", FacetOrder::Alpha), ("count", FacetOrder::Count)];

pub(super) const FACETING: SettingKind = SettingKind {
    id: SettingId::Faceting,
    key: "faceting",
    route: "faceting",
    verb: WriteVerb::Patch,
    code: Code::InvalidSettingsFaceting,
    bounds: bounds::faceting,
    read: |at, patch| {
        patch.faceting = setting(at, read)?;
        Ok(())
    },
    written: |settings| {
        let faceting = &settings.faceting;
        json!({
            "maxValuesPerFacet": faceting.max_values_per_facet,
            "sortFacetValuesBy": orders(&faceting.sort_facet_values_by),
        })
    },
    sent: |patch| {
        sent(&patch.faceting, |patch| {
            parts([
                ("maxValuesPerFacet", sent(&patch.max_values_per_facet, |count| json!(count))),
                ("sortFacetValuesBy", sent(&patch.sort_facet_values_by, orders)),
            ])
        })
    },
    schema: || {
        let orders = schema::map_of(schema::one_of(&words(&ORDERS)));
        let fields =
            [("maxValuesPerFacet", schema::or_null(schema::count())), ("sortFacetValuesBy", schema::or_null(orders))];
        schema::exactly(fields, &[])
    },
    figures,
    reference: Reference {
        purpose: "how many values of a facet are listed, and their order for each attribute, `*` for the others",
        value: "object: `maxValuesPerFacet`, `sortFacetValuesBy` (`alpha` or `count`)",
        example: r#"{"sortFacetValuesBy": {"genre": "count"}}"#,
    },
    ..SettingKind::PLAIN
};

fn read(at: At<'_>) -> ApiResult<FacetingPatch> {
    let mut patch = FacetingPatch::default();
    at.fields(&["maxValuesPerFacet", "sortFacetValuesBy"], |name, field| {
        match name {
            "maxValuesPerFacet" => patch.max_values_per_facet = setting(field, size)?,
            _ => {
                patch.sort_facet_values_by = setting(field, |orders| map(orders, |order| order.one_of(&ORDERS)))?;
            }
        }
        Ok(())
    })?;
    Ok(patch)
}

fn orders(orders: &std::collections::BTreeMap<String, FacetOrder>) -> Value {
    let orders = orders.iter().map(|(name, order)| (name.clone(), word_of(&ORDERS, order).into()));
    Value::Object(Map::from_iter(orders))
}

fn figures(patch: &lamina_engine::index::SettingsPatch) -> Figures {
    let Setting::Set(faceting) = &patch.faceting else { return Figures::new() };
    let count = faceting.max_values_per_facet.as_set();
    let mut figures = vec![("faceting.max_values_per_facet", Figure::Last(json!(count)))];
    if let Setting::Set(orders) = &faceting.sort_facet_values_by {
        let others_by_count = orders.get("*") == Some(&FacetOrder::Count);
        figures.push(("faceting.sort_facet_values_by_star_count", Figure::Last(others_by_count.into())));
        figures.push(("faceting.sort_facet_values_by_total", Figure::Last(orders.len().into())));
    }
    figures
}
