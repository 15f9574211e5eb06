#!/usr/bin/env bash
# Builds the image with docker or podman, whichever there is, and checks it by itself and through the compose file: static,
# not root, no capability, nothing writable but the volume, which outlives the container; an end in grace.
# usage: scripts/test-image.sh [IMAGE]      (an image that is built already; else BUILDER and TARGET as in packaging/Dockerfile)
set -euo pipefail
cd "$(dirname "$0")/.."

# A client of docker is not yet an engine.
if docker info >/dev/null 2>&1; then
  engine=docker compose=(docker compose)
else
  engine=podman compose=(podman-compose)
fi
export LAMINA_IMAGE=${1:-lamina}
if [[ -z ${1:-} ]]; then
  "$engine" build -f packaging/Dockerfile ${BUILDER:+--build-arg BUILDER="$BUILDER"} ${TARGET:+--build-arg TARGET="$TARGET"} \
    -t "$LAMINA_IMAGE" .
fi

export LAMINA_MASTER_KEY=a-key-for-testing-images
# A port that was free a moment ago.
LAMINA_PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export LAMINA_PORT
url=http://127.0.0.1:$LAMINA_PORT
name=lamina-test-image-$$
compose+=(-p "$name" -f packaging/compose.yaml)
cleanup() {
  status=$?
  ((status == 0)) || { echo "FAILED; the end of the logs:"; "$engine" logs --tail 30 "$(container)" 2>&1 || true; }
  "$engine" rm -f "$name" >/dev/null 2>&1 || true
  "${compose[@]}" down -v >/dev/null 2>&1 || true
}
trap cleanup EXIT

fail() { echo "$*" >&2 && exit 1; }
# The container that runs: the one started by hand, or the only one of the compose project.
container() { "$engine" ps -a --filter "name=$name" --format '{{.Names}}' | head -1; }
ask() {
  local method=$1 path=$2
  shift 2
  curl -sS --fail-with-body --max-time 60 -X "$method" "$url$path" -H "Authorization: Bearer $LAMINA_MASTER_KEY" \
    -H 'Content-Type: application/json' "$@"
}
await() {
  for _ in {1..100}; do
    if curl -sf --max-time 5 "$url/health" >/dev/null; then return; fi
    sleep 0.2
  done
  fail "the server did not start"
}
# succeeds TASK: waits for the end of the task that this answer announces.
succeeds() {
  local uid status
  uid=$(grep -o '"taskUid":[0-9]*' <<<"$1" | cut -d: -f2)
  for _ in {1..100}; do
    status=$(ask GET "/tasks/$uid" | grep -o '"status":"[a-z]*"')
    case $status in
      *succeeded*) return ;;
      *failed* | *canceled*) break ;;
    esac
    sleep 0.2
  done
  ask GET "/tasks/$uid" >&2
  fail "task $uid: $status"
}
finds() { [[ $(ask POST /indexes/films/search -d '{"q": "metropolis"}') == *'"Metropolis"'* ]]; }
# All that writes beside the indexes: there is no other place for it than the volume.
writes_aside() {
  succeeds "$(ask POST /snapshots)"
  succeeds "$(ask POST /dumps)"
  # A task that is remembered with megabytes of details, too many for the memory in which the queue is written anew.
  succeeds "$(seq -f '"word-number-%.0f"' -s, 200000 | sed 's/.*/{"disableOnWords": [&]}/' | ask PATCH /indexes/films/settings/typo-tolerance -d @-)"
  ask PATCH /experimental-features -d '{"taskQueueCompactionRoute": true}' >/dev/null
  ask POST /tasks/compact >/dev/null
  succeeds "$(ask POST /indexes/films/documents -d '[{"id": 1, "title": "Metropolis"}]')"
}
# What the kernel says of the process in the container.
confined() {
  local pid status
  pid=$("$engine" inspect --format '{{.State.Pid}}' "$(container)")
  # Another machine's kernel, when the engine runs in one.
  [[ -r /proc/$pid/status ]] || { echo "SKIPPED: the process of the container can't be looked at from here"; return; }
  status=$(tr '\t' ' ' <"/proc/$pid/status")
  grep -q '^Uid: 10001 10001 10001 10001$' <<<"$status" || fail "not user 10001: $status"
  [[ ${1:-} == strictly ]] || return 0
  grep -q '^CapBnd: 0000000000000000$' <<<"$status" || fail "capabilities are left: $status"
  grep -q '^NoNewPrivs: 1$' <<<"$status" || fail "privileges can be gained: $status"
  # The fifth field is where it is mounted, the fourth a folder of the machine with some drivers.
  grep -qE '^([^ ]+ ){4}/ ro[, ]' "/proc/$pid/mountinfo" || fail "the file system is writable"
}
# ends_in_grace COMMAND…: ends the container by it, and checks that the server ended by itself.
ends_in_grace() {
  local which code
  which=$(container)
  "$@" >/dev/null 2>&1
  code=$("$engine" inspect --format '{{.State.ExitCode}}' "$which")
  [[ $code == 0 ]] || fail "it ended with $code"
}

echo "1. by hand"
"$engine" run -d --name "$name" -p "127.0.0.1:$LAMINA_PORT:7700" -e SVC_MASTER_KEY="$LAMINA_MASTER_KEY" "$LAMINA_IMAGE" >/dev/null
await
confined
succeeds "$(ask POST /indexes/films/documents -d '[{"id": 1, "title": "Metropolis"}]')"
finds || fail "the document is not found"
writes_aside
ends_in_grace "$engine" stop -t 30 "$name"
"$engine" rm -v "$name" >/dev/null

echo "2. by hand without a key"
if said=$("$engine" run --rm --name "$name" -p "127.0.0.1:$LAMINA_PORT:7700" "$LAMINA_IMAGE" 2>&1); then fail "it started: $said"; fi
grep -q -- --unprotected <<<"$said" || fail "it does not say what to do: $said"
"$engine" run -d --name "$name" -p "127.0.0.1:$LAMINA_PORT:7700" -e SVC_UNPROTECTED=anywhere "$LAMINA_IMAGE" >/dev/null
await
"$engine" rm -f -v "$name" >/dev/null

echo "3. compose without a key"
if said=$(env -u LAMINA_MASTER_KEY "${compose[@]}" up -d 2>&1); then fail "it started: $said"; fi
grep -q LAMINA_MASTER_KEY <<<"$said" || fail "it does not say what is missing: $said"

echo "4. compose with a key"
"${compose[@]}" up -d >/dev/null 2>&1
await
confined strictly
code=$(curl -s -o /dev/null -w '%{http_code}' "$url/indexes")
[[ $code == 401 ]] || fail "without a key it answers $code"
succeeds "$(ask POST /indexes/films/documents -d '[{"id": 1, "title": "Metropolis"}]')"
finds || fail "the document is not found"
writes_aside

echo "5. the volume outlives the container"
ends_in_grace "${compose[@]}" stop
"${compose[@]}" down >/dev/null 2>&1
"${compose[@]}" up -d >/dev/null 2>&1
await
finds || fail "the document is lost"
echo "image: passed"
