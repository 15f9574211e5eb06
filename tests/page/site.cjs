// The search of the manual's site: each query of a list finds its page first.
// usage: node tests/page/site.cjs SITE QUERIES
const { readFileSync } = require('node:fs');
const { join, resolve } = require('node:path');

const [site, queries] = process.argv.slice(2);
const at = name => resolve(join(site, name));
const MiniSearch = require(at('minisearch.js'));
const { SETUP, manual } = require(at('find.js'));
global.self = {};
require(at('search-index.js'));
const search = manual(MiniSearch.loadJSON(global.self.manualIndex, SETUP));

const lines = readFileSync(queries, 'utf8').split('\n').filter(line => line && !line.startsWith('#'));
let wrong = 0;
for (const line of lines) {
  const [query, ...pages] = line.split(/\s*\|\s*/);
  const first = search(query)[0]?.id.split('#')[0];
  if (!pages.some(page => `${page}.html` === first)) {
    wrong++;
    console.error(`${query}: expected ${pages.join(' or ')}, found ${search(query).slice(0, 3).map(hit => hit.id).join(', ')}`);
  }
}
console.log(`${lines.length} queries, ${wrong} do not find their page first`);
process.exit(wrong || lines.length < 60 ? 1 : 0);
