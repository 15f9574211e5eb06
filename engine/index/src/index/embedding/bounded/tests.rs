//! Templates that want more than they get. Each ends quickly, with a sentence about the limit.

use std::time::{Duration, Instant};

use liquid_core::model::{Object, Value};

use super::*;

const TEXT: &str = "a text of some length, <b>with</b> words & marks";

fn render(source: &str) -> Result<String, TemplateError> {
    let mut doc = Object::new();
    doc.insert("text".into(), Value::scalar(TEXT));
    doc.insert("long".into(), Value::scalar("x".repeat(100_000)));
    doc.insert("tags".into(), Value::Array((0..3_000).map(|tag| Value::scalar(format!("tag {tag}"))).collect()));
    let mut globals = Object::new();
    globals.insert("doc".into(), Value::Object(doc));
    Program::parse(source)?.render(&globals, &Allowance::for_input(200_000), Keep::First(400))
}

fn doubled(filter: &str, times: usize) -> String {
    format!("{{% assign a = doc.text %}}{}{{{{ a | size }}}}", format!("{{% assign a = a | {filter} %}}").repeat(times))
}

/// With the word that its message names, or what else may be said of it.
fn attacks() -> Vec<(&'static str, String, &'static str)> {
    let nested = |begin: &str, end: &str, times: usize| format!("{}x{}", begin.repeat(times), end.repeat(times));
    let loops = |head: &str| format!("{}{}", head.repeat(3), "{% endfor %}".repeat(3));
    vec![
        ("blocks in blocks", nested("{% if doc %}", "{% endif %}", 1_500), "nested"),
        ("blocks that are never closed", "{% if doc %}".repeat(1_500), "nested"),
        ("blocks in a comment", nested("{% comment %}{% if doc %}", "{% endif %}{% endcomment %}", 700), "nested"),
        ("other blocks", nested("{% unless doc %}", "{% endunless %}", 100), "nested"),
        ("cases in cases", nested("{% case doc %}{% when 1 %}", "{% endcase %}", 200), "nested"),
        ("captures in captures", nested("{% capture a %}", "{% endcapture %}", 200), "nested"),
        ("a chain of conditions", format!("{{% if doc{} %}}x{{% endif %}}", " and doc".repeat(7_000)), "`and`"),
        ("a long chain of conditions", format!("{{% if doc{} %}}x{{% endif %}}", " and doc".repeat(20_000)), "bytes"),
        ("a chain of branches", format!("{{% if doc %}}{}{{% endif %}}", "{% elsif doc %}".repeat(4_000)), "`elsif`"),
        ("brackets in brackets", format!("{{{{ {}doc{} }}}}", "doc[".repeat(5_000), "]".repeat(5_000)), "brackets"),
        ("brackets that are never closed", format!("{{{{ {}", "a[".repeat(30_000)), "brackets"),
        ("many filters", format!("{{{{ doc.text{} }}}}", " | upcase".repeat(100_000)), "bytes"),
        ("many indexes", format!("{{{{ doc{} }}}}", ".a".repeat(100_000)), "bytes"),
        ("a long path", format!("{{{{ doc{} }}}}", ".a".repeat(30_000)), "dots"),
        (
            "a long path in pieces",
            format!("{{{{ doc{} }}}}", format!("{}['}}}}']", "._".repeat(100)).repeat(200)),
            "dots",
        ),
        ("long paths in conditions", format!("{{% if doc{} %}}{{% endif %}}", ".-".repeat(20_000)), "dots"),
        ("blanks", format!("{{{{ doc.text }}}}{}", " ".repeat(60_000)), "blanks"),
        ("line ends", "\n".repeat(60_000), "line ends"),
        ("a huge text", "x".repeat(10 << 20), "bytes"),
        ("a huge range", "{% for i in (1..3000000000) %}{{ i }}{% endfor %}".to_owned(), "steps"),
        ("the widest range", format!("{{% for i in ({}..{}) %}}{{% endfor %}}", i64::MIN, i64::MAX), "steps"),
        ("loops in loops", loops("{% for i in (1..10000) %}"), "steps"),
        (
            "empty tags in a loop",
            format!("{{% for i in (1..1000000) %}}{}{{% endfor %}}", "{{''}}".repeat(9_000)),
            "steps",
        ),
        ("cycles", loops("{% for i in (1..10000) %}{% cycle 'a', 'b' %}"), "steps"),
    ]
}

/// Returns templates that make long texts of short ones.
fn growth() -> Vec<(&'static str, String, &'static str)> {
    vec![
        ("doubling by append", doubled("append: a", 40), "bytes"),
        ("doubling by prepend", doubled("prepend: a", 40), "bytes"),
        ("doubling by replace", doubled("replace: '', a", 10), "bytes"),
        ("doubling by join", doubled("split: '' | join: a", 10), "bytes"),
        (
            "doubling by concat",
            format!("{{% assign l = doc.tags %}}{}", "{% assign l = l | concat: l %}".repeat(40)),
            "bytes",
        ),
        (
            "doubling by capture",
            "{% capture a %}{{ a }}{{ a }}x{% endcapture %}".repeat(40).replacen("{{ a }}", "", 2),
            "bytes",
        ),
        (
            "a capture in a loop",
            format!(
                "{{% capture a %}}{{% for i in (1..100000) %}}{}{{% endfor %}}{{% endcapture %}}",
                "x".repeat(60_000)
            ),
            "bytes",
        ),
        ("text in a loop", format!("{{% for i in (1..100000) %}}{}{{% endfor %}}", "x".repeat(60_000)), "bytes"),
        (
            "filters in a loop",
            "{% for i in (1..100000) %}{{ doc.long | strip_html | size }}{% endfor %}".to_owned(),
            "bytes",
        ),
        (
            "comparisons in a loop",
            "{% for i in (1..100000) %}{% if doc.tags == doc.tags %}{% endif %}{% endfor %}".to_owned(),
            "bytes",
        ),
        ("quadratic filters", "{% assign l = doc.tags | concat: doc.tags %}{{ l | uniq | size }}".to_owned(), "bytes"),
        ("wide dates", "{{ '2020-01-01 00:00:00 +0000' | date: '%9999999999Y' }}".to_owned(), "bytes"),
    ]
}

#[test]
fn hostile_templates_end_with_a_word_on_the_limit() {
    let mut survived = Vec::new();
    for (name, source, word) in attacks().into_iter().chain(growth()) {
        let begun = Instant::now();
        let found = render(&source);
        let is_named = matches!(&found, Err(TemplateError::Limit(limit)) if limit.to_string().contains(word));
        if !is_named || begun.elapsed() > Duration::from_secs(20) {
            survived.push((name, found.map(|text| text.len()), begun.elapsed()));
        }
    }
    assert_eq!(survived, []);
}

#[test]
fn what_the_library_panics_at_is_an_error() {
    for source in ["{{ 99999999999999999999 }}", "{{ 1 | divided_by: 0 }}"] {
        assert!(matches!(render(source), Err(TemplateError::Wrong(_))), "{source}");
    }
    for source in
        ["{% raw %}{{ a", "{% comment %}", "{{ 'a", "{% include 'x' %}", "{% render 'x' %}", "{{ a | nothing }}"]
    {
        assert!(matches!(render(source), Err(TemplateError::Wrong(_))), "{source}");
    }
}

#[test]
fn tags_that_are_not_offered_are_refused_by_name() {
    for tag in ["tablerow", "ifchanged"] {
        let refused = render(&format!("{{% {tag} %}}{{% end{tag} %}}"));
        assert!(matches!(&refused, Err(TemplateError::Wrong(message)) if message.contains(tag)), "{refused:?}");
    }
}

#[test]
fn what_is_usual_is_far_from_the_limits() {
    let nested = format!("{}x{}", "{% if doc %}".repeat(60), "{% endif %}".repeat(60));
    let chain = format!("{{% if doc{} %}}x{{% endif %}}", " and doc.text".repeat(400));
    let brackets = format!("{{% assign a = 'text' %}}{{{{ doc[a] | truncate: 1, '' }}}}{}", "[".repeat(400));
    for (source, expected) in [
        (nested.as_str(), "x"),
        (chain.as_str(), "x"),
        (&brackets[..], &format!("a{}", "[".repeat(399))),
        ("{% for i in (1..3000000000) limit:2 %}{{ i }}{{ forloop.last }} {% endfor %}", "1false 2true "),
        ("{% for i in (1..9) reversed limit:3 offset:2 %}{{ i }}{% endfor %}", "543"),
        ("{% for i in (1..0) %}{% else %}none{% endfor %}", "none"),
        (
            "{% for a in (1..2) %}{% for b in (1..2) %}{{ forloop.parentloop.index }}{{ b }} {% endfor %}{% endfor %}",
            "11 12 21 22 ",
        ),
        (
            "{% for i in (1..9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}",
            "13",
        ),
        ("{% capture c %}{{ doc.text | upcase | truncate: 9 }}{% endcapture %}{{ c }}{{ c | size }}", "A TEXT...9"),
        ("{% increment n %}{% increment n %}{{ doc.tags | uniq | size }}", "013000"),
        (
            "{{ doc.tags | sort | reverse | first }} {{ doc.text | escape | replace: 'a', 'b' | slice: 0, 6 }}",
            "tag 999 b text",
        ),
    ] {
        assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
    }
    assert_eq!(render("{{ doc.long | escape }}").map(|text| text.len()), Ok(400));
    assert_eq!(
        render("{% for tag in doc.tags %}{{ tag | upcase | append: '!' }}{% endfor %}").map(|text| text.len()),
        Ok(400)
    );
}

/// A large document costs more, and may.
#[test]
fn large_documents_are_rendered() {
    let mut doc = Object::new();
    for field in 0..2_000 {
        doc.insert(format!("field {field}").into(), Value::scalar("x".repeat(20_000)));
    }
    let fields = doc.iter().map(|(name, value)| {
        let mut field = Object::new();
        field.insert("name".into(), Value::scalar(name.clone()));
        field.insert("is_searchable".into(), Value::scalar(true));
        field.insert("value".into(), value.clone());
        Value::Object(field)
    });
    let fields = fields.collect();
    let mut globals = Object::new();
    globals.insert("fields".into(), Value::Array(fields));
    globals.insert("doc".into(), Value::Object(doc));
    for source in [crate::index::settings::DEFAULT_TEMPLATE, "{{ doc }}", "{{ doc['field 1'] | escape | strip_html }}"]
    {
        let text =
            Program::parse(source).unwrap().render(&globals, &Allowance::for_input(2_000 * 20_000), Keep::First(400));
        assert_eq!(text.map(|text| text.len()), Ok(400), "{source}");
    }
}
