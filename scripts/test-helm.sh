#!/usr/bin/env bash
# Lints the Helm chart and renders it for one server and for groups, with Helm's own code, which a Python package contains. No cluster is asked
# whether it accepts the objects.
# usage: scripts/test-helm.sh
set -euo pipefail
cd "$(dirname "$0")/.."

work=$PWD/target/helm package=helm-python-sdk==0.2.2
if ! [[ -f $work/$package ]]; then
  rm -rf "$work"
  python3 -m venv "$work"
  "$work/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$package"
  touch "$work/$package"
fi
"$work/bin/python" - <<'CHECK'
import pathlib, re, sys
from helm_python.chart import Chart, lint

ONE = {"ConfigMap", "Service", "StatefulSet"}
GROUP = ONE | {"PodDisruptionBudget"}
REPLICAS = GROUP | {"Deployment", "HorizontalPodAutoscaler"}
KEY = {"masterKey": "0123456789abcdef"}
BESIDE = {"ingress": {"enabled": True, "tlsSecret": "tls"}, "serviceMonitor": {"enabled": True}, "console": True}
CASES = [
    ({}, ONE),
    (KEY, ONE | {"Secret"}),
    (KEY | BESIDE, ONE | {"Secret", "Ingress", "ServiceMonitor"}),
    ({"group": {"enabled": True}} | BESIDE, REPLICAS | {"Ingress", "ServiceMonitor"}),
    ({"group": {"enabled": True}, "replicas": {"forwardWrites": True}}, REPLICAS),
    ({"group": {"enabled": True}, "replicas": {"enabled": False}, "store": {"address": "gs://b/p", "url": "", "environment": "cloud"}}, GROUP),
]
options = {f"SVC_{name.upper()}" for name in re.findall(r"^# ([a-z0-9_]+) = ", pathlib.Path("packaging/config.toml").read_text(), re.MULTILINE)}
for values, kinds in CASES:
    report = lint("packaging/helm", values, strict=True)
    wrong = [message for message in report["messages"] if message["severity"] > 1] + report["errors"]
    made = Chart.load("packaging/helm").render(values)
    objects = "\n".join(text for path, text in made.items() if not path.endswith(".txt"))
    if wrong or set(re.findall(r"^kind: (\w+)$", objects, re.MULTILINE)) != kinds:
        sys.exit(f"packaging/helm with {values}: {wrong or objects}")
    if unknown := set(re.findall(r"\bSVC_\w+", objects)) - options:
        sys.exit(f"packaging/helm with {values} sets {unknown}, which the server does not have")
print(f"helm: {len(CASES)} sets of values passed")
CHECK
