use lamina_base::error::Code;
use serde_json::{Value, json};

use super::*;

fn pin() -> Value {
    json!({"selector": {"id": "1"}, "action": {"type": "pin", "position": 0}})
}

#[test]
fn a_change_is_shown_as_it_was_understood() {
    let body = json!({
        "actions": [{"action": {"position": 4_294_967_295u32, "type": "pin"}, "selector": {"id": "8", "indexUid": null}}],
        "conditions": {
            "filter": {"values": {"price": 1.50, "a": [1, null, {"b": true}]}},
            "query": {"isEmpty": null, "words": null},
            "time": {"end": "2024-02-29T12:00:00.120000+02:00", "zone": 7, "start": null}
        },
        "active": null, "precedence": u64::MAX, "description": ""
    });
    let read = patch(&body).unwrap();
    let shown = serde_json::to_string(&read).unwrap();
    assert_eq!(
        shown,
        r#"{"description":"","precedence":18446744073709551615,"active":null,"conditions":{"time":{"end":"2024-02-29T12:00:00.12+02:00"},"query":{},"filter":{"values":{"price":1.5,"a":[1,null,{"b":true}]}}},"actions":[{"selector":{"id":"8"},"action":{"type":"pin","position":4294967295}}]}"#
    );
    let stored: RulePatch = serde_json::from_str(&shown).unwrap();
    assert_eq!(stored, read, "as tasks keep it");
    assert_eq!(serde_json::to_string(&patch(&json!({})).unwrap()).unwrap(), "{}");
    let nulls = json!({"description": null, "precedence": null, "active": null, "conditions": null, "actions": null});
    assert_eq!(serde_json::to_value(patch(&nulls).unwrap()).unwrap(), nulls);
}

#[test]
fn what_is_wrong_with_a_change_has_its_code() {
    use Code::*;
    let with = |place: &str, value: Value| {
        let mut pin = pin();
        *pin.pointer_mut(place).unwrap() = value;
        json!({ "actions": [pin] })
    };
    let extra = |place: &str| {
        let mut pin = pin();
        pin.pointer_mut(place).unwrap()["more"] = json!(1);
        json!({ "actions": [pin] })
    };
    let on = |condition: Value| json!({ "conditions": condition });
    for (body, code) in [
        (json!([]), BadRequest),
        (json!({"uid": "x"}), BadRequest),
        (json!({"lastUpdatedAt": "2024-01-01T00:00:00Z"}), BadRequest),
        (json!({"priority": 1}), BadRequest),
        (json!({"description": 1}), InvalidDynamicSearchRuleDescription),
        (json!({"precedence": -1}), InvalidDynamicSearchRulePriority),
        (json!({"precedence": 1.0}), InvalidDynamicSearchRulePriority),
        (json!({"active": "yes"}), InvalidDynamicSearchRuleActive),
        (on(json!([])), InvalidDynamicSearchRuleConditions),
        (on(json!({"place": {}})), InvalidDynamicSearchRuleConditions),
        (on(json!({"time": {"start": "2024-01-01"}})), InvalidDynamicSearchRuleConditions),
        (on(json!({"time": {"start": "2024-01-01T00:00:00"}})), InvalidDynamicSearchRuleConditions),
        (on(json!({"time": {"start": 1}})), InvalidDynamicSearchRuleConditions),
        (on(json!({"time": {"start": "2025-01-01T00:00:00Z", "end": "2024-01-01T00:00:00Z"}})), BadRequest),
        (on(json!({"query": {"contains": "a"}})), InvalidDynamicSearchRuleConditions),
        (on(json!({"query": {"words": 1}})), InvalidDynamicSearchRuleConditions),
        (on(json!({"query": {"isEmpty": true, "words": ""}})), BadRequest),
        (on(json!({"filter": {"values": null}})), InvalidDynamicSearchRuleConditions),
        (on(json!({"filter": {"values": []}})), InvalidDynamicSearchRuleConditions),
        (on(json!({"filter": {"value": {}}})), InvalidDynamicSearchRuleConditions),
        (json!({"actions": {}}), InvalidDynamicSearchRuleActions),
        (json!({"actions": [{}]}), InvalidDynamicSearchRuleActions),
        (json!({"actions": [{"selector": {"id": "1"}}]}), InvalidDynamicSearchRuleActions),
        (with("/selector", json!({})), InvalidDynamicSearchRuleActions),
        (with("/selector/id", json!(1)), InvalidDynamicSearchRuleActions),
        (with("/selector", json!({"id": "1", "indexUid": "a b"})), InvalidDynamicSearchRuleActions),
        (with("/action/type", json!("boost")), InvalidDynamicSearchRuleActions),
        (with("/action", json!({"position": 1})), InvalidDynamicSearchRuleActions),
        (with("/action", json!({"type": "pin"})), InvalidDynamicSearchRuleActions),
        (with("/action/position", json!(1.0)), InvalidDynamicSearchRuleActions),
        (with("/action/position", json!(4_294_967_296u64)), InvalidDynamicSearchRuleActions),
        (extra(""), InvalidDynamicSearchRuleActions),
        (extra("/selector"), InvalidDynamicSearchRuleActions),
        (extra("/action"), InvalidDynamicSearchRuleActions),
    ] {
        assert_eq!(patch(&body).expect_err(&body.to_string()).code, code, "{body}");
    }
    let same = json!({"conditions": {"time": {"start": "2024-01-01T00:00:00Z", "end": "2024-01-01T02:00:00+02:00"}}});
    assert!(patch(&same).is_ok(), "one instant");
    assert!(patch(&json!({"conditions": {"query": {"isEmpty": false, "words": "a"}}})).is_ok());
}

#[test]
fn lists_have_codes_of_their_own() {
    use Code::*;
    let all = ListBody { offset: 0, limit: 20, query: None, active: None };
    assert_eq!(list_body(&json!({})), Ok(all.clone()));
    let nulls = json!({"filter": {"query": null, "active": null}});
    assert_eq!((list_body(&nulls), list_body(&json!({"filter": null}))), (Ok(all.clone()), Ok(all)));
    let asked = json!({"offset": 1, "limit": 0, "filter": {"query": "a", "active": false}});
    let read = ListBody { offset: 1, limit: 0, query: Some("a".into()), active: Some(false) };
    assert_eq!(list_body(&asked), Ok(read));
    for (body, code) in [
        (json!({"sort": []}), BadRequest),
        (json!({"offset": null}), InvalidDynamicSearchRuleOffset),
        (json!({"limit": -1}), InvalidDynamicSearchRuleLimit),
        (json!({"filter": []}), InvalidDynamicSearchRuleFilter),
        (json!({"filter": {"uid": "a"}}), InvalidDynamicSearchRuleFilter),
        (json!({"filter": {"query": 1}}), InvalidDynamicSearchRuleFilterQuery),
        (json!({"filter": {"active": 1}}), InvalidDynamicSearchRuleFilterActive),
    ] {
        assert_eq!(list_body(&body).expect_err(&body.to_string()).code, code, "{body}");
    }
}

#[test]
fn uids_have_the_form_of_those_of_indexes() {
    assert_eq!(uid_in_path("A-b_%31"), Ok("A-b_1".into()));
    assert!(uid_in_path("no%20space").unwrap_err().starts_with("`no space` is not a valid index uid. Index uid"));
}
