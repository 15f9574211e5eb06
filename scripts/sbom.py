#!/usr/bin/env python3
"""Writes what a binary is made of, as CycloneDX 1.5: every crate that is linked into it for this platform, with version, licence and
checksum.
usage: scripts/sbom.py > lamina.cdx.json"""
import hashlib, json, subprocess, sys, tomllib, uuid

host = next(line.split()[1] for line in subprocess.check_output(["rustc", "-vV"], text=True).splitlines() if line.startswith("host:"))
metadata = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", host]))
with open("Cargo.lock", "rb") as file:
    lock = {(package["name"], package["version"]): package for package in tomllib.load(file)["package"]}
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
root = next(id for id, package in packages.items() if package["name"] == "lamina-cli")


def linked(id):
    """What a crate links, without what only builds or tests it."""
    return [dep["pkg"] for dep in nodes[id]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]


found, waiting = {root}, [root]
while waiting:
    for dep in linked(waiting.pop()):
        if dep not in found:
            found.add(dep)
            waiting.append(dep)


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package):
    made = {"type": "library", "bom-ref": purl(package), "name": package["name"], "version": package["version"], "purl": purl(package)}
    if package.get("license"):
        made["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = lock.get((package["name"], package["version"]), {}).get("checksum")
    if checksum:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return made


def ordered(ids):
    return sorted((packages[id] for id in ids), key=lambda package: (package["name"], package["version"]))


document = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {"component": {**component(packages[root]), "type": "application", "name": "lamina"}},
    "components": [component(package) for package in ordered(found - {root})],
    "dependencies": [{"ref": purl(packages[id]), "dependsOn": sorted(purl(packages[dep]) for dep in linked(id))}
                     for id in sorted(found, key=lambda id: purl(packages[id]))],
}
# The same sources make the same document.
name = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name)}"
json.dump(document, sys.stdout, indent=1)
print()
