"""Every public method of the official Python client against a running server: LAMINA_URL and LAMINA_KEY say where.

A method that is not here fails the walk, so that a newer client cannot call what was not tried.
"""

import inspect
import os

import meilisearch
from meilisearch.client import Client
from meilisearch.errors import MeilisearchApiError
from meilisearch.index import Index

MASTER = os.environ["LAMINA_KEY"]
client = meilisearch.Client(os.environ["LAMINA_URL"], MASTER)
walked = {Client: set(), Index: set()}


def called(thing, name, *arguments, **keywords):
    walked[Client if isinstance(thing, Client) else Index].add(name)
    return getattr(thing, name)(*arguments, **keywords)


def done(thing, name, *arguments, **keywords):
    """Calls a method that writes, and waits for its tasks."""
    answer = called(thing, name, *arguments, **keywords)
    for task in answer if isinstance(answer, list) else [answer]:
        finished = client.wait_for_task(task.task_uid, timeout_in_ms=60_000)
        assert finished.status == "succeeded", (name, finished.error)
    return finished


def refused(code, thing, name, *arguments, **keywords):
    try:
        answer = called(thing, name, *arguments, **keywords)
        if inspect.isgenerator(answer):
            list(answer)
    except MeilisearchApiError as error:
        assert error.code == code, (name, error)
    else:
        raise AssertionError(f"{name} was answered: {answer}")


def remembered(thing, name, *arguments, **keywords):
    """The same for a write that can be given a text to remember."""
    finished = done(thing, name, *arguments, metadata="of the walk", **keywords)
    raw = client.http.get(f"tasks/{finished.uid}")
    assert raw["customMetadata"] == "of the walk", (name, raw)


# The instance.
assert called(client, "health") == {"status": "available"}
assert called(client, "is_healthy")
assert called(client, "get_version")["pkgVersion"] == called(client, "version")["pkgVersion"]
called(client, "update_experimental_features", {"editDocumentsByFunction": True, "network": True, "foreignKeys": True})
assert called(client, "get_experimental_features")["network"] is True

# Indexes.
remembered(client, "create_index", "walk", {"primaryKey": "id"})
done(client, "create_index", "walk2")
walk = called(client, "index", "walk")
assert called(client, "get_index", "walk").primary_key == "id"
assert called(client, "get_raw_index", "walk")["uid"] == "walk"
assert {index.uid for index in called(client, "get_indexes", {"limit": 100})["results"]} >= {"walk", "walk2"}
assert called(client, "get_raw_indexes", {"offset": 0, "limit": 100})["total"] >= 2
assert called(walk, "fetch_info").primary_key == "id"
assert called(walk, "get_primary_key") == "id"
walked[Index].add("create")
created = Index.create(client.config, "walk3", {"primaryKey": "id"}, metadata="of the walk")
assert client.wait_for_task(created.task_uid).status == "succeeded"
remembered(called(client, "index", "walk3"), "update", primary_key="sku")
done(client.index("walk3"), "update", new_uid="walk4")
remembered(client.index("walk4"), "delete")
done(client, "swap_indexes", [{"indexes": ["walk", "walk2"]}])
done(client, "swap_indexes", [{"indexes": ["walk", "walk2"], "rename": False}])

# Documents.
films = [{"id": number, "title": f"film {number}", "year": 1990 + number} for number in range(10)]
remembered(walk, "add_documents", films, "id")
remembered(walk, "add_documents_in_batches", films, batch_size=5)
remembered(walk, "add_documents_json", b'[{"id": 20, "title": "json"}]')
remembered(walk, "add_documents_ndjson", b'{"id": 21, "title": "lines"}\n{"id": 22}\n')
remembered(walk, "add_documents_csv", b"id;title\n23;cells\n", csv_delimiter=";")
remembered(walk, "add_documents_raw", b"id,title\n24,raw\n", content_type="text/csv")
remembered(walk, "update_documents", [{"id": 1, "note": "x"}], skip_creation=True)
remembered(walk, "update_documents_in_batches", [{"id": 1, "note": "y"}, {"id": 2, "note": "y"}], batch_size=1)
remembered(walk, "update_documents_json", b'[{"id": 20, "note": "json"}]')
remembered(walk, "update_documents_ndjson", b'{"id": 21, "note": "lines"}')
remembered(walk, "update_documents_csv", b"id,note\n23,cells\n")
remembered(walk, "update_documents_raw", b"id,note\n24,raw\n", content_type="text/csv")
assert called(walk, "get_document", 1, {"fields": ["note"]}).note == "y"
assert called(walk, "get_documents", {"limit": 3, "fields": ["id"], "ids": [1, 2]}).total == 2
done(walk, "update_filterable_attributes", ["year", "title", "id"])
assert called(walk, "get_documents", {"filter": "year > 1995", "limit": 2}).total == 4
assert called(walk, "get_fields", limit=5).limit == 5
edit = called(client, "update_documents_by_function", "walk", {"function": "doc.seen = true"})
assert client.wait_for_task(edit["taskUid"], timeout_in_ms=60_000).status == "succeeded"
remembered(walk, "delete_document", 24)
remembered(walk, "delete_documents", [23])
remembered(walk, "delete_documents", filter="title = json")
stats = called(walk, "get_stats")
assert stats.number_of_documents == 12, stats
done(walk, "compact")

# Searches.
assert called(walk, "search", "film", {"limit": 3})["limit"] == 3
assert {hit["value"] for hit in called(walk, "facet_search", "title", "film 1")["facetHits"]} >= {"film 1"}
assert called(client, "multi_search", [{"indexUid": "walk", "q": "film"}])["results"][0]["hits"]
assert called(client, "multi_search", [{"indexUid": "walk", "q": "film"}], {"limit": 2})["hits"]
token = called(client, "generate_tenant_token", client.get_keys().results[0].uid, ["*"], api_key=MASTER)
assert token.count(".") == 2

# Settings: all of them at once, and each by its methods. A value of None is one that the reset leaves.
embedders = {"mine": {"source": "userProvided", "dimensions": 2}}
remembered(walk, "update_settings", {"synonyms": {"a": ["b"]}, "searchCutoffMs": 500})
assert called(walk, "get_settings")["searchCutoffMs"] == 500
for name, value in {
    "ranking_rules": ["words", "typo", "year:desc"],
    "distinct_attribute": "title",
    "searchable_attributes": ["title"],
    "displayed_attributes": ["id", "title"],
    "stop_words": ["of"],
    "synonyms": {"film": ["movie"]},
    "filterable_attributes": ["title", "year"],
    "sortable_attributes": ["year"],
    "typo_tolerance": {"enabled": False},
    "pagination_settings": {"maxTotalHits": 77},
    "faceting_settings": {"maxValuesPerFacet": 7},
    "dictionary": ["J. R. R."],
    "separator_tokens": ["|"],
    "non_separator_tokens": ["#"],
    "search_cutoff_ms": 321,
    "proximity_precision": "byAttribute",
    "localized_attributes": [{"attributePatterns": ["title"], "locales": ["fra"]}],
    "facet_search_settings": False,
    "prefix_search": "disabled",
    "foreign_keys": [{"foreignIndexUid": "walk2", "fieldName": "author"}],
    "embedders": embedders,
}.items():
    takes_text = "metadata" in inspect.signature(getattr(walk, f"update_{name}")).parameters
    (remembered if takes_text else done)(walk, f"update_{name}", value)
    read = called(walk, f"get_{name}")
    assert read is not None, name
    if isinstance(value, (int, str, bool)):
        assert read == value, (name, read)
    if name != "embedders":
        done(walk, f"reset_{name}")
done(walk, "update_documents", [{"id": 1, "_vectors": {"mine": [1, 0]}}, {"id": 2, "_vectors": {"mine": [0.9, 0.1]}}])
similar = called(walk, "get_similar_documents", {"id": 1, "embedder": "mine"})
assert similar["hits"][0]["id"] == 2, similar
done(walk, "reset_embedders")
done(walk, "reset_settings")

# Tasks and batches.
last = called(client, "get_tasks", {"limit": 1, "statuses": ["succeeded"], "indexUids": ["walk"]}).results[0]
assert called(client, "get_task", last.uid).uid == last.uid
assert called(walk, "get_task", last.uid).uid == last.uid
assert called(walk, "get_tasks", {"limit": 2}).results[0].index_uid == "walk"
assert called(client, "wait_for_task", last.uid).status == called(walk, "wait_for_task", last.uid).status
batch = called(client, "get_batches", {"limit": 1, "indexUids": ["walk"]}).results[0]
assert called(client, "get_batch", batch.uid).uid == batch.uid
assert called(client, "get_batches", {"limit": 2, "types": ["documentAdditionOrUpdate"]}).results
remembered(client, "cancel_tasks", {"statuses": ["enqueued"]})
remembered(client, "delete_tasks", {"uids": [str(last.uid)]})
done(client, "create_dump")
done(client, "create_snapshot")
# An address where no server is: the task says so, and that it was asked.
export = called(client, "export", "http://127.0.0.1:1", payload_size="10MiB", indexes={"walk": {"filter": None}})
assert client.wait_for_task(export.task_uid, timeout_in_ms=60_000).status == "failed"

# Keys, webhooks, the network.
key = called(client, "create_key", {"actions": ["search"], "indexes": ["walk"], "expiresAt": None, "name": "walk"})
assert called(client, "get_key", key.uid).key == key.key
assert any(known.uid == key.uid for known in called(client, "get_keys", {"limit": 100}).results)
assert called(client, "update_key", key.uid, {"description": "d"}).description == "d"
assert called(client, "delete_key", key.uid) == 204
webhook = called(client, "create_webhook", {"url": "https://example.org/hook", "headers": {"a": "b"}})
assert called(client, "get_webhook", webhook.uuid).url == webhook.url
assert any(known.uuid == webhook.uuid for known in called(client, "get_webhooks").results)
assert called(client, "update_webhook", webhook.uuid, {"url": "https://example.org/other"}).url.endswith("other")
assert called(client, "delete_webhook", webhook.uuid) == 204
called(client, "add_or_update_networks", {"self": "here", "remotes": {"there": {"url": "http://127.0.0.1:1"}}})
assert called(client, "get_all_networks")["self"] == "here"
called(client, "add_or_update_networks", {"self": None, "remotes": None})
assert "walk" in called(client, "get_all_stats", size_format="human")["indexes"]

# What this server does not have says so.
off = "feature_not_enabled"
refused(off, client, "get_chat_workspaces")
refused(off, client, "get_chat_workspace_settings", "w")
refused(off, client, "update_chat_workspace_settings", "w", {"source": "openAi"})
refused(off, client, "create_chat_completion", "w", [{"role": "user", "content": "?"}])
refused(off, client, "get_dynamic_search_rules")
refused(off, client, "get_dynamic_search_rule", "r")
refused(off, client, "update_dynamic_search_rule", "r", {"active": True})
refused(off, client, "delete_dynamic_search_rule", "r")
refused(off, client, "render_template", {"kind": "inlineDocumentTemplate", "inline": "x"})

remembered(walk, "delete_all_documents")
remembered(client, "delete_index", "walk2")
done(walk, "delete")
for kind, names in walked.items():
    public = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
    assert names == public, (kind.__name__, "not walked:", public - names)
print("python walk: passed")
