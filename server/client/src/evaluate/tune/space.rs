//! The settings and parameters that an index has, each with the values to try.

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::search::Point;
use crate::evaluate::EvaluateError;
use crate::evaluate::asking::Server;
use crate::evaluate::variant::{Variant, set};

/// Attributes whose weights and order are tried, the first ones.
const ATTRIBUTES_MAX: usize = 16;
/// Multiples of a weight or a scale that are tried.
const FACTORS: [f64; 4] = [0.25, 0.5, 2.0, 4.0];
/// Rules whose place may change. `words` stays first, sorts and rules over fields stay where their owner put them.
const MOVABLE_RULES: [&str; 5] = ["typo", "proximity", "attributeRank", "wordPosition", "exactness"];

/// Destination of a value.
enum Place {
    /// A field of the settings, by the names on the way to it.
    Setting(Vec<String>),
    /// The weight of a searchable attribute.
    Weight(String),
    /// A number of a boost, by its place among the ranking rules.
    Boost(usize, Vec<String>),
    /// An item of a list, which goes to its front or its end.
    Item(&'static str, String),
    /// A field of `hybrid`, which requests send.
    Hybrid(&'static str),
}

/// Condition under which a dimension has an effect.
#[derive(Clone, Copy, PartialEq)]
enum Needs {
    Nothing,
    /// Scores by BM25.
    Any,
    /// Ranking rules.
    Rules,
    Embedder,
}

struct Dimension {
    place: Place,
    needs: Needs,
    choices: Vec<Value>,
}

/// The dimensions of the space, those that matter most first, and the settings that they start from.
pub(super) struct Space {
    dimensions: Vec<Dimension>,
    current: Map<String, Value>,
}

impl Space {
    /// # Errors
    /// The answers of the server.
    pub(super) async fn of(server: &Server<'_>, has_parameters: bool) -> Result<Space, EvaluateError> {
        let index = &*server.asking.index;
        let current = settings(server).await?;
        let listed = texts(current.get("searchableAttributes").unwrap_or(&Value::Null));
        let attributes = match listed.iter().any(|name| name == "*") {
            true => {
                let route = server.client.route(&["indexes", index, "stats"]);
                let stats = server.client.call(Method::GET, route, None).await?;
                let fields = stats["fieldDistribution"].as_object().cloned().unwrap_or_default();
                let key = server.primary_key(index).await?;
                fields.into_iter().map(|(name, _)| name).filter(|name| *name != key && !name.starts_with('_')).collect()
            }
            false => listed.clone(),
        };
        let is_ordered = attributes == listed;
        Ok(Space::new(current, attributes, is_ordered, has_parameters))
    }

    fn new(current: Map<String, Value>, mut attributes: Vec<String>, is_ordered: bool, has_parameters: bool) -> Space {
        attributes.truncate(ATTRIBUTES_MAX);
        let mut space = Space { dimensions: Vec::new(), current };
        space.add("matchingStrategy", Needs::Nothing, &json!(["any", "last", "frequency", "all"]), &json!("last"));
        if has_parameters {
            space.add_hybrid();
        }
        space.add("bm25.b", Needs::Any, &json!([0.0, 0.2, 0.4, 0.6, 0.75, 0.9]), &json!(0.75));
        space.add("bm25.k1", Needs::Any, &json!([0.2, 0.4, 0.8, 1.2, 1.8, 3.0]), &json!(1.2));
        space.add_weights(&attributes, is_ordered);
        space.add("wordForms.enabled", Needs::Nothing, &json!([true, false]), &Value::Null);
        space.add_typos();
        space.add_boosts();
        if is_ordered && attributes.len() > 1 {
            space.add_items("searchableAttributes", |name| attributes.contains(&name.to_owned()));
        }
        space.add_items("rankingRules", |name| MOVABLE_RULES.contains(&name));
        space
    }

    /// Returns whether the index still has the settings that the space starts from.
    pub(super) async fn is_current(&self, server: &Server<'_>) -> Result<bool, EvaluateError> {
        Ok(settings(server).await? == self.current)
    }

    /// Returns the number of choices of each dimension.
    pub(super) fn sizes(&self) -> Vec<usize> {
        self.dimensions.iter().map(|dimension| dimension.choices.len()).collect()
    }

    /// The point without choices that have no effect.
    pub(super) fn plain(&self, mut point: Point) -> Point {
        let is_any = self.chosen(&point, "matchingStrategy") == Some(json!("any"));
        let has_embedder = self
            .dimensions
            .iter()
            .zip(&point)
            .any(|(dimension, choice)| *choice > 0 && matches!(dimension.place, Place::Hybrid("embedder")));
        for (dimension, choice) in self.dimensions.iter().zip(&mut point) {
            let has_effect = match dimension.needs {
                Needs::Nothing => true,
                Needs::Any => is_any,
                Needs::Rules => !is_any,
                Needs::Embedder => has_embedder,
            };
            if !has_effect {
                *choice = 0;
            }
        }
        point
    }

    /// The value of a setting at a point.
    fn chosen(&self, point: &Point, name: &str) -> Option<Value> {
        let of_point = self.variant(point).settings.remove(name);
        of_point.or_else(|| self.current.get(name).cloned())
    }

    /// The way of searching that a point stands for.
    pub(super) fn variant(&self, point: &Point) -> Variant {
        let (mut settings, mut parameters) = (Map::new(), Map::new());
        for (dimension, choice) in self.dimensions.iter().zip(point) {
            let Some(value) = choice.checked_sub(1).and_then(|choice| dimension.choices.get(choice)) else { continue };
            match &dimension.place {
                // A path through what is no object cannot come from the settings of a server.
                Place::Setting(path) => drop(set(&mut settings, path, value)),
                Place::Weight(attribute) => {
                    self.whole(&mut settings, "searchableAttributesWeights")[attribute.as_str()] = value.clone()
                }
                Place::Boost(rule, path) => {
                    let rule = self.whole(&mut settings, "rankingRules")[rule].as_object_mut();
                    drop(rule.map(|rule| set(rule, path, value)));
                }
                Place::Item(list, item) => move_item(self.whole(&mut settings, list), item, value == "first"),
                Place::Hybrid(field) => {
                    drop(set(&mut parameters, &["hybrid".to_owned(), (*field).to_owned()], value));
                }
            }
        }
        Variant { name: "tuned".to_owned(), index: None, settings, parameters }
    }

    /// Returns the new value of a setting that is replaced as a whole; at first it is the present one.
    fn whole<'v>(&self, settings: &'v mut Map<String, Value>, name: &str) -> &'v mut Value {
        let current = self.current.get(name).filter(|value| !value.is_null()).cloned();
        settings.entry(name).or_insert_with(|| current.unwrap_or_else(|| json!({})))
    }

    /// Lines that say what a way of searching changes.
    pub(super) fn changes(&self, variant: &Variant) -> Vec<String> {
        let before = |name: &str| self.current.get(name).unwrap_or(&Value::Null);
        let settings = variant.settings.iter().map(|(name, after)| format!("{name}: {} -> {after}", before(name)));
        let parameters = variant.parameters.iter().map(|(name, value)| format!("parameter {name}: {value}"));
        settings.chain(parameters).collect()
    }

    fn push(&mut self, place: Place, needs: Needs, choices: Vec<Value>) {
        if !choices.is_empty() {
            self.dimensions.push(Dimension { place, needs, choices });
        }
    }

    /// A field of the settings, with those values that it does not have.
    fn add(&mut self, path: &str, needs: Needs, values: &Value, default: &Value) {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        let found = path[1..].iter().fold(self.current.get(&path[0]), |found, name| found?.get(name));
        let current = found.filter(|value| !value.is_null()).unwrap_or(default);
        let others = values.as_array().into_iter().flatten().filter(|value| *value != current);
        let others = others.cloned().collect();
        self.push(Place::Setting(path), needs, others);
    }

    /// Embedders of which queries can get vectors.
    fn add_hybrid(&mut self) {
        let embedders = self.current.get("embedders").and_then(Value::as_object);
        let embedders = embedders.into_iter().flatten().filter(|(_, embedder)| embedder["source"] != "userProvided");
        let names: Vec<Value> = embedders.map(|(name, _)| json!(name)).collect();
        if !names.is_empty() {
            self.push(Place::Hybrid("embedder"), Needs::Nothing, names);
            self.push(
                Place::Hybrid("semanticRatio"),
                Needs::Embedder,
                vec![json!(0.2), json!(0.35), json!(0.7), json!(0.9)],
            );
            self.push(Place::Hybrid("fusion"), Needs::Embedder, vec![json!("relative"), json!("rrf"), json!("score")]);
        }
    }

    fn add_weights(&mut self, attributes: &[String], is_ordered: bool) {
        for (place, attribute) in attributes.iter().enumerate() {
            let default = if is_ordered { 1.0 + 1.0 / (1.0 + place as f64) } else { 1.0 };
            let current =
                self.current.get("searchableAttributesWeights").and_then(|weights| weights[attribute].as_f64());
            let weight = |factor: f64| json!(rounded(current.unwrap_or(default) * factor).clamp(0.001, 1000.0));
            self.push(Place::Weight(attribute.clone()), Needs::Any, FACTORS.map(weight).to_vec());
        }
    }

    /// The shortest words with one typo and with two. No choice of one contradicts one of the other.
    fn add_typos(&mut self) {
        let bounds =
            &self.current.get("typoTolerance").map_or(Value::Null, |typos| typos["minWordSizeForTypos"].clone());
        let (one, two) = (bounds["oneTypo"].as_u64().unwrap_or(5), bounds["twoTypos"].as_u64().unwrap_or(9));
        let ones: Vec<u64> = [3, 4, 6, 7].into_iter().filter(|bound| *bound <= two).collect();
        let twos: Vec<u64> = [7, 8, 10, 12].into_iter().filter(|bound| *bound >= one).collect();
        self.add("typoTolerance.minWordSizeForTypos.oneTypo", Needs::Nothing, &json!(ones), &json!(5));
        self.add("typoTolerance.minWordSizeForTypos.twoTypos", Needs::Nothing, &json!(twos), &json!(9));
    }

    /// Weights and scales of the boosts that the index has.
    fn add_boosts(&mut self) {
        let rules = self.current.get("rankingRules").and_then(Value::as_array).cloned().unwrap_or_default();
        for (place, rule) in rules.iter().enumerate() {
            for (kind, boost) in rule.as_object().into_iter().flatten() {
                let weight = boost["weight"].as_f64().unwrap_or(1.0);
                let path = |field: &str| vec![kind.clone(), field.to_owned()];
                let weights = FACTORS.map(|factor| json!(rounded(weight * factor)));
                self.push(Place::Boost(place, path("weight")), Needs::Any, weights.to_vec());
                let scales = FACTORS.iter().filter_map(|factor| scaled(&boost["scale"], *factor)).collect();
                self.push(Place::Boost(place, path("scale")), Needs::Any, scales);
            }
        }
    }

    fn add_items(&mut self, list: &'static str, is_movable: impl Fn(&str) -> bool) {
        for item in texts(self.current.get(list).unwrap_or(&Value::Null)).into_iter().filter(|item| is_movable(item)) {
            self.push(Place::Item(list, item), Needs::Rules, vec![json!("first"), json!("last")]);
        }
    }
}

async fn settings(server: &Server<'_>) -> Result<Map<String, Value>, EvaluateError> {
    let route = server.client.route(&["indexes", &server.asking.index, "settings"]);
    let settings = server.client.call(Method::GET, route, None).await?;
    Ok(settings.as_object().cloned().unwrap_or_default())
}

fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// To three digits behind the point, which is what people read.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// A scale times a factor: a number, or one with its unit.
fn scaled(scale: &Value, factor: f64) -> Option<Value> {
    let text = match scale {
        Value::Number(number) => return Some(json!(rounded(number.as_f64()? * factor))),
        Value::String(text) => text.trim(),
        _ => return None,
    };
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..unit].parse().ok()?;
    Some(json!(format!("{}{}", rounded(number * factor), &text[unit..])))
}

/// Moves an item to the front of a list, behind `words`, or to its end.
fn move_item(list: &mut Value, item: &str, is_first: bool) {
    let Some(list) = list.as_array_mut() else { return };
    let Some(at) = list.iter().position(|other| other == item) else { return };
    let moved = list.remove(at);
    let place = if is_first { usize::from(list.first().is_some_and(|first| first == "words")) } else { list.len() };
    list.insert(place, moved);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(current: Value) -> Space {
        let listed = texts(&current["searchableAttributes"]);
        let is_ordered = !listed.contains(&"*".to_owned());
        let attributes = if is_ordered { listed } else { vec!["title".to_owned(), "text".to_owned()] };
        Space::new(current.as_object().unwrap().clone(), attributes, is_ordered, true)
    }

    fn rich() -> Value {
        json!({
            "searchableAttributes": ["title", "text"],
            "rankingRules": ["words", "typo", "year:desc", "exactness", {"decay": {"field": "year", "scale": "30d", "origin": "now"}}],
            "typoTolerance": {"enabled": true, "minWordSizeForTypos": {"oneTypo": 4, "twoTypos": 9}},
            "embedders": {"own": {"source": "userProvided"}, "model": {"source": "static"}},
            "bm25": {"k1": 0.4},
        })
    }

    /// Every choice of every dimension alone, with the strategy that it needs.
    fn each(space: &Space) -> Vec<Variant> {
        let sizes = space.sizes();
        let one = |dimension: usize, choice: usize| {
            let mut point = vec![0; sizes.len()];
            point[dimension] = choice;
            space.variant(&point)
        };
        (0..sizes.len())
            .flat_map(|dimension| (1..=sizes[dimension]).map(move |choice| one(dimension, choice)))
            .collect()
    }

    #[test]
    fn a_point_is_a_change_of_settings() {
        let space = space(rich());
        let all: Vec<String> = each(&space).iter().flat_map(|variant| space.changes(variant)).collect();
        for expected in [
            r#"matchingStrategy: null -> "any""#,
            r#"bm25: {"k1":0.4} -> {"b":0.2}"#,
            r#"searchableAttributesWeights: null -> {"title":8.0}"#,
            r#"searchableAttributesWeights: null -> {"text":0.375}"#,
            r#"parameter hybrid: {"embedder":"model"}"#,
            r#"wordForms: null -> {"enabled":true}"#,
            r#"searchableAttributes: ["title","text"] -> ["text","title"]"#,
        ] {
            assert!(all.iter().any(|line| line == expected), "no {expected} in {all:#?}");
        }
        let has = |part: &str| all.iter().any(|line| line.contains(part));
        assert!(has(r#"-> ["words","exactness","typo","year:desc",{"decay""#), "{all:#?}");
        assert!(has(r#""scale":"60d""#), "{all:#?}");
        assert!(has(r#""weight":0.25"#), "{all:#?}");
        assert!(!has("own"), "queries get no vectors of it: {all:#?}");
        assert!(!has(r#"-> {"k1":0.4}"#), "it is so already");
        let bounds =
            |variant: &Variant| variant.settings.get("typoTolerance").map(|typos| typos["minWordSizeForTypos"].clone());
        let bounds: Vec<Value> = each(&space).iter().filter_map(bounds).collect();
        assert_eq!(bounds[0], json!({"oneTypo": 3}));
        assert_eq!(bounds.len(), 7);
    }

    #[test]
    fn choices_of_one_setting_go_together() {
        let space = space(rich());
        let all: Point = space.sizes().iter().map(|_| 1).collect();
        let Variant { settings, parameters, .. } = space.variant(&all);
        assert_eq!(settings["bm25"], json!({"b": 0.0, "k1": 0.2}));
        assert_eq!(settings["searchableAttributesWeights"], json!({"title": 0.5, "text": 0.375}));
        assert_eq!(parameters["hybrid"], json!({"embedder": "model", "semanticRatio": 0.2, "fusion": "relative"}));
        assert_eq!(settings["rankingRules"][4]["decay"]["scale"], "7.5d");
    }

    #[test]
    fn what_has_no_effect_is_left_out() {
        let space = space(rich());
        let all: Point = space.sizes().iter().map(|_| 1).collect();
        let mut of_rules = all.clone();
        of_rules[0] = 0;
        let settings = |point: &Point| space.variant(&space.plain(point.clone())).settings;
        assert!(!settings(&all).contains_key("searchableAttributes"), "`any` knows no order");
        let settings = settings(&of_rules);
        assert!(!settings.contains_key("bm25"), "{settings:?}");
        assert!(settings.contains_key("searchableAttributes"), "{settings:?}");
    }

    #[test]
    fn fields_without_an_order_have_weights_alone() {
        let space = space(json!({"searchableAttributes": ["*"], "rankingRules": [], "matchingStrategy": "any"}));
        let all: Vec<String> = each(&space).iter().flat_map(|variant| space.changes(variant)).collect();
        assert!(!all.iter().any(|line| line.starts_with("searchableAttributes:")), "{all:#?}");
        assert!(all.contains(&r#"searchableAttributesWeights: null -> {"text":2.0}"#.to_owned()), "{all:#?}");
        assert_eq!(scaled(&json!(10), 0.25), Some(json!(2.5)));
        assert_eq!((scaled(&json!("x"), 2.0), scaled(&Value::Null, 2.0), scaled(&json!(""), 2.0)), (None, None, None));
    }
}
