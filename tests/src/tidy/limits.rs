//! How large a file and a function may be, and how many things a function may be given.

use syn::spanned::Spanned;
use syn::visit::Visit;

use super::{none, sources};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 60;
const PARAMETERS_MAX: usize = 6;

/// Files that are longer still. This list may only shrink.
const LONG_FILES: &[&str] = &[];

/// Functions that are longer still. This list may only shrink.
const LONG_FUNCTIONS: &[(&str, &str)] = &[
    ("benches/src/bin/neighbours.rs", "main"),
    ("benches/suites/segment.rs", "segment"),
    ("server/src/engine_errors/filter.rs", "write_sentence"),
    ("engine/src/index/embedding/bounded/tests.rs", "attacks"),
    ("engine/src/index/repair/rebuild.rs", "write"),
    ("engine/src/index/transaction/vectors/adapt.rs", "document"),
    ("engine/src/query/graph.rs", "node"),
    ("engine/src/query/parser.rs", "parse_query"),
    ("engine/src/rank/scan.rs", "docs"),
    ("engine/src/search/explain.rs", "matches_in"),
    ("engine/src/search/hybrid.rs", "search_hybrid"),
    ("engine/src/search/semantic.rs", "search_by_vectors"),
    ("engine/src/search/word_tests.rs", "check"),
    ("engine/src/segment/damage_tests.rs", "use_everything"),
    ("engine/src/segment/merge/text.rs", "merge_terms"),
    ("engine/src/segment/postings/list/writer.rs", "put"),
    ("engine/src/segment/reader.rs", "open"),
    ("engine/src/segment/tests/text.rs", "check_text"),
    ("engine/src/segment/tests/values.rs", "check_column"),
    ("engine/src/segment/verify.rs", "agree_with_tokens"),
    ("engine/src/segment/writer/mod.rs", "write"),
    ("engine/tests/oracle/naive.rs", "evaluate"),
    ("engine/tests/oracle/naive.rs", "expected"),
    ("engine/tests/questions/main.rs", "expected"),
    ("engine/tests/questions/main.rs", "check"),
    ("server/src/embedders/call.rs", "send"),
    ("server/src/http/listen.rs", "serve"),
    ("server/src/import/split/json.rs", "elements"),
    ("server/src/network/remote.rs", "ask"),
    ("server/src/command_line/tests.rs", "bad_numbers_are_refused_with_the_option_and_what_it_takes"),
    ("server/src/routes/openapi/answers.rs", "tasks"),
    ("server/src/routes/openapi/answers.rs", "resources"),
    ("server/src/routes/openapi/bodies.rs", "body_of"),
    ("server/src/routes/openapi/describe.rs", "describe"),
    ("server/src/routes/openapi/searches.rs", "answers"),
    ("server/src/run.rs", "serve"),
    ("server/src/search/federation/mod.rs", "around"),
    ("server/src/search/similar.rs", "run_similar"),
    ("server/src/telemetry/facts.rs", "add_to"),
    ("server/src/wire/search/body.rs", "read_field"),
    ("server/src/wire/search/parameters.rs", "read_parameter"),
    ("server/src/wire/search/written.rs", "as_federated_query"),
    ("server/src/wire/settings/tests.rs", "embedders"),
    ("server/src/worker/batch.rs", "fmt"),
    ("tests/src/backups/dumps.rs", "dumps_of_other_programs_are_read"),
    ("tests/src/command_line.rs", "help_and_version"),
    ("tests/src/embedders/fragments.rs", "documents_and_queries_can_be_fragments"),
    ("tests/src/keys.rs", "every_route_needs_its_action_and_no_other"),
    ("tests/src/kills.rs", "during_cancelations"),
    ("tests/src/telemetry.rs", "figures_are_sent_and_nothing_that_was_stored_or_asked_for"),
];

/// Functions that are given more still. This list may only shrink.
const MANY_PARAMETERS: &[(&str, &str)] = &[
    ("engine/src/index/repair/rebuild.rs", "write"),
    ("engine/src/index/transaction/vectors/document_vectors.rs", "settle_supplied"),
    ("engine/src/index/transaction/vectors/document_vectors.rs", "settle_unnamed"),
    ("engine/src/rank/bounds.rs", "cut_by_costs"),
    ("engine/src/segment/store/reader.rs", "open"),
    ("engine/tests/oracle/naive.rs", "evaluate"),
    ("engine/tests/oracle/naive.rs", "expected"),
    ("server/src/network/remote.rs", "multi_search"),
    ("server/src/network/remote.rs", "ask"),
    ("server/src/search/federation/mod.rs", "around"),
];

/// A function of a file.
struct Function {
    name: String,
    lines: usize,
    parameters: usize,
}

#[derive(Default)]
struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let lines = body.span().end().line - signature.span().start().line + 1;
        self.0.push(Function { name: signature.ident.to_string(), lines, parameters: signature.inputs.len() });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig, body);
        }
        syn::visit::visit_trait_item_fn(self, function);
    }
}

fn functions(text: &str) -> Vec<Function> {
    let mut functions = Functions::default();
    functions.visit_file(&syn::parse_file(text).expect("Rust"));
    functions.0
}

#[test]
fn files_have_one_concern() {
    let mut violations = Vec::new();
    let mut exceptions = LONG_FILES.to_vec();
    for source in sources("rs") {
        let lines = source.text.lines().count();
        let exception = exceptions.iter().position(|path| *path == source.path);
        match (lines > FILE_LINES_MAX, exception) {
            (true, None) => {
                violations.push(format!("{}: {lines} lines; look for the second responsibility", source.path));
            }
            (true, Some(place)) => drop(exceptions.remove(place)),
            (false, _) => {}
        }
    }
    violations.extend(exceptions.iter().map(|path| format!("{path} is no exception any more: take it from the list")));
    none(violations);
}

#[test]
fn functions_fit_on_a_screen() {
    let mut violations = Vec::new();
    let (mut long, mut given) = (LONG_FUNCTIONS.to_vec(), MANY_PARAMETERS.to_vec());
    let mut check = |exceptions: &mut Vec<(&str, &str)>, path: &str, name: &str, what: String| {
        let exception = exceptions.iter().position(|exception| *exception == (path, name));
        match exception {
            Some(place) => drop(exceptions.remove(place)),
            None => violations.push(format!("{path}: `{name}` has {what}")),
        }
    };
    for source in sources("rs") {
        for Function { name, lines, parameters } in functions(&source.text) {
            if lines > FUNCTION_LINES_MAX {
                check(&mut long, &source.path, &name, format!("{lines} lines"));
            }
            if parameters > PARAMETERS_MAX {
                check(&mut given, &source.path, &name, format!("{parameters} parameters"));
            }
        }
    }
    let left = long.iter().chain(&given);
    violations
        .extend(left.map(|(path, name)| format!("{path}: `{name}` is no exception any more: take it from the list")));
    none(violations);
}

#[test]
fn functions_are_measured_with_their_signature() {
    let text = "trait T {\n    fn a(&self, b: u8) {\n        b;\n    }\n    fn c();\n}\nfn d() { fn e() {} }\n";
    let found: Vec<_> = functions(text).into_iter().map(|f| (f.name, f.lines, f.parameters)).collect();
    assert_eq!(found, [("a".to_owned(), 3, 2), ("d".to_owned(), 1, 0), ("e".to_owned(), 1, 0)]);
}
