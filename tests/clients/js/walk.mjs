// Every public method of the official JavaScript client against a running server: LAMINA_URL and LAMINA_KEY say where.
// A method that is not here fails the walk, so that a newer client cannot call what was not tried.
import assert from "node:assert/strict";
import { Index, Meilisearch } from "meilisearch";

const config = { host: process.env.LAMINA_URL, apiKey: process.env.LAMINA_KEY };
const client = new Meilisearch(config);
const walked = new Map();

const call = (thing, name, ...rest) => {
  const kind = Object.getPrototypeOf(thing);
  if (!walked.has(kind)) walked.set(kind, new Set());
  walked.get(kind).add(name);
  return thing[name](...rest);
};
const read = async (thing, name, ...rest) => await call(thing, name, ...rest);
const done = async (thing, name, ...rest) => {
  let last;
  for (const enqueued of [call(thing, name, ...rest)].flat()) {
    last = await enqueued.waitTask({ timeout: 60_000 });
    assert.equal(last.status, "succeeded", `${name}: ${JSON.stringify(last.error)}`);
  }
  return last;
};
const refused = async (code, thing, name, ...rest) =>
  await assert.rejects(async () => await call(thing, name, ...rest), (error) => error.cause?.code === code, name);

// The instance.
assert.deepEqual(await read(client, "health"), { status: "available" });
assert.equal(await read(client, "isHealthy"), true);
assert.match((await read(client, "getVersion")).pkgVersion, /^\d+\.\d+\.\d+$/);
await read(client, "updateExperimentalFeatures", {
  editDocumentsByFunction: true,
  network: true,
  foreignKeys: true,
  getTaskDocumentsRoute: true,
});
assert.equal((await read(client, "getExperimentalFeatures")).network, true);

// Indexes.
await done(client, "createIndex", "walk", { primaryKey: "id" });
await done(client, "createIndex", "walk2");
const index = call(client, "index", "walk");
assert.equal((await read(client, "getIndex", "walk")).primaryKey, "id");
assert.equal((await read(client, "getRawIndex", "walk")).uid, "walk");
assert.ok((await read(client, "getIndexes", { limit: 100 })).results.length >= 2);
assert.ok((await read(client, "getRawIndexes", { limit: 100 })).total >= 2);
assert.equal((await read(index, "getRawInfo")).uid, "walk");
assert.equal((await read(index, "fetchInfo")).primaryKey, "id");
assert.equal(await read(index, "fetchPrimaryKey"), "id");
assert.equal((await Index.create("walk3", { primaryKey: "id" }, config).waitTask()).status, "succeeded");
await done(client, "updateIndex", "walk3", { primaryKey: "sku" });
await done(client.index("walk3"), "update", { primaryKey: "id" });
await done(client.index("walk3"), "delete");
// The task of an index that is not there fails; asking for it does not.
assert.equal(await read(client, "deleteIndexIfExists", "nowhere"), true);
await done(client, "swapIndexes", [{ indexes: ["walk", "walk2"] }]);
await done(client, "swapIndexes", [{ indexes: ["walk", "walk2"], rename: false }]);

// Documents.
const text = { customMetadata: "of the walk" };
const films = [...Array(10).keys()].map((id) => ({ id, title: `film ${id}`, year: 1990 + id }));
const added = await done(index, "addDocuments", films, { primaryKey: "id", ...text });
assert.equal(added.customMetadata, "of the walk");
await done(index, "addDocumentsInBatches", films, 4, { skipCreation: true });
await done(index, "addDocumentsFromString", "id;title\n20;cells\n", "text/csv", { csvDelimiter: ";" });
await done(index, "updateDocuments", [{ id: 1, note: "x" }], text);
await done(index, "updateDocumentsInBatches", [{ id: 1, note: "y" }, { id: 2, note: "y" }], 1);
await done(index, "updateDocumentsFromString", '{"id": 20, "note": "lines"}\n', "application/x-ndjson");
await done(index, "updateFilterableAttributes", ["year", "title", "id"]);
assert.equal((await read(index, "getDocument", 1, { fields: ["note"] })).note, "y");
assert.equal((await read(index, "getDocuments", { filter: "year > 1995", limit: 2, ids: [7, 8] })).total, 2);
assert.ok((await read(index, "getFields", { limit: 5 })).total > 2);
await done(index, "updateDocumentsByFunction", { function: "doc.seen = true", filter: "year > 1990" }, text);
await done(index, "deleteDocument", 20, text);
await done(index, "deleteDocuments", [9], text);
await done(index, "deleteDocuments", { filter: "year = 1998" });
assert.equal((await read(index, "getStats")).numberOfDocuments, 8);
assert.equal((await read(client, "getStats")).indexes.walk.numberOfDocuments, 8);
await done(index, "compact");

// Searches.
assert.equal((await read(index, "search", "film", { limit: 3, facets: ["year"] })).hits.length, 3);
assert.equal((await read(index, "searchGet", "film", { limit: 3, attributesToRetrieve: ["id"] })).hits.length, 3);
assert.ok((await read(index, "searchForFacetValues", { facetName: "title", facetQuery: "film" })).facetHits.length > 1);
assert.equal((await read(client, "multiSearch", { queries: [{ indexUid: "walk", q: "film" }] })).results.length, 1);
const federated = { federation: { limit: 2 }, queries: [{ indexUid: "walk", q: "film" }] };
assert.equal((await read(client, "multiSearch", federated)).hits.length, 2);

// Settings: all of them at once, and each by its methods.
await done(index, "updateSettings", { searchCutoffMs: 500, synonyms: { a: ["b"] } });
assert.equal((await read(index, "getSettings")).searchCutoffMs, 500);
for (const [name, value] of Object.entries({
  Pagination: { maxTotalHits: 77 },
  Synonyms: { film: ["movie"] },
  StopWords: ["of"],
  RankingRules: ["words", "typo", "year:desc"],
  DistinctAttribute: "title",
  FilterableAttributes: ["title", { attributePatterns: ["year"], features: { facetSearch: false, filter: { equality: true, comparison: true } } }],
  SortableAttributes: ["year"],
  SearchableAttributes: ["title"],
  DisplayedAttributes: ["id", "title"],
  TypoTolerance: { enabled: false },
  Faceting: { maxValuesPerFacet: 7, sortFacetValuesBy: { "*": "count" } },
  SeparatorTokens: ["|"],
  NonSeparatorTokens: ["#"],
  Dictionary: ["J. R. R."],
  ProximityPrecision: "byAttribute",
  SearchCutoffMs: 321,
  LocalizedAttributes: [{ attributePatterns: ["title"], locales: ["fra"] }],
  ForeignKeys: [{ foreignIndexUid: "walk2", fieldName: "author" }],
  FacetSearch: false,
  PrefixSearch: "disabled",
})) {
  await done(index, `update${name}`, value);
  const kept = await read(index, `get${name}`);
  if (typeof value !== "object" || Array.isArray(value)) assert.deepEqual(kept, value, name);
  await done(index, `reset${name}`);
}
await done(index, "updateEmbedders", { mine: { source: "userProvided", dimensions: 2 } });
assert.equal((await read(index, "getEmbedders")).mine.dimensions, 2);
await done(index, "updateDocuments", [{ id: 1, _vectors: { mine: [1, 0] } }, { id: 2, _vectors: { mine: [0.9, 0.1] } }]);
assert.equal((await read(index, "searchSimilarDocuments", { id: 1, embedder: "mine" })).hits[0].id, 2);
await done(index, "resetEmbedders");
await done(index, "resetSettings");

// Tasks and batches.
const { tasks, batches } = client;
const [last] = (await read(tasks, "getTasks", { limit: 1, statuses: ["succeeded"], indexUids: ["walk"] })).results;
assert.equal((await read(tasks, "getTask", last.uid)).uid, last.uid);
assert.equal((await read(tasks, "waitForTask", last.uid)).uid, last.uid);
assert.equal((await read(tasks, "waitForTasks", [last.uid, 0])).length, 2);
for await (const task of call(tasks, "waitForTasksIter", [last.uid])) assert.equal(task.uid, last.uid);
await refused("task_file_not_found", tasks, "getTaskDocuments", last.uid);
await done(tasks, "cancelTasks", { statuses: ["enqueued"] });
assert.equal((await read(batches, "getBatch", last.batchUid)).uid, last.batchUid);
assert.ok((await read(batches, "getBatches", { limit: 2 })).results.length > 0);
await done(tasks, "deleteTasks", { uids: [last.uid] });
await done(client, "createDump");
await done(client, "createSnapshot");

// Keys and webhooks.
const key = await read(client, "createKey", { actions: ["search"], indexes: ["walk"], expiresAt: null });
assert.equal((await read(client, "getKey", key.uid)).key, key.key);
assert.ok((await read(client, "getKeys", { limit: 100 })).results.some(({ uid }) => uid === key.uid));
assert.equal((await read(client, "updateKey", key.uid, { name: "n" })).name, "n");
await read(client, "deleteKey", key.uid);
const webhook = await read(client, "createWebhook", { url: "https://example.org/hook", headers: { a: "b" } });
assert.equal((await read(client, "getWebhook", webhook.uuid)).url, webhook.url);
assert.ok((await read(client, "getWebhooks")).results.some(({ uuid }) => uuid === webhook.uuid));
assert.match((await read(client, "updateWebhook", webhook.uuid, { url: "https://example.org/other" })).url, /other/);
await read(client, "deleteWebhook", webhook.uuid);

// The network: one of servers that each hold a part. What needs a leader says so.
const remotes = { there: { url: "http://127.0.0.1:1", searchApiKey: "k" } };
await read(client, "updateNetwork", { self: "here", remotes });
assert.deepEqual(Object.keys((await read(client, "getNetwork")).remotes), ["there"]);
const alone = "requires_enterprise_edition";
const shards = { s: { remotes: ["there"] } };
await refused(alone, client, "initializeNetwork", { self: "there", remotes, shards });
await read(client, "addRemote", { name: "elsewhere", remote: remotes.there });
assert.deepEqual(Object.keys((await client.getNetwork()).remotes), ["elsewhere", "there"]);
await read(client, "removeRemote", { name: "elsewhere" });
await read(client, "addRemotesToShard", "s", ["there"]);
await read(client, "removeRemotesFromShard", "s", ["there"]);
assert.deepEqual((await client.getNetwork()).shards, {}, "there are none");
await client.updateNetwork({ self: null, remotes: null });

// What this server does not have says so.
const off = "feature_not_enabled";
await refused(off, client, "getChatWorkspaces");
await refused(off, client, "getChatWorkspace", "w");
await refused(off, client, "deleteChatWorkspace", "w");
const chat = call(client, "chat", "w");
await refused(off, chat, "get");
await refused(off, chat, "update", { source: "openAi" });
await refused(off, chat, "reset");
await refused(off, chat, "streamCompletion", { model: "m", messages: [], stream: true });
await refused(off, index, "getChat");
await refused(off, index, "updateChat", { description: "d" });
await refused(off, client, "getDynamicSearchRules");
await refused(off, client, "getDynamicSearchRule", "r");
await refused(off, client, "updateDynamicSearchRule", "r", { active: true });
await refused(off, client, "deleteDynamicSearchRule", "r");
await refused(off, client, "deleteAllDynamicSearchRules");
await refused(off, client, "renderTemplate", { template: { kind: "inlineDocumentTemplate", inline: "x" } });

await done(index, "deleteAllDocuments", text);
await done(client, "deleteIndex", "walk2");
await done(client, "deleteIndex", "walk");
for (const thing of [client, index, tasks, batches, chat]) {
  const kind = Object.getPrototypeOf(thing);
  const isMethod = (name) => name !== "constructor" && typeof Object.getOwnPropertyDescriptor(kind, name).value === "function";
  const missed = Object.getOwnPropertyNames(kind).filter((name) => isMethod(name) && !walked.get(kind)?.has(name));
  assert.deepEqual(missed, [], `not walked of ${kind.constructor.name}`);
}
console.log("javascript walk: passed");
