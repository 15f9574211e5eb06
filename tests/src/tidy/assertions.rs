//! An assertion checks one fact: the failure of `assert!(a && b)` does not say which half was false.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{BinOp, Expr, Token};

use super::{none, sources};

const ASSERTIONS: [&str; 3] = ["assert", "debug_assert", "prop_assert"];

/// Lines of the assertions that join facts by `&&`, those inside other macros included.
fn joined(code: TokenStream) -> Vec<usize> {
    let trees: Vec<TokenTree> = code.into_iter().collect();
    let mut lines = Vec::new();
    for (i, tree) in trees.iter().enumerate() {
        let TokenTree::Group(group) = tree else { continue };
        let is_assertion = matches!(&trees[..i], [.., TokenTree::Ident(name), TokenTree::Punct(mark)]
            if mark.as_char() == '!' && ASSERTIONS.iter().any(|assertion| name == assertion));
        if is_assertion && joins(group.stream()) {
            lines.push(group.span_open().start().line);
        }
        lines.extend(joined(group.stream()));
    }
    lines
}

fn joins(arguments: TokenStream) -> bool {
    // The body of a `macro_rules` is no expression yet.
    let arguments = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(arguments).unwrap_or_default();
    matches!(arguments.first(), Some(Expr::Binary(facts)) if matches!(facts.op, BinOp::And(_)))
}

#[test]
fn an_assertion_checks_one_fact() {
    let mut violations = Vec::new();
    for source in sources("rs") {
        let lines = joined(source.text.parse().expect("Rust"));
        violations.extend(lines.iter().map(|line| format!("{}:{line}: an assertion for each fact", source.path)));
    }
    none(violations);
}

#[test]
fn joined_facts_are_found() {
    let lines = |text: &str| joined(text.parse().expect("Rust"));
    let text = "fn f() {\nassert!(a && b, \"{}\", c);\nproptest! { fn g(h in i) {\nprop_assert!(a == b && c); } }\n}";
    assert_eq!(lines(text), [2, 4]);
    assert!(lines("assert!(a || b && c); assert!(all(|a| a && b)); assert!(!(a && b)); let a = b && c;").is_empty());
}
