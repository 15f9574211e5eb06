// InstantSearch's view of a running server, through its official connector: LAMINA_URL and LAMINA_KEY say where.
import assert from "node:assert/strict";
import { instantMeiliSearch } from "@meilisearch/instant-meilisearch";
import { Meilisearch } from "meilisearch";

const host = process.env.LAMINA_URL;
const admin = new Meilisearch({ host, apiKey: process.env.LAMINA_KEY });
const done = async (enqueued) => {
  const task = await enqueued.waitTask({ timeout: 20_000 });
  assert.equal(task.status, "succeeded", JSON.stringify(task.error));
};

const point = (lat, lng) => ({ _geo: { lat, lng }, _geojson: { type: "Point", coordinates: [lng, lat] } });
await done(admin.createIndex("instant", { primaryKey: "id" }));
const index = admin.index("instant");
await done(
  index.updateSettings({
    filterableAttributes: ["genres", "director", "year", "_geo", "_geojson"],
    sortableAttributes: ["year", "_geo"],
    pagination: { maxTotalHits: 100 },
  }),
);
await done(
  index.addDocuments([
    { id: 1, title: "Alien", genres: ["Horror", "Science Fiction"], director: "Ridley Scott", year: 1979, ...point(48.86, 2.35) },
    { id: 2, title: "Aliens", genres: ["Action", "Science Fiction"], director: "James Cameron", year: 1986, ...point(51.5, -0.12) },
    { id: 3, title: "Gladiator", genres: ["Action", "Drama"], director: "Ridley Scott", year: 2000, ...point(41.9, 12.5) },
    { id: 4, title: "The Martian", genres: ["Drama", "Science Fiction"], director: "Ridley Scott", year: 2015, ...point(40.7, -74) },
  ]),
);

const { searchClient } = instantMeiliSearch(host, process.env.LAMINA_KEY, { primaryKey: "id", finitePagination: true });
const ask = async (...requests) => {
  const asked = requests.map(({ indexName = "instant", ...params }) => ({ indexName, params }));
  const { results } = await searchClient.search(asked);
  assert.equal(results.length, requests.length);
  return results;
};
const ids = (result) => result.hits.map((hit) => hit.id);

// Words, typos, and what is shown of them.
const [words] = await ask({ query: "alein", hitsPerPage: 10, attributesToSnippet: ["title:2"] });
assert.deepEqual(ids(words), [1, 2]);
assert.equal(words.nbHits, 2);
assert.match(words.hits[0]._highlightResult.title.value, /__ais-highlight__Alien__\/ais-highlight__/);
assert.match(words.hits[0]._snippetResult.title.value, /Alien/);
assert.ok(words.hits[0].objectID);

// A list of facets with one value chosen: the connector asks for the other counts without it, in the same multi-search.
const facets = ["genres", "director", "year"];
const [chosen, others] = await ask(
  { query: "", facets, facetFilters: [["genres:Science Fiction"], ["director:Ridley Scott"]] },
  { query: "", facets: ["director"], facetFilters: [["genres:Science Fiction"]], hitsPerPage: 0 },
);
assert.deepEqual(ids(chosen), [1, 4]);
assert.deepEqual(chosen.facets.director, { "Ridley Scott": 2 });
assert.deepEqual(others.facets.director, { "James Cameron": 1, "Ridley Scott": 2 });
assert.deepEqual([chosen.facets_stats.year.min, chosen.facets_stats.year.max], [1979, 2015]);

// Sliders, sorting by another "index", pages.
const [since] = await ask({ query: "", numericFilters: ["year>=1986", "year<=2000"] });
assert.deepEqual(ids(since), [2, 3]);
const [latest] = await ask({ indexName: "instant:year:desc", query: "" });
assert.deepEqual(ids(latest), [4, 3, 2, 1]);
const [second] = await ask({ query: "", page: 1, hitsPerPage: 3 });
assert.deepEqual([ids(second), second.page, second.nbPages, second.nbHits], [[4], 1, 2, 4]);

// Maps.
const [near] = await ask({ query: "", aroundLatLng: "48.86, 2.35", aroundRadius: 400_000 });
assert.deepEqual(ids(near), [1, 2]);
const [inBox] = await ask({ query: "", insideBoundingBox: "52,13,40,-1" });
assert.deepEqual(ids(inBox).sort(), [1, 2, 3]);

// The search box of a facet.
const [found] = await searchClient.searchForFacetValues([
  { indexName: "instant", params: { facetName: "director", facetQuery: "rid", maxFacetHits: 10, query: "" } },
]);
assert.deepEqual(found.facetHits.map(({ value, count }) => [value, count]), [["Ridley Scott", 3]]);

await done(admin.deleteIndex("instant"));
console.log("instant-meilisearch: passed");
