//! A setting stands in two files: its row in the engine's list, and its declaration on the wire.

use super::{none, sources};

const ENGINE_LIST: &str = "engine/index/src/index/settings/list.rs";
const WIRE: &str = "server/protocol/src/wire/settings/";

/// Names of settings in code that acts on them, or that means something else by the word.
const ELSEWHERE: [(&str, &[&str]); 15] = [
    // Examples of bodies, and tools of MCP.
    ("searchableAttributes", &["server/src/api/settings.rs", "server/client/src/evaluate/tune/space.rs"]),
    (
        "filterableAttributes",
        &[
            "server/src/api/settings.rs",
            "server/protocol/src/mcp/fields.rs",
            // Commands that refusals advise, and the settings of the sample.
            "server/base/src/engine_errors/sentence.rs",
            "server/src/api/sample.rs",
        ],
    ),
    (
        "sortableAttributes",
        &[
            "server/src/api/settings.rs",
            "server/protocol/src/mcp/fields.rs",
            "server/base/src/engine_errors/sentence.rs",
            "server/src/api/sample.rs",
        ],
    ),
    ("synonyms", &["server/src/api/settings.rs"]),
    ("searchCutoffMs", &["server/base/src/engine_errors/search.rs"]),
    ("facetSearch", &["server/protocol/src/wire/settings/parts.rs", "server/src/api/fields.rs"]),
    ("foreignKeys", &["server/base/src/options/feature.rs"]),
    ("bm25", &["engine/src/rank/bm25/mod.rs", "server/src/answer/search/details.rs"]),
    // Settings whose values are tried.
    ("rankingRules", &["server/client/src/evaluate/tune/space.rs"]),
    ("typoTolerance", &["server/client/src/evaluate/tune/space.rs"]),
    ("searchableAttributesWeights", &["server/client/src/evaluate/tune/space.rs"]),
    // Configurations with secrets, which not every server has.
    (
        "embedders",
        &[
            "server/cli/src/build.rs",
            "server/client/src/commands/settings.rs",
            "server/client/src/evaluate/tune/space.rs",
            "server/protocol/src/mcp/fields.rs",
            "server/protocol/src/wire/settings/bounds.rs",
            "server/protocol/src/wire/settings/secrets.rs",
            "server/src/work/export/negotiation.rs",
            "server/src/work/worker/run/embedding.rs",
        ],
    ),
    (
        "rerankers",
        &[
            "server/protocol/src/wire/settings/bounds.rs",
            "server/protocol/src/wire/settings/secrets.rs",
            "server/src/work/export/negotiation.rs",
        ],
    ),
    // Routes and parameters of the same name.
    (
        "completions",
        &[
            "server/src/answer/search/suggestions.rs",
            "server/src/api/openapi/searches.rs",
            "server/src/api/openapi/tags.rs",
        ],
    ),
    (
        "matchingStrategy",
        &[
            "server/client/src/evaluate/tune/space.rs",
            "server/protocol/src/mcp/tools.rs",
            "server/protocol/src/wire/search/parameters/matches.rs",
            "server/protocol/src/wire/settings/chat.rs",
        ],
    ),
];

#[test]
fn a_setting_stands_in_two_files() {
    let sources = sources("rs");
    let list = sources.iter().find(|source| source.path == ENGINE_LIST).expect("the list of the engine");
    // A row begins with `Id = "name", `.
    let names: Vec<&str> =
        list.code().filter_map(|(_, line)| line.split_once(" = \"")?.1.split_once("\", ")).map(|cut| cut.0).collect();
    assert!(names.len() > 20, "the list has rows: {names:?}");
    let mut wrong = Vec::new();
    for name in names {
        let quoted = format!("\"{name}\"");
        let elsewhere = ELSEWHERE.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, files)| *files);
        let production = sources.iter().filter(|source| !source.is_test());
        let mut files: Vec<&str> = production
            .filter(|source| source.path.starts_with("engine/") || source.path.starts_with("server/"))
            .filter(|source| source.code().any(|(_, line)| line.contains(&quoted)))
            .map(|source| source.path.as_str())
            .filter(|path| !elsewhere.contains(path))
            .collect();
        files.sort_unstable();
        let is_declared = matches!(files[..], [ENGINE_LIST, wire] if wire.starts_with(WIRE));
        if !is_declared {
            wrong.push(format!("`{name}` stands in {files:?}, and not in {ENGINE_LIST} and one file of {WIRE}"));
        }
    }
    none(wrong);
}
