"""The official Python client against a running server: LAMINA_URL and LAMINA_KEY say where."""

import os

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
print("python client: passed")
