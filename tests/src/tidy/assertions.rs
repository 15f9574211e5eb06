//! An assertion checks one fact: the failure of `assert!(a && b)` does not say which half was false.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{BinOp, Expr, Token, UnOp};

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
    arguments.first().is_some_and(|asserted| is_joined(asserted, true))
}

/// Reports whether an expression that has to be `truth` joins facts: as `a && b`, `!(a || b)`, or either of each element.
fn is_joined(asserted: &Expr, truth: bool) -> bool {
    match asserted {
        Expr::Binary(facts) if truth => matches!(facts.op, BinOp::And(_)),
        Expr::Binary(facts) => matches!(facts.op, BinOp::Or(_)),
        Expr::Paren(inner) => is_joined(&inner.expr, truth),
        Expr::Unary(not) if matches!(not.op, UnOp::Not(_)) => is_joined(&not.expr, !truth),
        Expr::MethodCall(call) => {
            let of_each = if truth { ["all", "is_sorted_by"] } else { ["any", "any"] };
            let each = call.args.first().filter(|_| of_each.iter().any(|name| call.method == name));
            matches!(each, Some(Expr::Closure(each)) if is_joined(&each.body, truth))
        }
        _ => false,
    }
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
    let text =
        "assert!(!(a || b));\nassert!(a.iter().all(|a| a.b && c));\nassert!(!a.any(|a| (b || c)));\nassert!((a && b));";
    assert_eq!(lines(text), [1, 2, 3, 4]);
    let one = "assert!(a || b && c); assert!(any(|a| a && b)); assert!(a.any(|a| b && c)); assert!(!(a && b)); \
               assert!(!a.all(|a| b && c)); let a = b && c;";
    assert_eq!(lines(one), [0; 0]);
}
