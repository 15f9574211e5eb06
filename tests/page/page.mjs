// The page at `/` in a headless Chromium: LAMINA_URL says where, CHROMIUM which program, PICTURES where to put pictures.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { open } from './browser.mjs';

const url = process.env.LAMINA_URL, pictures = process.env.PICTURES;

async function api(method, path, body) {
  const answer = await fetch(url + path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  assert.ok(answer.ok, method + ' ' + path + ': ' + answer.status);
  return answer.json();
}
const write = (method, path, body) => api(method, path + '?wait=searchable', body);

// Makes a vector of a text: the share of its vowels.
const embedder = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  const texts = JSON.parse(body).input;
  const vector = text => [...'aeiou'].map(letter => text.toLowerCase().split(letter).length / (text.length + 1));
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ data: texts.map(vector) }));
});
await new Promise(resolve => embedder.listen(0, '127.0.0.1', resolve));

const films = [
  ['Alien', 1979, 'Horror'], ['Aliens', 1986, 'Action'], ['Up', 2009, 'Animation'], ['Heat', 1995, 'Crime'],
  ['Back to the Future', 1985, 'Comedy'], ['The Thing <b>bold</b>', 1982, 'Horror'],
].map(([title, year, genre], id) => ({ id, title, year, genre, overview: 'A film called ' + title + '.' }));
await write('PATCH', '/indexes/films/settings', { filterableAttributes: ['genre'], sortableAttributes: ['year'] });
await write('POST', '/indexes/films/documents', films);
await write('POST', '/indexes/meanings/documents', films);
await write('PATCH', '/indexes/meanings/settings', { embedders: { vowels: { source: 'rest', dimensions: 5,
  url: 'http://127.0.0.1:' + embedder.address().port + '/', documentTemplate: '{{doc.title}}',
  request: { input: ['{{text}}', '{{..}}'] }, response: { data: ['{{embedding}}', '{{..}}'] } } } });

const page = await open(process.env.CHROMIUM);
try {
  await page.size(1200, 900);
  await page.scheme('light');
  await page.show(url + '/');
  const title = place => `document.querySelectorAll('article')[${place}].querySelectorAll('dd')[1].textContent`;
  const hits = count => page.until(`document.querySelectorAll('article').length === ${count}`, count + ' hits');
  await hits(6);
  assert.deepEqual(await page.value(`[...document.getElementById('index').options].map(one => one.value)`), ['films', 'meanings']);
  assert.equal(await page.value(`document.getElementById('meanings').hidden`), true, 'no slider without an embedder');

  // Typed letter by letter, found while typing; what matched is marked, and documents are text.
  await page.press('/');
  await page.type('alie');
  // The letters before the last one find as many.
  await page.until(`document.querySelector('article mark')?.textContent === 'Alie'`, 'the answer to all letters');
  await hits(2);
  assert.equal(await page.value(title(0)), 'Alien');
  assert.match(await page.value(`document.getElementById('about').textContent`), /^2 hits in \d+ ms$/);

  // From hit to hit with arrows, and why it stands there with Enter.
  await page.press('ArrowDown');
  await page.press('ArrowDown');
  assert.equal(await page.value(`[...document.querySelectorAll('article')].indexOf(document.activeElement)`), 1);
  await page.press('Enter');
  assert.equal(await page.value(`document.activeElement.querySelector('details').open`), true);
  const rules = await page.value(`[...document.activeElement.querySelectorAll('.scores td:first-child')].map(one => one.textContent)`);
  assert.ok(rules.length >= 5 && rules[0] === 'words', String(rules));
  await page.picture(join(pictures, 'light.png'));
  await page.press('Escape');
  await page.press('Escape');
  await hits(6);
  assert.equal(await page.value(`document.querySelectorAll('b b, dd b').length`), 0, 'documents are never HTML');

  // Facets and sorting.
  await page.value(`[...document.querySelectorAll('#facets label')].find(one => one.textContent.startsWith('Horror')).click()`);
  await hits(2);
  await page.value(`const sort = document.getElementById('sort'); sort.value = 'year:desc'; sort.onchange()`);
  await page.until(`${title(0)}.startsWith('The Thing')`);

  // Sizes, segments, tasks.
  assert.ok(await page.value(`document.getElementById('sizes').rows.length`) > 3);
  assert.ok(await page.value(`document.getElementById('segments').rows.length`) > 0);
  assert.match(await page.value(`document.getElementById('segment-count').textContent`), /^\d+ segments?$/);
  assert.match(await page.value(`document.getElementById('tasks').rows[0].textContent`), /settingsUpdatesucceeded/);

  // The slider of an index with an embedder.
  await page.value(`const index = document.getElementById('index'); index.value = 'meanings'; index.onchange()`);
  await page.until(`!document.getElementById('meanings').hidden`);
  await page.value(`document.getElementById('q').focus()`);
  await page.type('iee');
  await page.value(`const ratio = document.getElementById('ratio'); ratio.value = '1'; ratio.oninput()`);
  await page.until(`document.getElementById('about').textContent.includes('by meaning')`);
  await hits(6);
  await page.scheme('dark');
  await page.picture(join(pictures, 'dark.png'));
  await page.size(420, 800);
  await page.picture(join(pictures, 'narrow.png'));

  // A refusal is shown, not swallowed.
  await page.value(`document.getElementById('embedder').options[0].value = 'unknown'; document.getElementById('embedder').onchange()`);
  await page.until(`document.getElementById('said').textContent.includes('unknown')`);
  const refusals = page.problems.filter(text => text.includes('400'));
  assert.deepEqual(page.problems.filter(text => !refusals.includes(text)), [], 'errors on the page');
} finally {
  await page.close();
  embedder.close();
  embedder.closeAllConnections();
}
console.log('the page: passed');
