"""The official Python client against a running server: LAMINA_URL and LAMINA_KEY say where."""

import datetime
import gzip
import http.server
import json
import os
import queue
import threading

import meilisearch
from meilisearch.errors import MeilisearchApiError

client = meilisearch.Client(os.environ["LAMINA_URL"], os.environ["LAMINA_KEY"])


def done(task):
    finished = client.wait_for_task(task.task_uid, timeout_in_ms=20_000)
    assert finished.status == "succeeded", finished.error
    return finished


def ids(answer):
    return [hit["id"] for hit in answer["hits"]]


assert client.is_healthy()
done(client.create_index("python", {"primaryKey": "id"}))
index = client.get_index("python")
assert index.primary_key == "id"

films = [
    {"id": 1, "title": "Back to the Future", "year": 1985, "genres": ["Comedy", "Science Fiction"]},
    {"id": 2, "title": "The Future of Food", "year": 2004, "genres": ["Documentary"]},
    {"id": 3, "title": "Alien", "year": 1979, "genres": ["Horror", "Science Fiction"]},
]
finished = done(index.add_documents(films))
assert finished.type == "documentAdditionOrUpdate"
assert finished.details["indexedDocuments"] == 3, finished.details
assert index.get_stats().number_of_documents == 3
assert index.get_document(3).title == "Alien"

assert ids(index.search("future")) == [2, 1]
assert ids(index.search("futrue")) == [2, 1], "a typo"
assert ids(index.search("ali")) == [3], "a prefix"
assert ids(index.search('"the future"')) == [2, 1], "a phrase"
assert index.search("future", {"limit": 1, "showRankingScore": True})["hits"][0]["_rankingScore"] > 0.5

done(index.update_settings({"searchableAttributes": ["title"], "sortableAttributes": ["year"], "stopWords": ["of"]}))
settings = index.get_settings()
assert settings["searchableAttributes"] == ["title"], settings
assert settings["stopWords"] == ["of"], settings
assert ids(index.search("", {"sort": ["year:asc"]})) == [3, 1, 2]
assert ids(index.search("comedy")) == [], "genres are not searchable any more"
done(index.reset_settings())
assert index.get_settings()["searchableAttributes"] == ["*"]

done(index.update_documents([{"id": 3, "director": "Ridley Scott"}]))
alien = index.get_document(3)
assert (alien.title, alien.director) == ("Alien", "Ridley Scott"), "an update merges fields"
done(index.delete_document(1))
assert ids(index.search("future")) == [2]
done(index.delete_all_documents())
assert index.get_documents().total == 0

tasks = client.get_tasks({"indexUids": ["python"], "statuses": ["succeeded"]})
assert tasks.total >= 7, tasks.total
try:
    client.get_index("absent")
    raise AssertionError("an absent index was found")
except MeilisearchApiError as error:
    assert error.code == "index_not_found", error
try:
    meilisearch.Client(os.environ["LAMINA_URL"], "wrong").get_indexes()
    raise AssertionError("a wrong key was accepted")
except MeilisearchApiError as error:
    assert error.code == "invalid_api_key", error
done(index.delete())

# Keys: made, listed, changed, used, deleted.
assert client.get_keys().total >= 4
names = [key.name for key in client.get_keys().results]
assert "Default Search API Key" in names and "Default Admin API Key" in names, names
key = client.create_key(
    {"name": "films", "actions": ["search", "documents.*", "indexes.create"], "indexes": ["films*"], "expiresAt": None}
)
assert client.get_key(key.key).uid == key.uid == client.get_key(key.uid).uid
assert client.update_key(key.uid, {"description": "of films"}).description == "of films"
mine = meilisearch.Client(os.environ["LAMINA_URL"], key.key)
done_by_all = client.wait_for_task(mine.index("films").add_documents(films, primary_key="id").task_uid)
assert done_by_all.status == "succeeded", done_by_all
done(client.index("films").update_filterable_attributes(["year"]))
assert ids(mine.index("films").search("future")) == [2, 1]
try:
    mine.index("books").search("")
    raise AssertionError("another index was searched")
except MeilisearchApiError as error:
    assert error.code == "invalid_api_key", error

# A tenant token, signed here, sees what its rules let through.
token = client.generate_tenant_token(
    key.uid,
    {"films": {"filter": "year > 2000"}},
    api_key=key.key,
    expires_at=datetime.datetime.now(tz=datetime.timezone.utc) + datetime.timedelta(hours=1),
)
tenant = meilisearch.Client(os.environ["LAMINA_URL"], token)
assert ids(tenant.index("films").search("future")) == [2]
assert ids(tenant.multi_search([{"indexUid": "films", "q": ""}])["results"][0]) == [2]
try:
    tenant.index("films").get_documents()
    raise AssertionError("a tenant token opened another route")
except MeilisearchApiError as error:
    assert error.code == "invalid_api_key", error
assert client.delete_key(key.uid) == 204
try:
    tenant.index("films").search("")
    raise AssertionError("a token outlived its key")
except MeilisearchApiError as error:
    assert error.code == "invalid_api_key", error

# A webhook is notified of a task.
notified = queue.Queue()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = gzip.decompress(self.rfile.read(int(self.headers["Content-Length"])))
        notified.put((self.headers["Authorization"], [json.loads(line) for line in body.splitlines()]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
webhook = client.create_webhook(
    {"url": f"http://127.0.0.1:{receiver.server_port}/", "headers": {"authorization": "Bearer of the receiver"}}
)
assert webhook.isEditable and webhook.headers == {"authorization": "Bearer ofXXXX..."}, webhook
assert [hook.uuid for hook in client.get_webhooks().results] == [webhook.uuid]
deleted = done(client.index("films").delete())
authorization, tasks = notified.get(timeout=20)
assert authorization == "Bearer of the receiver"
assert [(task["uid"], task["type"], task["status"]) for task in tasks] == [(deleted.uid, "indexDeletion", "succeeded")]
assert client.update_webhook(webhook.uuid, {"headers": {"authorization": None}}).headers == {}
assert client.delete_webhook(webhook.uuid) == 204
assert client.get_webhooks().results == []

# Tasks and batches: chosen, canceled, deleted, counted.
done(client.index("books").add_documents(films))
last = client.get_tasks({"indexUids": "books", "types": "documentAdditionOrUpdate", "limit": 1}).results[0]
batch = client.get_batch(client.get_batches({"uids": str(last.uid)}).results[0].uid)
assert batch.stats["totalNbTasks"] >= 1 and batch.progress is None, batch
assert client.get_batches({"limit": 2, "statuses": "succeeded"}).limit == 2
canceled = done(client.cancel_tasks({"statuses": "enqueued"}))
assert canceled.type == "taskCancelation" and canceled.details["canceledTasks"] == 0, canceled
deleted = done(client.delete_tasks({"uids": str(last.uid)}))
assert deleted.details == {"matchedTasks": 1, "deletedTasks": 1, "originalFilter": f"?uids={last.uid}"}, deleted.details
try:
    client.get_task(last.uid)
    raise AssertionError("a deleted task was found")
except MeilisearchApiError as error:
    assert error.code == "task_not_found", error

# Copies of the database.
dump = done(client.create_dump())
assert os.path.isfile(os.path.join(os.environ["LAMINA_DATA"], "dumps", dump.details["dumpUid"] + ".dump"))
assert done(client.create_snapshot()).type == "snapshotCreation"
assert any(name.endswith(".snapshot") for name in os.listdir(os.path.join(os.environ["LAMINA_DATA"], "snapshots")))

# A function that edits documents, and a network with this server as its own remote.
features = client.update_experimental_features({"editDocumentsByFunction": True, "network": True})
assert features["editDocumentsByFunction"] and client.get_experimental_features() == features
client.update_documents_by_function("books", {"function": "doc.title = doc.title.to_upper()", "filter": None})
edited = client.get_tasks({"types": "documentEdition"}).results[0]
assert client.wait_for_task(edited.uid).details["editedDocuments"] == 3
assert client.index("books").get_document(3).title == "ALIEN"
remote = {"url": os.environ["LAMINA_URL"], "searchApiKey": os.environ["LAMINA_KEY"]}
network = client.add_or_update_networks({"self": "here", "remotes": {"there": remote}})
assert network["self"] == "here" and client.get_all_networks() == network
both = client.multi_search(
    [{"indexUid": "books", "q": "alien"}, {"indexUid": "books", "q": "alien", "federationOptions": {"remote": "there"}}],
    {"limit": 5},
)
assert sorted(hit["_federation"]["remote"] for hit in both["hits"]) == ["here", "there"], both
assert both["remoteErrors"] == {}
assert client.add_or_update_networks({"remotes": {"there": None}})["remotes"] == {}
done(client.delete_index("books"))

# An embedder that asks a model server, made and used by the client: words for the one, meaning for the other.
MEANINGS = {"fox": 0, "vulpine": 0, "bus": 1, "coach": 1}


class Model(Receiver):
    def do_POST(self):
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["texts"]
        vectors = [[0.1 + sum(MEANINGS.get(word) == axis for word in text.split()) for axis in (0, 1)] for text in texts]
        body = json.dumps({"vectors": vectors}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
animals = client.index("python-animals")
done(
    animals.update_embedders(
        {
            "model": {
                "source": "rest",
                "url": f"http://127.0.0.1:{model.server_port}/",
                "request": {"texts": ["{{text}}", "{{..}}"]},
                "response": {"vectors": ["{{embedding}}", "{{..}}"]},
                "documentTemplate": "{{ doc.name }}",
            }
        }
    )
)
named = ["red fox", "vulpine animal", "red bus"]
done(animals.add_documents([{"id": number, "name": name} for number, name in enumerate(named)]))
assert animals.get_embedders().embedders["model"].source == "rest"


def hybrid(ratio):
    found = animals.search("fox", {"hybrid": {"embedder": "model", "semanticRatio": ratio}})
    return ids(found), found.get("semanticHitCount")


assert hybrid(0.0)[0] == [0], "only words"
assert hybrid(1.0) == ([0, 1, 2], 3), "only meaning"
assert hybrid(0.5)[0][:2] == [0, 1], "both"
similar = animals.get_similar_documents({"id": 1, "embedder": "model"})
assert ids(similar) == [0, 2], similar
done(animals.delete())

# Rules that pin documents, and templates that are rendered before anything is indexed with them.
client.update_experimental_features({"dynamicSearchRules": True, "renderRoute": True, "chatCompletions": True})
shop = client.index("python-shop")
done(shop.add_documents([{"id": 1, "name": "desk lamp"}, {"id": 2, "name": "floor lamp"}, {"id": 3, "name": "red rug"}]))
promotion = {
    "description": "the rug of the week",
    "precedence": 1,
    "conditions": {"query": {"words": "lamp"}},
    "actions": [{"selector": {"indexUid": "python-shop", "id": "3"}, "action": {"type": "pin", "position": 1}}],
}
changed = done(client.update_dynamic_search_rule("rug", promotion, metadata="promotion"))
assert (changed.type, changed.details["updatedRules"]) == ("dsrUpdate", 1), changed
assert ids(shop.search("lamp")) == [1, 3, 2]
rule = client.get_dynamic_search_rule("rug")
assert (rule.description, rule.precedence, rule.active) == ("the rug of the week", 1, True), rule
assert (rule.conditions, rule.actions) == (promotion["conditions"], promotion["actions"]), rule
assert [found.uid for found in client.get_dynamic_search_rules({"filter": {"query": "week"}}).results] == ["rug"]
assert client.get_dynamic_search_rules().total == 1
done(client.update_dynamic_search_rule("rug", {"active": False}))
assert ids(shop.search("lamp")) == [1, 2]
done(client.delete_dynamic_search_rule("rug"))
template = {"kind": "inlineDocumentTemplate", "inline": "{{ doc.name | upcase }}"}
rendered = client.render_template(template, {"kind": "indexDocument", "indexUid": "python-shop", "id": "3"})
assert rendered == {"template": template["inline"], "rendered": "RED RUG"}, rendered
assert client.render_template(template)["rendered"] is None

# A conversation: the provider's model searches, and answers with what was found.
asked = queue.Queue()


class Provider(Receiver):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked.put((self.headers["Authorization"], request))
        arguments = json.dumps({"index_uid": "python-shop", "q": "rug", "filter": ""})
        call = {"index": 0, "id": "c", "function": {"name": "_meiliSearchInIndex", "arguments": arguments}}
        if request["messages"][-1]["role"] == "tool":
            said, finish = [{"content": "The red "}, {"content": "one."}], "stop"
        else:
            said, finish = [{"tool_calls": [call]}], "tool_calls"
        choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in said]
        choices.append({"index": 0, "delta": {}, "finish_reason": finish})
        events = [{"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [c]} for c in choices]
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
threading.Thread(target=provider.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{provider.server_port}/v1"
settings = client.update_chat_workspace_settings(
    "python", {"source": "vLlm", "baseUrl": address, "apiKey": "a-secret-of-the-provider", "prompts": {"system": "Be brief."}}
)
assert (settings["source"], settings["apiKey"]) == ("vLlm", "a-sXXXXX..."), settings
assert client.get_chat_workspace_settings("python") == settings
assert {"uid": "python"} in client.get_chat_workspaces(limit=100)["results"]
chunks = client.create_chat_completion("python", [{"role": "user", "content": "which rug?"}], model="m")
deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
assert "".join(delta["content"] or "" for delta in deltas) == "The red one.", deltas
authorization, first = asked.get(timeout=20)
assert authorization == "Bearer a-secret-of-the-provider"
assert [message["content"] for message in first["messages"]] == ["Be brief.", "which rug?"], first
found = asked.get(timeout=20)[1]["messages"][-1]
assert found["role"] == "tool" and "red rug" in found["content"], found
client.http.delete("chats/python")
assert {"uid": "python"} not in client.get_chat_workspaces()["results"]
done(shop.delete())
client.update_experimental_features({"dynamicSearchRules": False, "renderRoute": False, "chatCompletions": False})
print("python client: passed")
