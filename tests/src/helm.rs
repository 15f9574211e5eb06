//! The chart is one server with a disk, or what `packaging/kubernetes` is, with values. Rendered here: it uses little of what charts can.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::server::repository;

type Values = BTreeMap<String, String>;

fn packaging(path: &str) -> String {
    let path: PathBuf = repository().join("packaging").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// Reads the file of values, which has two levels in block style.
fn values() -> Values {
    let (mut values, mut group) = (Values::new(), String::new());
    for line in packaging("helm/values.yaml").lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("{line}"));
        let value = value.trim().trim_matches('"').to_owned();
        let is_alone = !name.starts_with(' ');
        if is_alone && value.is_empty() && !line.ends_with('"') {
            group = format!("{name}.");
        } else if is_alone {
            values.insert(name.to_owned(), value);
        } else {
            values.insert(format!("{group}{}", name.trim()), value);
        }
    }
    values
}

fn value_of<'a>(name: &str, values: &'a Values) -> &'a str {
    match name.strip_prefix(".Values.") {
        Some(name) => values.get(name).unwrap_or_else(|| panic!("no value `{name}`")),
        None => {
            assert_eq!(name, ".Release.Name");
            "lamina"
        }
    }
}

fn is_set(name: &str, values: &Values) -> bool {
    !["", "false", "{}"].contains(&value_of(name, values))
}

fn render(template: &str, values: &Values) -> String {
    let (mut text, mut rest, mut is_shown) = (String::new(), template, vec![true]);
    while let Some((before, after)) = rest.split_once("{{") {
        let (action, after) = after.split_once("}}").expect("an end of the action");
        let is_trimmed = action.starts_with('-');
        if is_shown.iter().all(|shown| *shown) {
            text.push_str(if is_trimmed { before.trim_end() } else { before });
        }
        rest = after;
        match action.trim_start_matches('-').trim().split(' ').collect::<Vec<_>>()[..] {
            ["end"] => drop(is_shown.pop()),
            ["if", name] => is_shown.push(is_set(name, values)),
            ["if", "not", name] => is_shown.push(!is_set(name, values)),
            _ if is_shown.contains(&false) => {}
            ["include", ..] => text.push_str("of what is included"),
            [name] => text.push_str(value_of(name, values)),
            [name, "|", "quote"] => text.push_str(&format!("\"{}\"", value_of(name, values))),
            _ => panic!("`{action}` is not known here"),
        }
    }
    assert_eq!(is_shown, [true], "each `if` has its end");
    text + rest
}

fn rendered(name: &str, values: &Values) -> String {
    render(&packaging(&format!("helm/templates/{name}")), values).trim().to_owned()
}

/// The values of a group of servers.
fn group() -> Values {
    let mut values = values();
    values.insert("group.enabled".to_owned(), "true".to_owned());
    values
}

#[test]
fn by_default_the_chart_is_one_server_with_a_disk() {
    let mut values = values();
    for name in ["members.yaml", "replicas.yaml", "secret.yaml", "ingress.yaml", "servicemonitor.yaml"] {
        assert_eq!(rendered(name, &values), "", "{name}");
    }
    let services = rendered("services.yaml", &values);
    assert_eq!(services.matches("kind: Service").count(), 1, "{services}");
    let config = rendered("config.yaml", &values);
    assert!(!config.contains("SVC_FOLLOW"), "{config}");
    let single = rendered("single.yaml", &values);
    assert!(single.contains("\n  replicas: 1\n"), "{single}");
    assert!(single.contains("resources: {requests: {storage: 50Gi}}"), "{single}");
    assert!(single.contains("{name: SVC_SCHEDULE_SNAPSHOT, value: \"86400\"}"), "{single}");
    assert_eq!(rendered("single.yaml", &group()), "");
    for (name, value) in [
        ("masterKey", "a-key-of-sixteen-bytes"),
        ("console", "true"),
        ("ingress.enabled", "true"),
        ("ingress.className", "nginx"),
        ("ingress.tlsSecret", "certificate"),
        ("serviceMonitor.enabled", "true"),
        ("single.snapshotSeconds", ""),
    ] {
        *values.get_mut(name).unwrap_or_else(|| panic!("no value `{name}`")) = value.to_owned();
    }
    assert!(rendered("secret.yaml", &values).ends_with("\n  master-key: \"a-key-of-sixteen-bytes\""));
    assert!(rendered("config.yaml", &values).ends_with("\n  SVC_CONSOLE: \"true\""));
    let ingress = rendered("ingress.yaml", &values);
    assert!(
        ingress.contains(
            "\n  ingressClassName: nginx\n  tls: [{hosts: [\"search.example.org\"], secretName: certificate}]\n"
        ),
        "{ingress}"
    );
    assert!(ingress.contains("backend: {service: {name: lamina, port: {name: http}}}"), "{ingress}");
    let monitor = rendered("servicemonitor.yaml", &values);
    assert!(monitor.contains("matchLabels: {app: lamina, part: service}"), "{monitor}");
    assert!(monitor.contains("authorization: {credentials: {name: lamina, key: master-key}}"), "{monitor}");
    assert!(!rendered("single.yaml", &values).contains("SNAPSHOT"));
}

#[test]
fn the_chart_renders_what_the_manifests_say() {
    let values = group();
    for name in ["members.yaml", "replicas.yaml", "services.yaml"] {
        let manifest = packaging(&format!("kubernetes/{name}"));
        // `kubectl` gives each content of the options a name of its own instead.
        let is_common = |line: &&str| !line.contains("checksum/config") && !line.contains("when their options change");
        let chart: Vec<String> = rendered(name, &values).lines().filter(is_common).map(str::to_owned).collect();
        assert_eq!(chart.join("\n").replace("image: lamina:latest", "image: lamina"), manifest.trim(), "{name}");
    }
    let config = rendered("config.yaml", &values);
    for line in packaging("kubernetes/lamina.env").lines() {
        let (name, value) = line.split_once('=').unwrap();
        assert!(config.contains(&format!("\n  {name}: \"{value}\"")), "{name}: {config}");
    }
}

#[test]
fn values_change_what_the_chart_renders() {
    let mut values = group();
    let changes = [
        ("replicas.forwardWrites", "true"),
        ("members.storageClass", "fast"),
        ("allowedNetworks", "10.0.0.0/8"),
        ("durability", "local"),
        ("members.count", "5"),
        ("secret", "other"),
    ];
    for (name, value) in changes {
        *values.get_mut(name).unwrap() = value.to_owned();
    }
    let (members, replicas) = (rendered("members.yaml", &values), rendered("replicas.yaml", &values));
    assert!(members.contains("\n        storageClassName: fast\n        resources:"), "{members}");
    assert!(members.contains("SVC_DURABILITY, value: local}"), "{members}");
    assert!(members.contains("\n  replicas: 5\n"), "{members}");
    assert!(members.contains("secretKeyRef: {name: other, key: master-key}"), "{members}");
    assert!(replicas.contains("\n            - {name: SVC_FORWARD_WRITES, value: \"true\"}\n"), "{replicas}");
    assert!(rendered("config.yaml", &values).ends_with("SVC_EXPERIMENTAL_ALLOWED_IP_NETWORKS: \"10.0.0.0/8\""));
    assert!(members.contains("SVC_S3_ACCESS_KEY"), "{members}");
    assert!(!members.contains("secretRef:"), "{members}");
    assert!(members.contains("      annotations: {checksum/config: \"of what is included\"}\n"), "{members}");
    for (name, value) in [("store.address", "az://search/films"), ("store.url", ""), ("store.environment", "azure")] {
        values.insert(name.to_owned(), value.to_owned());
    }
    let (members, config) = (rendered("members.yaml", &values), rendered("config.yaml", &values));
    assert!(members.contains("}, {secretRef: {name: azure}}]\n"), "{members}");
    assert!(!members.contains("S3"), "{members}");
    assert!(config.contains("\n  SVC_FOLLOW: \"az://search/films\"\n"), "{config}");
    assert!(!config.contains("S3"), "{config}");
    values.insert("replicas.enabled".to_owned(), "false".to_owned());
    assert_eq!(rendered("replicas.yaml", &values), "");
}
