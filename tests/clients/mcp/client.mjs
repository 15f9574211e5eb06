// The protocol's own client over HTTP and over pipes. It compares each answer with the schemas of the protocol, and structured results with those that the tools announce.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, command] = [process.env.LAMINA_URL, process.env.LAMINA];
const ask = async (path, options) => (await fetch(url + path, options)).json();
const films = [{ id: 1, title: "Alien", year: 1979 }, { id: 2, title: "Aliens", year: 1986 }, { id: 3, title: "Up", year: 2009 }];
const write = (method, path, body) =>
  ask(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
await write("PATCH", "/indexes/films/settings", { filterableAttributes: ["year"] });
const { taskUid } = await write("POST", "/indexes/films/documents", films);
let task;
do task = await ask(`/tasks/${taskUid}`); while (["enqueued", "processing"].includes(task.status));
assert.equal(task.status, "succeeded");

for (const [way, transport] of [
  ["HTTP", new StreamableHTTPClientTransport(new URL(url + "/mcp"))],
  ["pipes", new StdioClientTransport({ command, args: ["mcp", "--url", url] })],
]) {
  const client = new Client({ name: "conformance", version: "1" });
  await client.connect(transport);
  assert.equal(client.getServerVersion().name, "lamina");
  assert.deepEqual(client.getServerCapabilities(), { tools: {} });
  await client.ping();
  const { tools } = await client.listTools();
  const names = tools.map((tool) => tool.name).sort();
  assert.deepEqual(names, ["explain", "facets", "fetch", "get_settings", "list_indexes", "search"]);
  for (const [name, given] of [
    ["list_indexes", {}],
    ["search", { index: "films", q: "alein" }],
    ["fetch", { index: "films", ids: ["3"] }],
    ["facets", { index: "films", facets: ["year"] }],
    ["get_settings", { index: "films" }],
    ["explain", { index: "films", q: "alien", document_id: "1" }],
  ]) {
    const called = await client.callTool({ name, arguments: given });
    assert.equal(called.isError, false, `${way}, ${name}: ${JSON.stringify(called)}`);
    assert.equal(called.content[0].type, "text");
    JSON.parse(called.content[0].text);
  }
  const refused = await client.callTool({ name: "search", arguments: { index: "absent", q: "" } });
  assert.equal(refused.isError, true);
  assert.match(refused.content[0].text, /Index `absent` not found/);
  await assert.rejects(client.callTool({ name: "drop", arguments: {} }), { code: -32602 });
  await assert.rejects(client.listPrompts(), /prompts/);
  await client.close();
}
console.log("The protocol's client lists and calls the tools over HTTP and over pipes");
