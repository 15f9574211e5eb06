// The official JavaScript client against a running server: LAMINA_URL and LAMINA_KEY say where.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { Meilisearch } from "meilisearch";
import { generateTenantToken } from "meilisearch/token";

const host = process.env.LAMINA_URL;
const client = new Meilisearch({ host, apiKey: process.env.LAMINA_KEY });

const done = async (enqueued) => {
  const task = await enqueued.waitTask({ timeout: 20_000 });
  assert.equal(task.status, "succeeded", JSON.stringify(task.error));
  return task;
};
const ids = (answer) => answer.hits.map((hit) => hit.id);

assert.deepEqual(await client.health(), { status: "available" });
await done(client.createIndex("js", { primaryKey: "id" }));
const index = client.index("js");
assert.equal((await index.getRawInfo()).primaryKey, "id");

const films = [
  { id: 1, title: "Back to the Future", year: 1985, genres: ["Comedy", "Science Fiction"] },
  { id: 2, title: "The Future of Food", year: 2004, genres: ["Documentary"] },
  { id: 3, title: "Alien", year: 1979, genres: ["Horror", "Science Fiction"] },
];
const added = await done(index.addDocuments(films));
assert.equal(added.details.indexedDocuments, 3);
assert.equal((await index.getStats()).numberOfDocuments, 3);
assert.equal((await index.getDocument(3)).title, "Alien");

assert.deepEqual(ids(await index.search("future")), [2, 1]);
assert.deepEqual(ids(await index.search("futrue")), [2, 1], "a typo");
assert.deepEqual(ids(await index.search("ali")), [3], "a prefix");
assert.deepEqual(ids(await index.search('"the future"')), [2, 1], "a phrase");
assert.deepEqual(ids(await index.searchGet("future", { limit: 1 })), [2], "by GET");
const paged = await index.search("future", { page: 2, hitsPerPage: 1 });
assert.deepEqual([ids(paged), paged.totalHits, paged.totalPages], [[1], 2, 2]);

await done(index.updateSettings({ searchableAttributes: ["title"], sortableAttributes: ["year"] }));
assert.deepEqual((await index.getSettings()).searchableAttributes, ["title"]);
assert.deepEqual(ids(await index.search("", { sort: ["year:asc"] })), [3, 1, 2]);
await done(index.updateSynonyms({ extraterrestrial: ["alien"] }));
assert.deepEqual(await index.getSynonyms(), { extraterrestrial: ["alien"] });
assert.deepEqual(ids(await index.search("extraterrestrial")), [3]);
await done(index.resetSettings());
assert.deepEqual((await index.getSettings()).searchableAttributes, ["*"]);

await done(index.updateDocuments([{ id: 3, director: "Ridley Scott" }]));
assert.deepEqual(await index.getDocument(3), { ...films[2], director: "Ridley Scott" });
await done(index.deleteDocuments([1, 2]));
assert.equal((await index.getDocuments()).total, 1);

const tasks = await client.tasks.getTasks({ indexUids: ["js"], limit: 2 });
assert.equal(tasks.results.length, 2);
await assert.rejects(client.getRawIndex("absent"), (error) => error.cause.code === "index_not_found");
await assert.rejects(
  new Meilisearch({ host, apiKey: "wrong" }).getIndexes(),
  (error) => error.cause.code === "invalid_api_key",
);
await done(client.deleteIndex("js"));

// Keys and tenant tokens.
const refused = (promise) => assert.rejects(promise, (error) => error.cause.code === "invalid_api_key");
assert.ok((await client.getKeys()).results.some((key) => key.name === "Default Search API Key"));
const key = await client.createKey({ actions: ["search", "documents.add", "indexes.create"], indexes: ["js*"], expiresAt: null });
assert.deepEqual(await client.getKey(key.uid), key);
assert.equal((await client.updateKey(key.key, { name: "of js" })).name, "of js");
const mine = new Meilisearch({ host, apiKey: key.key });
await client.tasks.waitForTask((await mine.index("js2").addDocuments(films, { primaryKey: "id" })).taskUid);
await done(client.index("js2").updateFilterableAttributes(["year"]));
assert.equal((await mine.index("js2").search("")).hits.length, 3);
await refused(mine.index("other").search(""));
await refused(mine.getIndexes());
const token = await generateTenantToken({
  apiKey: key.key,
  apiKeyUid: key.uid,
  searchRules: { "js*": { filter: "year < 2000" } },
  expiresAt: new Date(Date.now() + 60_000),
});
const tenant = new Meilisearch({ host, apiKey: token });
assert.deepEqual(ids(await tenant.index("js2").search("")), [1, 3]);
const federated = await tenant.multiSearch({ federation: {}, queries: [{ indexUid: "js2", q: "future" }] });
assert.deepEqual(ids(federated), [1]);
await refused(tenant.index("js2").getDocuments());
await client.deleteKey(key.uid);
await refused(tenant.index("js2").search(""));

// Webhooks.
const webhook = await client.createWebhook({ url: "https://example.org/", headers: { authorization: "TOKEN" } });
assert.deepEqual([webhook.isEditable, webhook.headers], [true, { authorization: "XXX..." }]);
assert.deepEqual((await client.getWebhooks()).results, [webhook]);
const changed = await client.updateWebhook(webhook.uuid, { headers: { authorization: null, "x-of": "js" } });
assert.deepEqual(changed.headers, { "x-of": "js" });
await client.deleteWebhook(webhook.uuid);
await assert.rejects(client.getWebhook(webhook.uuid), (error) => error.cause.code === "webhook_not_found");
await done(client.deleteIndex("js2"));

// Tasks and batches, copies of the database.
const third = await done(client.index("js3").addDocuments(films));
const batch = await client.batches.getBatch(third.batchUid);
assert.equal(batch.stats.types.documentAdditionOrUpdate, 1);
assert.ok((await client.batches.getBatches({ limit: 1 })).results.length === 1);
assert.equal((await done(client.tasks.cancelTasks({ statuses: ["enqueued"] }))).details.canceledTasks, 0);
assert.equal((await done(client.tasks.deleteTasks({ uids: [third.uid] }))).details.deletedTasks, 1);
await assert.rejects(client.tasks.getTask(third.uid), (error) => error.cause.code === "task_not_found");
const dump = await done(client.createDump());
assert.ok(existsSync(`${process.env.LAMINA_DATA}/dumps/${dump.details.dumpUid}.dump`));
await done(client.createSnapshot());
assert.ok(readdirSync(`${process.env.LAMINA_DATA}/snapshots`).some((name) => name.endsWith(".snapshot")));

// Editing by a function; a network in which this server is its own remote.
await client.updateExperimentalFeatures({ editDocumentsByFunction: true, network: true });
const edited = await done(client.index("js3").updateDocumentsByFunction({ function: "doc.year += context.by", context: { by: 1 } }));
assert.equal(edited.details.editedDocuments, 3);
const remote = { url: host, searchApiKey: process.env.LAMINA_KEY };
const network = await client.updateNetwork({ self: "here", remotes: { there: remote } });
assert.deepEqual([network.self, await client.getNetwork()], ["here", network]);
const merged = await client.multiSearch({
  federation: {},
  queries: ["here", "there"].map((name) => ({ indexUid: "js3", q: "alien", federationOptions: { remote: name } })),
});
assert.deepEqual(merged.hits.map((hit) => hit._federation.remote).sort(), ["here", "there"]);
await client.updateNetwork({ remotes: { there: null } });
await done(client.deleteIndex("js3"));

// An embedder that asks a model server, made and used by the client: words for the one, meaning for the other.
const meanings = { fox: 0, vulpine: 0, bus: 1, coach: 1 };
const model = createServer(async (request, response) => {
  const body = [];
  for await (const piece of request) body.push(piece);
  const { texts } = JSON.parse(Buffer.concat(body).toString());
  const weight = (text, axis) => 0.1 + text.split(" ").filter((word) => meanings[word] === axis).length;
  response.end(JSON.stringify({ vectors: texts.map((text) => [weight(text, 0), weight(text, 1)]) }));
});
await new Promise((listening) => model.listen(0, "127.0.0.1", listening));
const animals = client.index("js-animals");
await done(
  animals.updateEmbedders({
    model: {
      source: "rest",
      url: `http://127.0.0.1:${model.address().port}/`,
      request: { texts: ["{{text}}", "{{..}}"] },
      response: { vectors: ["{{embedding}}", "{{..}}"] },
      documentTemplate: "{{ doc.name }}",
    },
  }),
);
const named = ["red fox", "vulpine animal", "red bus"];
await done(animals.addDocuments(named.map((name, id) => ({ id, name }))));
assert.equal((await animals.getEmbedders()).model.source, "rest");
const hybrid = (semanticRatio) => animals.search("fox", { hybrid: { embedder: "model", semanticRatio } });
assert.deepEqual(ids(await hybrid(0)), [0]);
assert.deepEqual(ids(await hybrid(1)), [0, 1, 2]);
const both = await hybrid(0.5);
assert.deepEqual(ids(both).slice(0, 2), [0, 1]);
assert.ok(both.semanticHitCount >= 1);
assert.deepEqual(ids(await animals.searchSimilarDocuments({ id: 1, embedder: "model" })), [0, 2]);
await done(client.deleteIndex("js-animals"));

// Rules that pin documents, and templates that are rendered before anything is indexed with them.
await client.updateExperimentalFeatures({ dynamicSearchRules: true, renderRoute: true, chatCompletions: true });
const shop = client.index("js-shop");
const wares = ["desk lamp", "floor lamp", "red rug"].map((name, number) => ({ id: number + 1, name }));
await done(shop.addDocuments(wares));
const promotion = {
  description: "the rug of the week",
  precedence: 1,
  conditions: { query: { words: "lamp" } },
  actions: [{ selector: { indexUid: "js-shop", id: "3" }, action: { type: "pin", position: 1 } }],
};
const ruled = await done(client.updateDynamicSearchRule("rug", promotion));
assert.deepEqual([ruled.type, ruled.details.updatedRules], ["dsrUpdate", 1]);
assert.deepEqual(ids(await shop.search("lamp")), [1, 3, 2]);
const { uid, lastUpdatedAt, active, ...stored } = await client.getDynamicSearchRule("rug");
assert.deepEqual([uid, active, stored], ["rug", true, promotion]);
assert.equal(lastUpdatedAt, ruled.enqueuedAt);
assert.equal((await client.getDynamicSearchRules()).total, 1);
assert.equal((await client.getDynamicSearchRules({ filter: { query: "week", active: true } })).results[0].uid, "rug");
await done(client.deleteDynamicSearchRule("rug"));
assert.deepEqual(ids(await shop.search("lamp")), [1, 2]);
assert.equal((await done(client.deleteAllDynamicSearchRules())).type, "dsrClear");
const template = { kind: "inlineDocumentTemplate", inline: "{{ doc.name | upcase }}" };
const rendered = await client.renderTemplate({ template, input: { kind: "indexDocument", indexUid: "js-shop", id: "3" } });
assert.deepEqual(rendered, { template: template.inline, rendered: "RED RUG" });
assert.equal((await client.renderTemplate({ template })).rendered, null);

// A conversation: the provider's model searches, and answers with what was found.
const asked = [];
const provider = createServer(async (request, response) => {
  const body = [];
  for await (const piece of request) body.push(piece);
  const { messages } = JSON.parse(Buffer.concat(body).toString());
  asked.push({ authorization: request.headers.authorization, messages });
  const call = {
    index: 0,
    id: "c",
    function: { name: "_meiliSearchInIndex", arguments: JSON.stringify({ index_uid: "js-shop", q: "rug", filter: "" }) },
  };
  const [deltas, finish] =
    messages.at(-1).role === "tool" ? [[{ content: "The red " }, { content: "one." }], "stop"] : [[{ tool_calls: [call] }], "tool_calls"];
  const choices = deltas.map((delta) => ({ index: 0, delta, finish_reason: null }));
  choices.push({ index: 0, delta: {}, finish_reason: finish });
  response.setHeader("Content-Type", "text/event-stream");
  for (const choice of choices)
    response.write(`data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice] })}\n\n`);
  response.end("data: [DONE]\n\n");
});
await new Promise((listening) => provider.listen(0, "127.0.0.1", listening));
const about = await done(shop.updateChat({ description: "lamps and rugs", documentTemplate: "{{ doc.name }}", searchParameters: { limit: 1 } }));
assert.equal(about.status, "succeeded");
assert.equal((await shop.getChat()).description, "lamps and rugs");
const chat = client.chat("js");
const baseUrl = `http://127.0.0.1:${provider.address().port}/v1`;
const workspace = await chat.update({ source: "vLlm", baseUrl, apiKey: "a-secret-of-the-provider", prompts: { system: "Be brief." } });
assert.deepEqual([workspace.source, workspace.apiKey], ["vLlm", "a-sXXXXX..."]);
assert.deepEqual(await chat.get(), workspace);
assert.deepEqual(await client.getChatWorkspace("js"), { uid: "js" });
assert.ok((await client.getChatWorkspaces({ limit: 100 })).results.some(({ uid }) => uid === "js"));
const messages = [{ role: "user", content: "which rug?" }];
const stream = await chat.streamCompletion({ model: "m", messages, stream: true });
let text = "";
for await (const piece of stream.pipeThrough(new TextDecoderStream())) text += piece;
const data = text.split("\n").filter((line) => line.startsWith("data: "));
assert.equal(data.at(-1), "data: [DONE]");
const said = data.slice(0, -1).map((line) => JSON.parse(line.slice(6)).choices[0].delta.content ?? "");
assert.equal(said.join(""), "The red one.");
assert.equal(asked[0].authorization, "Bearer a-secret-of-the-provider");
assert.deepEqual(asked[0].messages, [{ role: "system", content: "Be brief." }, ...messages]);
assert.deepEqual(asked[1].messages.at(-1), { role: "tool", content: "red rug", tool_call_id: "c" });
await chat.reset();
assert.equal((await chat.get()).apiKey, null);
await client.deleteChatWorkspace("js");
await assert.rejects(client.getChatWorkspace("js"), (error) => error.cause.code === "chat_not_found");
await done(client.deleteIndex("js-shop"));
await client.updateExperimentalFeatures({ dynamicSearchRules: false, renderRoute: false, chatCompletions: false });
provider.close();
provider.closeAllConnections();
model.close();
model.closeAllConnections();
console.log("js client: passed");
