//! Experimental features: switches that clients turn while the server runs. They survive restarts.

use std::io;
use std::path::Path;

use lamina_base::error::ApiResult;
use lamina_protocol::wire::json::At;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::instance::{StateFile, read_state_or_default, write_state};
pub use lamina_base::options::Feature;

const FILE: &str = "experimental-features.json";

/// A switch for each feature.
type Switches = [bool; Feature::ALL.len()];

/// The switches and their file.
#[derive(Debug)]
pub struct Features {
    file: StateFile<FeatureState>,
}

/// The file has only the first field, as an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Map<String, Value>", into = "Map<String, Value>")]
struct FeatureState {
    on: Switches,
    /// Also on, until the next change.
    presets: Switches,
}

impl FeatureState {
    fn effective(&self) -> Switches {
        std::array::from_fn(|feature| self.on[feature] || self.presets[feature])
    }
}

impl From<Map<String, Value>> for FeatureState {
    fn from(stored: Map<String, Value>) -> FeatureState {
        FeatureState { on: switches_of(&stored), presets: Switches::default() }
    }
}

impl From<FeatureState> for Map<String, Value> {
    fn from(state: FeatureState) -> Map<String, Value> {
        shown(&state.on)
    }
}

impl Features {
    /// Reads the switches from the database folder. A damaged file leaves everything off: the features are extras, and no
    /// reason not to start.
    ///
    /// `presets` are on whatever the file says; they can be turned off until the next start.
    pub fn open(folder: &Path, presets: &[Feature]) -> Features {
        let stored: FeatureState = read_state_or_default(folder, FILE, "the experimental features: they are off");
        let state = FeatureState { presets: switches_with(presets), ..stored };
        Features { file: StateFile::new(folder, FILE, state) }
    }

    /// Reports whether a feature is on.
    pub fn is_on(&self, feature: Feature) -> bool {
        self.file.get().effective()[feature as usize]
    }

    /// Returns all switches as clients see them.
    pub fn show(&self) -> Map<String, Value> {
        shown(&self.file.get().effective())
    }

    /// Takes the switches of the server that this one follows; those of `presets` stay on. Blocks until the file is durable.
    ///
    /// # Errors
    /// The errors of the file system; nothing changes then.
    pub fn follow(&self, switches: &Map<String, Value>, presets: &[Feature]) -> ApiResult<()> {
        self.file.replace(FeatureState { on: switches_of(switches), presets: switches_with(presets) })
    }

    /// Turns the switches that `body` names; blocks until the file is durable.
    ///
    /// # Errors
    /// `bad_request`, and those of the file system; nothing changes then.
    pub fn change(&self, body: &Value) -> ApiResult<Map<String, Value>> {
        let names: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
        self.file.change(|state| {
            let mut on = state.effective();
            At::root(body).fields(&names, |name, field| {
                let feature =
                    Feature::ALL.iter().find(|feature| feature.name() == name).expect("only known names come here");
                if let Some(switch) = field.optional(|field| field.boolean())? {
                    on[*feature as usize] = switch;
                }
                Ok(())
            })?;
            if on != state.effective() {
                *state = FeatureState { on, presets: Switches::default() };
            }
            Ok(shown(&on))
        })
    }
}

/// Writes the switches of another server into the database folder that is to become its copy; what this program does
/// not know is left out. A server that did not know `legacySearch` searched in that way.
pub fn import(folder: &Path, switches: &Value) -> io::Result<()> {
    let is_on = |feature: &Feature| {
        let switch = switches.get(feature.name());
        switch.and_then(Value::as_bool).unwrap_or(*feature == Feature::LegacySearch && switch.is_none())
    };
    let on: Map<String, Value> =
        Feature::ALL.iter().map(|feature| (feature.name().to_owned(), is_on(feature).into())).collect();
    write_state(folder, FILE, &on)
}

fn shown(on: &Switches) -> Map<String, Value> {
    Feature::ALL.iter().map(|feature| (feature.name().to_owned(), on[*feature as usize].into())).collect()
}

fn switches_with(features: &[Feature]) -> Switches {
    std::array::from_fn(|feature| features.iter().any(|other| *other as usize == feature))
}

/// Reads the switches. Unknown features are ignored; absent ones are off.
fn switches_of(stored: &Map<String, Value>) -> Switches {
    let mut on = Switches::default();
    for feature in Feature::ALL {
        on[*feature as usize] = stored.get(feature.name()).and_then(Value::as_bool).unwrap_or(false);
    }
    on
}

#[cfg(test)]
mod tests {
    use super::*;
    use lamina_base::error::Code;
    use serde_json::json;

    #[test]
    fn switches_survive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let features = Features::open(folder.path(), &[]);
        assert!(!features.is_on(Feature::ContainsFilter));
        let shown = features.change(&json!({"containsFilter": true, "metrics": null})).unwrap();
        assert_eq!((&shown["containsFilter"], &shown["metrics"]), (&json!(true), &json!(false)));
        assert_eq!(shown.keys().next().unwrap(), "metrics");
        let again = Features::open(folder.path(), &[]);
        assert!(again.is_on(Feature::ContainsFilter));
        assert_eq!(again.show(), shown);
    }

    #[test]
    fn an_imported_server_goes_on_as_it_was() {
        let imported = |switches: Value| {
            let folder = tempfile::tempdir().unwrap();
            import(folder.path(), &switches).unwrap();
            Features::open(folder.path(), &[])
        };
        let old = imported(json!({"containsFilter": true, "vectorStore": true}));
        assert!(old.is_on(Feature::ContainsFilter));
        assert!(old.is_on(Feature::LegacySearch));
        assert!(!old.is_on(Feature::Metrics));
        for is_on in [false, true] {
            assert_eq!(imported(json!({"legacySearch": is_on})).is_on(Feature::LegacySearch), is_on);
        }
    }

    #[test]
    fn a_refused_change_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let features = Features::open(folder.path(), &[]);
        let unknown = features.change(&json!({"containsFilter": true, "nope": true})).unwrap_err();
        assert_eq!(unknown.code, Code::BadRequest);
        assert!(unknown.message.starts_with("Unknown field `nope`: expected one of `metrics`, `logsRoute`, "));
        let wrong = features.change(&json!({"metrics": 1})).unwrap_err();
        assert_eq!(
            wrong.message,
            "Invalid value type at `.metrics`: expected a boolean, but found a positive integer: `1`"
        );
        assert!(!features.is_on(Feature::ContainsFilter));
    }

    #[test]
    fn presets_are_on_until_a_change_turns_them_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let features = Features::open(folder.path(), &[Feature::Metrics]);
        assert_eq!(features.change(&json!({})).unwrap()["metrics"], true);
        assert!(!path.exists(), "nothing has changed");
        features.follow(&shown(&Switches::default()), &[Feature::Metrics]).unwrap();
        assert!(features.is_on(Feature::Metrics));
        features.follow(&shown(&switches_with(&[Feature::LogsRoute])), &[Feature::Metrics]).unwrap();
        assert!(features.is_on(Feature::Metrics));
        assert!(!Features::open(folder.path(), &[]).is_on(Feature::Metrics));
        features.change(&json!({"metrics": false})).unwrap();
        for features in [features, Features::open(folder.path(), &[])] {
            assert!(!features.is_on(Feature::Metrics));
            assert!(features.is_on(Feature::LogsRoute));
        }
        assert!(Features::open(folder.path(), &[Feature::Metrics]).is_on(Feature::Metrics), "at the next start");
    }
}
