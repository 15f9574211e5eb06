//! The sections of `docs/reference/settings.md`, written from the list of settings.

use lamina_engine::index::Settings;
use lamina_engine::index::settings::SettingId;
use serde_json::Value;

use super::kind::{SettingKind, WriteVerb};
use super::{merged, read};
use crate::wire::capitalised;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/settings.md");
const START: &str = "<!-- made from the list of settings -->\n";
const END: &str = "<!-- until here -->\n";

/// Returns a section for each setting, whose heading is its name.
fn sections() -> String {
    let mut sections = String::new();
    let default = Settings::default();
    for kind in SettingKind::all() {
        let verb = if kind.verb() == WriteVerb::Put { "PUT" } else { "PATCH" };
        let value = (kind.shown)(kind.written(&default));
        sections.push_str(&format!(
            "\n### {}\n\n{}.\n\n| | |\n|---|---|\n| Type | {} |\n| Default | `{value}` |\n| Example | `{}` |\n\
             | Route | `{verb} /indexes/{{uid}}/settings/{}` |\n| Cost of a change | {} |\n",
            kind.key,
            capitalised(kind.reference.purpose),
            kind.reference.value,
            kind.reference.example,
            kind.route,
            kind.cost(),
        ));
    }
    sections
}

/// Run with UPDATE=1 to write the sections again.
#[test]
fn the_page_of_settings_has_all_of_them() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (head, rest) = page.split_once(START).expect("the start of the sections");
    let (_, tail) = rest.split_once(END).expect("the end of the sections");
    let expected = format!("{head}{START}{}{END}{tail}", sections());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PAGE, &expected).unwrap();
    }
    let page = std::fs::read_to_string(PAGE).unwrap();
    assert!(page == expected, "run `UPDATE=1 cargo test -p lamina-protocol the_page_of_settings_has_all_of_them`");
}

/// Examples are accepted, change something, and come back as they were sent, with what was left out.
#[test]
fn examples_are_values() {
    for kind in SettingKind::all() {
        let example: Value =
            serde_json::from_str(kind.reference.example).unwrap_or_else(|error| panic!("{}: {error}", kind.key));
        let patch = read(&serde_json::json!({ kind.key: example })).unwrap_or_else(|error| panic!("{}", error.message));
        assert_eq!(patch, kind.read(&example).unwrap());
        let settings = merged(&Settings::default(), &patch).unwrap();
        let written = kind.written(&settings);
        assert_ne!(written, kind.written(&Settings::default()), "{}", kind.key);
        assert_eq!(
            kind.read(&written).map(|patch| Settings::default().patched(&patch)),
            Ok(Ok(settings)),
            "{}",
            kind.key
        );
        assert!(!kind.reference.purpose.is_empty(), "{}", kind.key);
        assert!(!kind.reference.value.is_empty(), "{}", kind.key);
    }
}

#[test]
fn every_setting_of_the_engine_has_its_own_names() {
    let kinds: Vec<&SettingKind> = SettingKind::all().collect();
    assert!(kinds.iter().map(|kind| kind.id).eq(SettingId::ALL.iter().copied()));
    for (place, kind) in kinds.iter().enumerate() {
        for other in &kinds[..place] {
            assert!(kind.key != other.key, "{}", kind.key);
            assert!(kind.route != other.route, "{}", kind.key);
            assert!(kind.code != other.code, "{}", kind.key);
        }
    }
}
