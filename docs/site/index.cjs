// Makes the index of the site's search from the sections of its pages.
// usage: node index.cjs FOLDER_WITH_MINISEARCH SECTIONS.json INDEX.js
const { readFileSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { SETUP } = require('./find.js');

const [folder, sections, target] = process.argv.slice(2);
const MiniSearch = createRequire(folder + '/')('minisearch');
const index = new MiniSearch(SETUP);
index.addAll(JSON.parse(readFileSync(sections, 'utf8')));
writeFileSync(target, `self.manualIndex = ${JSON.stringify(JSON.stringify(index))};\n`);
console.log(`${index.documentCount} sections, ${index.termCount} words`);
