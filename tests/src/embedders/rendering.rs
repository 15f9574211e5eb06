//! `/render-template`: templates and fragments rendered for one document or query.

use super::*;
use crate::keys::{MASTER, ask, finish, make, start, value};

/// A server with the switch on, an index with a template and one with fragments.
fn prepared(model: &Model) -> Server {
    let server = Server::with_options(&LOCAL);
    server.patch("/experimental-features", json!({"renderRoute": true, "multimodal": true})).ok();
    server.add("pets", json!([{"id": 1, "name": "Tom", "kind": "cat"}, {"id": 2, "kind": "dog"}]));
    let vectors = json!({"input": ["{{fragment}}", "{{..}}"]});
    let fragments = json!({
        "source": "rest", "url": model.url, "dimensions": 2, "request": vectors,
        "response": {"vectors": ["{{embedding}}", "{{..}}"]},
        "indexingFragments": {"name": {"value": {"text": "{{ doc.name }}"}}},
        "searchFragments": {"like": {"value": {"text": "a {{ media.animal }}"}}}
    });
    let own = json!({"source": "userProvided", "dimensions": 1});
    let text = json!({
        "source": "rest", "url": model.url, "dimensions": 2, "request": {"input": ["{{text}}", "{{..}}"]},
        "response": {"vectors": ["{{embedding}}", "{{..}}"]},
        "documentTemplate": "a {{ doc.kind }}: {{ fields[0].value }}", "documentTemplateMaxBytes": 6,
    });
    server.set("pets", json!({"embedders": {"f": fragments, "t": text, "own": own}, "searchableAttributes": ["kind"]}));
    server
}

#[test]
fn templates_are_rendered_as_they_will_be_embedded() {
    let model = Model::start();
    let server = Server::with_options(&LOCAL);
    server.post("/render-template", json!({})).refused(400, "feature_not_enabled");
    let server = prepared(&model);
    let render = |template: Value, input: Value| {
        server.post("/render-template", json!({"template": template, "input": input})).ok()
    };
    let one = || json!({"kind": "indexDocument", "indexUid": "pets", "id": "1"});
    let of_index = json!({"kind": "documentTemplate", "indexUid": "pets", "embedder": "t"});
    let source = "a {{ doc.kind }}: {{ fields[0].value }}";
    assert_eq!(render(of_index.clone(), one()), json!({"template": source, "rendered": "a cat:"}), "cut to six bytes");
    assert_eq!(render(of_index.clone(), Value::Null), json!({"template": source, "rendered": null}));
    let inline = json!({"kind": "inlineDocument", "inline": {"id": "x", "kind": "ox"}});
    assert_eq!(render(of_index, inline.clone())["rendered"], "a ox: ");

    let text = json!({"kind": "inlineDocumentTemplate", "inline": "{{ doc.kind | upcase }}"});
    assert_eq!(render(text.clone(), one())["rendered"], "CAT");
    assert_eq!(render(text, inline.clone())["rendered"], "OX");
    // Only what is searchable in the index of the document.
    let chat = json!({"kind": "chatDocumentTemplate", "indexUid": "pets"});
    assert_eq!(render(chat, one())["rendered"], "kind: cat\n");

    let fragment =
        |kind: &str, name: &str| json!({"kind": kind, "indexUid": "pets", "embedder": "f", "fragment": name});
    assert_eq!(
        render(fragment("indexingFragment", "name"), one()),
        json!({"template": {"text": "{{ doc.name }}"}, "rendered": {"text": "Tom"}})
    );
    let search = json!({"kind": "inlineSearch", "inline": {"q": "x", "media": {"animal": "newt"}}});
    assert_eq!(render(fragment("searchFragment", "like"), search.clone())["rendered"], json!({"text": "a newt"}));
    let any = json!({"kind": "inlineFragment", "inline": [1, "{{ q }}"]});
    assert_eq!(render(any, search)["rendered"], json!([1, "x"]));
    let any = json!({"kind": "inlineFragment", "inline": "{{ doc.kind }}"});
    assert_eq!(render(any, inline)["rendered"], "ox");
}

#[test]
fn what_cannot_be_rendered_is_refused() {
    let model = Model::start();
    let server = prepared(&model);
    let text = |text: &str| json!({"kind": "inlineDocumentTemplate", "inline": text});
    let from = |index: &str, id: &str| json!({"kind": "indexDocument", "indexUid": index, "id": id});
    let of = |embedder: &str| json!({"kind": "documentTemplate", "indexUid": "pets", "embedder": embedder});
    let fragment = |kind: &str| json!({"kind": kind, "indexUid": "pets", "embedder": "f", "fragment": "name"});
    let search = json!({"kind": "inlineSearch", "inline": {"q": "x"}});
    let endless = "{% for i in (1..3000000000) %}x{% endfor %}";
    for (template, input, status, code) in [
        (text("{{ doc.name }}"), from("pets", "3"), 404, "render_document_not_found"),
        (text("{{ doc.name }}"), from("none", "1"), 404, "index_not_found"),
        (text("{{ doc.name }}"), from("pets", "2"), 400, "template_rendering_error"),
        (text("{{ doc."), from("pets", "2"), 400, "template_parsing_error"),
        (text("{{ title }}"), from("pets", "2"), 400, "template_parsing_error"),
        (text(endless), from("pets", "2"), 400, "template_parsing_error"),
        (json!({"kind": "inlineFragment", "inline": endless}), from("pets", "2"), 400, "template_rendering_error"),
        (text("{{ doc.name }}"), search.clone(), 400, "invalid_render_input"),
        (fragment("indexingFragment"), search, 400, "invalid_render_input"),
        (fragment("searchFragment"), Value::Null, 400, "invalid_render_template"),
        (of("none"), Value::Null, 400, "invalid_render_template"),
        (of("own"), Value::Null, 400, "invalid_render_template"),
        (of("f"), Value::Null, 400, "invalid_render_template"),
        (json!({"kind": "chatDocumentTemplate", "indexUid": "none"}), Value::Null, 404, "index_not_found"),
    ] {
        let answer = server.post("/render-template", json!({"template": template, "input": input}));
        answer.refused(status, code);
    }
    assert_eq!(server.get("/health").ok(), json!({"status": "available"}));
}

#[test]
fn keys_render_what_they_may_read() {
    let server = start(&[]);
    ask(&server, MASTER, "PATCH", "/experimental-features", &json!({"renderRoute": true})).ok();
    for uid in ["mine", "other"] {
        let path = format!("/indexes/{uid}/documents");
        finish(&server, &ask(&server, MASTER, "POST", &path, &json!([{"id": 1, "title": "Dune"}])));
    }
    let both = value(&make(&server, &["settings.get", "documents.get"], &["mine"]));
    let body = |uid: &str| {
        json!({
            "template": {"kind": "inlineDocumentTemplate", "inline": "{{ doc.title }}"},
            "input": {"kind": "indexDocument", "indexUid": uid, "id": "1"},
        })
    };
    assert_eq!(ask(&server, &both, "POST", "/render-template", &body("mine")).ok()["rendered"], "Dune");
    ask(&server, &both, "POST", "/render-template", &body("other")).refused(403, "invalid_api_key");
    for action in ["settings.get", "documents.get", "search"] {
        let one = value(&make(&server, &[action], &["*"]));
        ask(&server, &one, "POST", "/render-template", &body("mine")).refused(403, "invalid_api_key");
    }
}
