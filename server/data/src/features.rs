//! Experimental features: switches that clients turn while the server runs. They survive restarts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lamina_base::error::ApiResult;
use lamina_protocol::wire::json::At;
use parking_lot::{Mutex, RwLock};
use serde_json::{Map, Value};

use crate::instance::{keep_unreadable, write_durably};
pub use lamina_base::options::Feature;

const FILE: &str = "experimental-features.json";

type Switches = [bool; Feature::ALL.len()];

/// The switches of a server and the file that remembers them.
#[derive(Debug)]
pub struct Features {
    path: PathBuf,
    on: RwLock<Switches>,
    /// Held while the file is written, so that the file ends up with the last change.
    writing: Mutex<()>,
}

impl Features {
    /// Reads the switches from the database folder. A file that can't be read leaves everything off, and says so: the
    /// features are extras, and no reason not to start.
    ///
    /// `presets` are on whatever the file says; they can be turned off until the next start.
    pub fn open(folder: &Path, presets: &[Feature]) -> Features {
        let path = folder.join(FILE);
        let mut on = match read(&path) {
            Ok(on) => on,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Switches::default(),
            Err(error) => {
                tracing::error!(path = %path.display(), %error, "cannot read the experimental features: they are off");
                keep_unreadable(folder, &path, &error);
                Switches::default()
            }
        };
        for preset in presets {
            on[*preset as usize] = true;
        }
        Features { path, on: RwLock::new(on), writing: Mutex::new(()) }
    }

    /// Reports whether a feature is on.
    pub fn is_on(&self, feature: Feature) -> bool {
        self.on.read()[feature as usize]
    }

    /// All switches as clients see them.
    pub fn show(&self) -> Map<String, Value> {
        shown(&self.on.read())
    }

    /// Takes the switches of the server that this one follows; those of `presets` stay on. Blocks until the file is durable.
    ///
    /// # Errors
    /// What the file system says; nothing changes then.
    pub fn follow(&self, switches: &Map<String, Value>, presets: &[Feature]) -> ApiResult<()> {
        let _one_at_a_time = self.writing.lock();
        let mut on = switches_of(switches);
        if on != *self.on.read() {
            write_durably(&self.path, &Value::Object(shown(&on)).to_string())?;
        }
        for preset in presets {
            on[*preset as usize] = true;
        }
        *self.on.write() = on;
        Ok(())
    }

    /// Turns the switches that `body` names; blocks until the file is durable.
    ///
    /// # Errors
    /// `bad_request`, or what the file system says; nothing changes then.
    pub fn change(&self, body: &Value) -> ApiResult<Map<String, Value>> {
        let names: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
        let _one_at_a_time = self.writing.lock();
        let mut on = *self.on.read();
        At::root(body).fields(&names, |name, field| {
            let feature =
                Feature::ALL.iter().find(|feature| feature.name() == name).expect("only known names come here");
            if let Some(switch) = field.optional(|field| field.boolean())? {
                on[*feature as usize] = switch;
            }
            Ok(())
        })?;
        let shown = shown(&on);
        if on != *self.on.read() {
            write_durably(&self.path, &Value::Object(shown.clone()).to_string())?;
            *self.on.write() = on;
        }
        Ok(shown)
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
    write_durably(&folder.join(FILE), &Value::Object(on).to_string())
}

fn shown(on: &Switches) -> Map<String, Value> {
    Feature::ALL.iter().map(|feature| (feature.name().to_owned(), on[*feature as usize].into())).collect()
}

fn read(path: &Path) -> io::Result<Switches> {
    Ok(switches_of(&serde_json::from_str(&fs::read_to_string(path)?)?))
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
        assert!(old.is_on(Feature::ContainsFilter) && old.is_on(Feature::LegacySearch));
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
    fn a_damaged_file_leaves_everything_off() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("experimental-features.json"), "{").unwrap();
        assert_eq!(Features::open(folder.path(), &[]).show().len(), 16);
        assert_eq!(
            fs::read_dir(folder.path().join("quarantine")).unwrap().count(),
            1,
            "kept, and written over by nothing"
        );
        assert!(!Features::open(folder.path(), &[]).is_on(Feature::Metrics));
    }
}
