//! How large a file and a function may be, and how many things a function may be given.

use syn::spanned::Spanned;
use syn::visit::Visit;

use super::{none, sources};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 60;
/// Seven, as Clippy has it: below that, tuples were made of what does not belong together.
const PARAMETERS_MAX: usize = 7;

/// A function of a file.
struct Function {
    name: String,
    lines: usize,
    parameters: usize,
}

#[derive(Default)]
struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, signature: &syn::Signature, body: Option<&syn::Block>) {
        let end = body.map_or_else(|| signature.span(), |body| body.span()).end();
        let lines = end.line - signature.span().start().line + 1;
        self.0.push(Function { name: signature.ident.to_string(), lines, parameters: signature.inputs.len() });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, Some(&function.block));
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, Some(&function.block));
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.add(&function.sig, function.default.as_ref());
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
    for source in sources("rs") {
        let lines = source.text.lines().count();
        if lines > FILE_LINES_MAX {
            violations.push(format!("{}: {lines} lines; look for the second responsibility", source.path));
        }
    }
    none(violations);
}

#[test]
fn functions_fit_on_a_screen() {
    let mut violations = Vec::new();
    for source in sources("rs") {
        for Function { name, lines, parameters } in functions(&source.text) {
            if lines > FUNCTION_LINES_MAX {
                violations.push(format!("{}: `{name}` has {lines} lines", source.path));
            }
            if parameters > PARAMETERS_MAX {
                violations.push(format!("{}: `{name}` has {parameters} parameters", source.path));
            }
        }
    }
    none(violations);
}

#[test]
fn functions_are_measured_with_their_signature() {
    let text = "trait T {\n    fn a(&self, b: u8) {\n        b;\n    }\n    fn c();\n}\nfn d() { fn e() {} }\n";
    let found: Vec<_> = functions(text).into_iter().map(|f| (f.name, f.lines, f.parameters)).collect();
    assert_eq!(found, [("a".to_owned(), 3, 2), ("c".to_owned(), 1, 0), ("d".to_owned(), 1, 0), ("e".to_owned(), 1, 0)]);
}
