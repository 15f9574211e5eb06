// A picture of every view at every width, in light and dark: see scripts/pictures.sh. Prints their names.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { CUT_OFF, open } from './browser.mjs';

const url = process.env.WRITER_URL, pictures = process.env.PICTURES;

const embedder = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  const vector = text => [...'aeiou'].map(letter => text.toLowerCase().split(letter).length / (text.length + 1));
  response.end(JSON.stringify({ data: JSON.parse(body).input.map(vector) }));
});
await new Promise(resolve => embedder.listen(0, '127.0.0.1', resolve));

async function api(method, path, body) {
  const answer = await fetch(url + path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  assert.ok(answer.ok, method + ' ' + path + ': ' + answer.status + ' ' + (answer.ok || await answer.text()));
}
const write = (method, path, body) => api(method, path + '?wait=searchable', body);
await write('PATCH', '/indexes/films/settings', { filterableAttributes: ['genres', 'cast', 'year'], sortableAttributes: ['year'], synonyms: { movie: ['film'] } });
await write('POST', '/indexes/meanings/documents', ['Alien', 'Up', 'Heat'].map((title, id) => ({ id, title, released: '20' + (10 + id) + '-03-01' })));
await write('PATCH', '/indexes/meanings/settings', { filterableAttributes: ['released'], embedders: { vowels: { source: 'rest', dimensions: 5, documentTemplate: '{{doc.title}}',
  url: 'http://127.0.0.1:' + embedder.address().port + '/', request: { input: ['{{text}}', '{{..}}'] }, response: { data: ['{{embedding}}', '{{..}}'] } } } });
await write('PATCH', '/indexes/places/settings', { filterableAttributes: ['_geo', 'kind'], sortableAttributes: ['_geo'] });
await write('POST', '/indexes/places/documents', [['Louvre', 48.86, 2.34], ['Versailles', 48.8, 2.12], ['Vincennes', 48.84, 2.43]].map(([name, lat, lng], id) => ({ id, name, kind: 'palace', _geo: { lat, lng } })));
await write('PUT', '/aliases/current-films', { indexUid: 'films' });
await api('POST', '/webhooks', { url: 'https://hooks.example/lamina' });
await api('PATCH', '/experimental-features', { dynamicSearchRules: true });
await write('PATCH', '/dynamic-search-rules/space', { description: 'Alien first', conditions: { query: { words: 'xenomorph' } }, actions: [{ selector: { indexUid: 'films', id: '24904' }, action: { type: 'pin', position: 0 } }] });
await api('POST', '/indexes/films/documents', [{ title: 'without an id' }]);
await write('PATCH', '/indexes/films/settings/analytics', { searches: true });
for (const [place, q] of ['alien', 'space ship', 'alien', 'xenomorph hotel', 'wizard', 'alien', 'space ship', 'qqqqzz'].entries()) {
  const headers = { 'Content-Type': 'application/json', 'X-MS-USER-ID': 'user-' + place % 5, 'Meili-Include-Metadata': 'true' };
  const { hits, metadata } = await (await fetch(url + '/indexes/films/search', { method: 'POST', headers, body: JSON.stringify({ q, filter: place % 3 ? undefined : 'year > 1970' }) })).json();
  if (hits.length && place % 2 === 0) await api('POST', '/events', { eventType: 'click', eventName: 'Hit', indexUid: 'films', userId: 'user-' + place % 5, queryUid: metadata.queryUid, objectId: String(hits[0].id), position: 0 });
}

const click = text => `[...document.querySelectorAll('main button')].find(one => (one.getAttribute('aria-label') || one.textContent).startsWith('${text}')).click()`;
// What each picture shows: the address, when it is ready, and what is done before.
const FILMS = '/?index=films', HITS = `document.querySelectorAll('.hit').length > 3`;
const SETTLED = `document.querySelector('main')?.innerText.length > 20 && !document.querySelector('main .loading')`;
const view = id => [id, FILMS + '&view=' + id, SETTLED];
const VIEWS = [
  ['search', FILMS + '&q=space+ship+alein&f.genres=Horror', HITS],
  ['search-all', FILMS, HITS],
  ['search-why', FILMS + '&q=space+ship+alein&why=24904', `document.querySelectorAll('.ladder li').length > 3 && document.querySelectorAll('.lines path').length > 2`],
  ['search-missing', FILMS + '&q=wizard&filter=year+%3E+2000&why=7565', `document.querySelector('.why-reason') !== null`],
  ['search-code', FILMS + '&q=harrison+ford&filter=year+%3E+1980', HITS, click('This search as code'), `document.querySelector('dialog .code') !== null`],
  ['search-table', FILMS + '&q=space', HITS, `document.querySelector('[aria-label=Table]').click()`, `document.querySelectorAll('main tbody tr').length > 3`],
  ['search-json', FILMS + '&q=space', `document.querySelectorAll('main tbody tr').length > 3`, `document.querySelector('[aria-label=JSON]').click()`, HITS],
  ['search-cards', FILMS + '&q=nothinglikethis', SETTLED, `document.querySelector('[aria-label=Cards]').click()`],
  ['search-semantic', '/?index=meanings&q=alien&way=meaning&ratio=0.8', `document.querySelectorAll('.hit').length === 3`],
  ['search-places', '/?index=places', `document.querySelectorAll('.places circle').length === 3`],
  ['analytics', FILMS + '&view=analytics&range=24h', `document.querySelectorAll('.ranked').length === 2`],
  ['analytics-query', FILMS + '&view=analytics&query=alien', `document.querySelector('dialog .figures') !== null`],
  ...['compare', 'rules', 'synonyms', 'settings', 'indexes', 'documents', 'tasks', 'server', 'keys', 'try'].map(view),
  ['docs', '/docs', `document.querySelector('main').innerText.length > 200`],
  ['docs-api', '/docs/api', `document.querySelectorAll('details.one').length > 100`, `document.querySelector('#post_indexes_indexUid_search > summary').click()`],
  ['docs-errors', '/docs/errors', `document.body.innerText.length > 1000`],
];
const page = await open(process.env.CHROMIUM);
try {
  const all = async name => {
    for (const scheme of ['light', 'dark']) {
      await page.scheme(scheme);
      for (const [width, height] of [[390, 844], [1280, 900], [2560, 1440]]) {
        await page.size(width, height);
        await page.settled();
        // All of it, as far as a picture is still looked at.
        const whole = await page.value(`Math.min(document.documentElement.scrollHeight, 3000)`);
        await page.size(width, Math.max(height, whole));
        await page.settled();
        const file = name + '-' + scheme + '-' + width + '.png';
        const over = await page.value(`document.documentElement.scrollWidth - document.documentElement.clientWidth`);
        await page.picture(join(pictures, file));
        const cut = await page.value(CUT_OFF);
        console.log(file + (over > 0 ? ': ' + over + ' pixels too wide' : '') + (cut.length ? ': cut off: ' + cut.join(', ') : ''));
      }
    }
  };
  for (const [name, path, ready, act, done] of VIEWS) {
    await page.size(1280, 900);
    await page.show(url + path);
    await page.until(ready, name);
    if (act) await page.value(act);
    if (done) await page.until(done, name + ', after what is done in it');
    await all(name);
  }
  await page.show(process.env.PROTECTED_URL + '/?view=keys');
  await page.until(`document.querySelector('.gate input') !== null`, 'signing in');
  await all('signin');
} finally {
  await page.close();
  embedder.close();
  embedder.closeAllConnections();
}
