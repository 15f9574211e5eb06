//! Boosts among the ranking rules and in requests: what makes a document count more than its words do.

use std::hash::{Hash, Hasher};

use lamina_text::filter::{Coordinates, Filter};
use lamina_text::text::Moment;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::GEO_FIELD;

/// Boosts of one index, and of one request; each is looked up for every document that is ranked.
pub const BOOSTS_MAX: usize = 16;
/// Upper bound of the weight of a boost. A greater weight would amount to a sort.
const WEIGHT_MAX: f64 = 1_000_000.0;

/// A boost as it was sent, and what it says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct BoostRule {
    sent: Value,
    boost: Boost,
}

/// Input of a boost, and the factor that it computes from it.
#[derive(Clone, Debug, PartialEq)]
pub enum Boost {
    /// A document counts 1 + weight × function of the value.
    Field(FieldBoost),
    /// A document counts 1 + weight × nearness to an origin, which is 1 there and falls with the distance.
    Decay(Decay),
    /// A document that passes counts as often as the weight says.
    Filter(FilterBoost),
}

/// A boost by the size of a number: `boost`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldBoost {
    /// Field whose largest number in a document counts. A negative number counts as 0, as does a document without a
    /// number.
    pub field: String,
    #[serde(default)]
    pub function: BoostFunction,
    #[serde(default = "one")]
    pub weight: f64,
}

/// Function that maps a number to its contribution. None of them decreases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoostFunction {
    Linear,
    Sqrt,
    /// The natural logarithm of 1 + the number.
    #[default]
    Log1p,
    Square,
}

/// A boost by nearness to a place, a time or a number: `decay`.
#[derive(Clone, Debug, PartialEq)]
pub struct Decay {
    /// Field whose value nearest to the origin counts. A document without a value has the factor 1.
    pub field: String,
    pub origin: Origin,
    /// Distance, beyond `offset`, at which the decay function has the value `decay`; in seconds, metres, or the unit of
    /// the field.
    pub scale: f64,
    /// Distance up to which the decay function is 1.
    pub offset: f64,
    pub function: DecayFunction,
    /// Above 0 and below 1.
    pub decay: f64,
    pub weight: f64,
}

/// Shape of the decay function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecayFunction {
    #[default]
    Gauss,
    Exp,
    Linear,
}

/// Value at which the decay function is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    /// Time of the search.
    Now,
    /// In seconds since 1970. Documents have dates as texts, or numbers of seconds.
    Moment(f64),
    Number(f64),
    Point(Coordinates),
}

/// `boostIf`
#[derive(Clone, Debug, PartialEq)]
pub struct FilterBoost {
    pub filter: Filter,
    pub weight: f64,
}

/// A value that is no boost.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct InvalidBoost {
    /// A sentence that names what is wrong.
    pub reason: String,
}

/// `decay` as it is sent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SentDecay {
    field: String,
    origin: Value,
    scale: Value,
    offset: Option<Value>,
    #[serde(default)]
    function: DecayFunction,
    #[serde(default = "half")]
    decay: f64,
    #[serde(default = "one")]
    weight: f64,
}

/// `boostIf` as it is sent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SentFilterBoost {
    filter: Value,
    weight: f64,
}

fn one() -> f64 {
    1.0
}

fn half() -> f64 {
    0.5
}

/// The values of `boost.function`.
pub fn functions() -> [&'static str; 4] {
    ["linear", "sqrt", "log1p", "square"]
}

/// The values of `decay.function`.
pub fn decay_functions() -> [&'static str; 3] {
    ["gauss", "exp", "linear"]
}

impl BoostFunction {
    /// Returns the contribution of a number, which is not negative.
    pub fn of(self, number: f64) -> f64 {
        match self {
            BoostFunction::Linear => number,
            BoostFunction::Sqrt => number.sqrt(),
            BoostFunction::Log1p => number.ln_1p(),
            BoostFunction::Square => number * number,
        }
    }
}

impl Decay {
    /// The nearness of what is so far away: 1 at most.
    pub fn nearness(&self, distance: f64) -> f64 {
        let share = (distance - self.offset).max(0.0) / self.scale;
        match self.function {
            DecayFunction::Gauss => self.decay.powf(share * share),
            DecayFunction::Exp => self.decay.powf(share),
            DecayFunction::Linear => (1.0 - (1.0 - self.decay) * share).max(0.0),
        }
    }
}

impl BoostRule {
    /// The object as it was sent.
    pub fn sent(&self) -> &Value {
        &self.sent
    }

    pub fn boost(&self) -> &Boost {
        &self.boost
    }

    /// Returns the key: `boost`, `decay` or `boostIf`.
    pub fn name(&self) -> &'static str {
        match self.boost {
            Boost::Field(_) => "boost",
            Boost::Decay(_) => "decay",
            Boost::Filter(_) => "boostIf",
        }
    }

    /// The field whose values it reads, unless it has a filter.
    pub fn field(&self) -> Option<&str> {
        match &self.boost {
            Boost::Field(FieldBoost { field, .. }) | Boost::Decay(Decay { field, .. }) => Some(field),
            Boost::Filter(_) => None,
        }
    }

    /// Reports whether the factor of a document depends on the time of the search.
    pub fn depends_on_time(&self) -> bool {
        matches!(self.boost, Boost::Decay(Decay { origin: Origin::Now, .. }))
    }
}

/// Compares the JSON as it was sent, which determines everything else.
impl PartialEq for BoostRule {
    fn eq(&self, other: &BoostRule) -> bool {
        self.sent == other.sent
    }
}

impl Eq for BoostRule {}

impl Hash for BoostRule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.sent.hash(state);
    }
}

impl From<BoostRule> for Value {
    fn from(rule: BoostRule) -> Value {
        rule.sent
    }
}

impl TryFrom<Value> for BoostRule {
    type Error = InvalidBoost;

    fn try_from(sent: Value) -> Result<BoostRule, InvalidBoost> {
        let boost = read(&sent)?;
        Ok(BoostRule { sent, boost })
    }
}

fn invalid(reason: impl Into<String>) -> InvalidBoost {
    InvalidBoost { reason: reason.into() }
}

fn read(sent: &Value) -> Result<Boost, InvalidBoost> {
    let one_key = || invalid("a boost is an object with one of the keys `boost`, `decay` and `boostIf`");
    let mut entries = sent.as_object().ok_or_else(one_key)?.iter();
    let (Some((key, value)), None) = (entries.next(), entries.next()) else { return Err(one_key()) };
    let within = |error: InvalidBoost| invalid(format!("`{key}`: {}", error.reason));
    match key.as_str() {
        "boost" => field_boost(value).map(Boost::Field).map_err(within),
        "decay" => decay(value).map(Boost::Decay).map_err(within),
        "boostIf" => filter_boost(value).map(Boost::Filter).map_err(within),
        other => Err(invalid(format!("unknown boost `{other}`, expected one of `boost`, `decay`, `boostIf`"))),
    }
}

fn shaped<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, InvalidBoost> {
    let Value::Object(mut given) = value.clone() else { return Err(invalid("expected an object")) };
    // Null leaves the default.
    given.retain(|_, value| !value.is_null());
    // The parser does not say which field has a wrong type.
    if given.get("field").is_some_and(|field| !field.is_string()) {
        return Err(invalid("`field` must be the name of an attribute"));
    }
    if let Some(name) = ["weight", "decay"].iter().find(|name| given.get(**name).is_some_and(|one| !one.is_number())) {
        return Err(invalid(format!("`{name}` must be a number")));
    }
    serde_json::from_value(Value::Object(given)).map_err(|error| invalid(error.to_string()))
}

fn check_weight(weight: f64) -> Result<(), InvalidBoost> {
    if weight > 0.0 && weight <= WEIGHT_MAX {
        return Ok(());
    }
    Err(invalid(format!("`weight` is {weight}, expected a number above 0 and at most {WEIGHT_MAX}")))
}

fn check_field(field: &str) -> Result<(), InvalidBoost> {
    if field.is_empty() { Err(invalid("`field` names no attribute")) } else { Ok(()) }
}

fn field_boost(value: &Value) -> Result<FieldBoost, InvalidBoost> {
    let boost: FieldBoost = shaped(value)?;
    check_field(&boost.field)?;
    check_weight(boost.weight)?;
    if super::is_reserved(&boost.field) {
        return Err(invalid(format!("`{}` has no numbers: use `decay` for distances from a point", boost.field)));
    }
    Ok(boost)
}

fn decay(value: &Value) -> Result<Decay, InvalidBoost> {
    let SentDecay { field, origin, scale, offset, function, decay, weight } = shaped(value)?;
    check_field(&field)?;
    check_weight(weight)?;
    let origin = read_origin(&origin)?;
    let is_point = matches!(origin, Origin::Point(_));
    if is_point != (field == GEO_FIELD) {
        return Err(invalid(if is_point {
            "an `origin` with `lat` and `lng` is for the field `_geo`"
        } else {
            "the field `_geo` needs an `origin` with `lat` and `lng`"
        }));
    }
    if super::is_reserved(&field) && !is_point {
        return Err(invalid(format!("`{field}` has no numbers or dates")));
    }
    let scale = extent("scale", &scale, origin)?;
    if scale <= 0.0 {
        return Err(invalid("`scale` must be above 0"));
    }
    let offset = offset.map_or(Ok(0.0), |offset| extent("offset", &offset, origin))?;
    if decay <= 0.0 || decay >= 1.0 {
        return Err(invalid(format!("`decay` is {decay}, expected a number above 0 and below 1")));
    }
    Ok(Decay { field, origin, scale, offset, function, decay, weight })
}

fn filter_boost(value: &Value) -> Result<FilterBoost, InvalidBoost> {
    let SentFilterBoost { filter, weight } = shaped(value)?;
    check_weight(weight)?;
    let filter = Filter::from_json(&filter).map_err(|error| invalid(format!("`filter`: {error}")))?;
    let filter = filter.ok_or_else(|| invalid("`filter` asks for nothing"))?;
    if filter.first_foreign().is_some() {
        return Err(invalid("`filter` asks another index, which boosts cannot"));
    }
    Ok(FilterBoost { filter, weight })
}

fn read_origin(value: &Value) -> Result<Origin, InvalidBoost> {
    let unknown =
        || invalid(format!("`origin` is {value}, expected `now`, a date, a number, or an object with `lat` and `lng`"));
    match value {
        Value::String(text) if text == "now" => Ok(Origin::Now),
        Value::String(text) => Moment::parse(text).map(|moment| Origin::Moment(moment.seconds())).ok_or_else(unknown),
        Value::Number(number) => number.as_f64().map(Origin::Number).ok_or_else(unknown),
        Value::Object(point) => read_point(point).ok_or_else(unknown)?.map(Origin::Point),
        _ => Err(unknown()),
    }
}

fn read_point(point: &Map<String, Value>) -> Option<Result<Coordinates, InvalidBoost>> {
    let (lat, lng) = (point.get("lat")?.as_f64()?, point.get("lng")?.as_f64()?);
    let of_point = |error: &dyn std::fmt::Display| invalid(format!("`origin`: {error}"));
    (point.len() == 2).then(|| Coordinates::new(lat, lng).map_err(|error| of_point(&error)))
}

/// Parses a distance: a number, or a text with a unit if the numbers are seconds or metres.
fn extent(name: &str, value: &Value, origin: Origin) -> Result<f64, InvalidBoost> {
    const TIMES: &[(&str, f64)] = &[("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0), ("w", 604_800.0)];
    const LENGTHS: &[(&str, f64)] = &[("km", 1000.0), ("mi", 1609.344), ("m", 1.0)];
    let (units, what): (&[(&str, f64)], _) = match origin {
        Origin::Now | Origin::Moment(_) => {
            (TIMES, "a time such as `30d` (units: s, m, h, d, w), or a number of seconds")
        }
        Origin::Point(_) => (LENGTHS, "a distance such as `10km` (units: m, km, mi), or a number of metres"),
        Origin::Number(_) => (&[], "a number"),
    };
    let with_unit = |text: &str| {
        let (unit, factor) = units.iter().find(|(unit, _)| text.ends_with(unit))?;
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        Some(number * factor)
    };
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => with_unit(text),
        _ => None,
    };
    number
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| invalid(format!("`{name}` is {value}, expected {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(value: Value) -> Result<BoostRule, String> {
        BoostRule::try_from(value).map_err(|error| error.reason)
    }

    #[test]
    fn null_leaves_the_default() {
        let with = rule(json!({"boost": {"field": "a", "function": null, "weight": null}})).unwrap();
        let without = rule(json!({"boost": {"field": "a"}})).unwrap();
        assert_eq!(with.boost(), without.boost());
        assert!(rule(json!({"boost": {"field": null}})).is_err());
    }

    #[test]
    fn what_was_sent_is_given_back() {
        for sent in [
            json!({"boost": {"field": "popularity", "function": "sqrt", "weight": 0.2}}),
            json!({"decay": {"field": "released", "origin": "now", "scale": "30d"}}),
            json!({"decay": {"field": "_geo", "origin": {"lat": 1, "lng": 2.5}, "scale": "1.5 km", "offset": 3}}),
            json!({"boostIf": {"filter": ["in_stock = true", ["a = 1", "b = 2"]], "weight": 2}}),
        ] {
            let read = rule(sent.clone()).unwrap();
            assert_eq!(Value::from(read.clone()), sent);
            let stored: BoostRule = serde_json::from_value(serde_json::to_value(&read).unwrap()).unwrap();
            assert_eq!((stored.boost(), &stored), (read.boost(), &read));
        }
    }

    #[test]
    fn extents_have_units() {
        let scale = |origin: Value, field: &str, scale: Value| {
            let read = rule(json!({"decay": {"field": field, "origin": origin, "scale": scale}}))?;
            match read.boost() {
                Boost::Decay(decay) => Ok::<f64, String>(decay.scale),
                other => panic!("{other:?}"),
            }
        };
        let point = || json!({"lat": 0, "lng": 0});
        assert_eq!(scale(json!("now"), "at", json!("30d")), Ok(2_592_000.0));
        assert_eq!(scale(json!("2024-01-01"), "at", json!("90m")), Ok(5400.0));
        assert_eq!(scale(json!("2024-01-01T00:00:00Z"), "at", json!(10)), Ok(10.0));
        assert_eq!(scale(point(), "_geo", json!("90m")), Ok(90.0));
        assert_eq!(scale(point(), "_geo", json!("2km")), Ok(2000.0));
        assert_eq!(scale(json!(7), "size", json!(2.5)), Ok(2.5));
        for (origin, field, wrong) in [
            (json!("now"), "at", json!("30 years")),
            (json!("now"), "at", json!("-3d")),
            (json!("now"), "at", json!(0)),
            (json!(7), "size", json!("3d")),
            (point(), "_geo", json!("3d")),
            (point(), "_geo", json!(null)),
        ] {
            assert!(scale(origin, field, wrong.clone()).unwrap_err().contains("`scale`"), "{wrong}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_a_sentence() {
        for (sent, part) in [
            (json!("boost"), "an object with one of the keys"),
            (json!({}), "an object with one of the keys"),
            (json!({"boost": {"field": "a"}, "decay": {}}), "an object with one of the keys"),
            (json!({"push": {"field": "a"}}), "unknown boost `push`"),
            (json!({"boost": "a"}), "`boost`: expected an object"),
            (json!({"boost": {"field": "a", "function": "cube"}}), "unknown variant `cube`, expected one of `linear`"),
            (json!({"boost": {"field": "a", "wieght": 1}}), "unknown field `wieght`"),
            (json!({"boost": {"field": 1}}), "`boost`: `field` must be the name of an attribute"),
            (json!({"boost": {"field": "n", "weight": "2"}}), "`boost`: `weight` must be a number"),
            (json!({"boost": {"function": "sqrt"}}), "missing field `field`"),
            (json!({"boost": {"field": "a", "weight": 0}}), "`weight` is 0"),
            (json!({"boost": {"field": "a", "weight": 1e9}}), "`weight` is 1000000000"),
            (json!({"boost": {"field": ""}}), "`field` names no attribute"),
            (json!({"boost": {"field": "_geo"}}), "`_geo` has no numbers"),
            (json!({"decay": {"field": "a", "origin": "later", "scale": 1}}), "`origin` is \"later\""),
            (json!({"decay": {"field": "a", "origin": "2024-02-30", "scale": 1}}), "`origin` is \"2024-02-30\""),
            (json!({"decay": {"field": "a", "origin": {"lat": 1, "lng": 2}, "scale": 1}}), "is for the field `_geo`"),
            (json!({"decay": {"field": "_geo", "origin": 1, "scale": 1}}), "the field `_geo` needs an `origin`"),
            (json!({"decay": {"field": "_geo", "origin": {"lat": 91, "lng": 2}, "scale": 1}}), "`origin`: "),
            (json!({"decay": {"field": "a", "origin": 1, "scale": 1, "decay": 1}}), "`decay` is 1"),
            (json!({"boostIf": {"filter": "a =", "weight": 2}}), "`filter`: "),
            (json!({"boostIf": {"filter": "", "weight": 2}}), "`filter` asks for nothing"),
            (json!({"boostIf": {"filter": "_foreign(a, b = 1)", "weight": 2}}), "asks another index"),
            (json!({"boostIf": {"filter": "a = 1"}}), "missing field `weight`"),
        ] {
            let refused = rule(sent.clone()).unwrap_err();
            assert!(refused.contains(part), "{sent}: {refused}");
        }
    }

    #[test]
    fn nearness_falls_from_the_origin() {
        let of = |function: &str| {
            let sent = json!({"decay": {"field": "a", "origin": 0, "scale": 10, "offset": 5, "function": function}});
            match rule(sent).unwrap().boost() {
                Boost::Decay(decay) => decay.clone(),
                other => panic!("{other:?}"),
            }
        };
        for function in decay_functions() {
            let decay = of(function);
            assert_eq!((decay.nearness(0.0), decay.nearness(5.0)), (1.0, 1.0));
            assert!((decay.nearness(15.0) - 0.5).abs() < 1e-12, "{function}");
            assert!(decay.nearness(20.0) < 0.5, "{function}");
            assert!(decay.nearness(1e9) >= 0.0, "{function}");
        }
        assert_eq!(of("linear").nearness(25.0), 0.0);
    }

    #[test]
    fn lists_of_functions_are_those_that_are_read() {
        for name in functions() {
            rule(json!({"boost": {"field": "a", "function": name}})).unwrap();
        }
        let grows = |function: BoostFunction| function.of(4.0) > function.of(1.0) && function.of(0.0) == 0.0;
        assert!(
            [BoostFunction::Linear, BoostFunction::Sqrt, BoostFunction::Log1p, BoostFunction::Square].map(grows)
                == [true; 4]
        );
    }
}
