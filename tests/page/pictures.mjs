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
await write('PUT', '/aliases/current-films', { indexUid: 'films' });
await api('POST', '/webhooks', { url: 'https://hooks.example/lamina' });
await api('PATCH', '/experimental-features', { dynamicSearchRules: true });
await write('PATCH', '/dynamic-search-rules/space', { description: 'Alien first', conditions: { query: { words: 'space' } }, actions: [{ selector: { indexUid: 'films', id: '24904' }, action: { type: 'pin', position: 0 } }] });
await api('POST', '/indexes/films/documents', [{ title: 'without an id' }]);

const click = text => `[...document.querySelectorAll('#view button, #languages button')].find(one => one.textContent.startsWith('${text}')).click()`;
// What each picture shows: the address, when it is ready, and what is done before.
const FILMS = '/?index=films';
const VIEWS = [
  ['search', FILMS + '&q=space+ship+alein&f.genres=Horror', `document.querySelectorAll('article').length > 3`, `document.querySelector('article details').open = true`],
  ['search-tools', FILMS + '&q=harrison+ford&filter=year+%3E+1980', `document.querySelectorAll('article').length > 3`,
    `document.querySelectorAll('#tools details').forEach(one => { one.open = true; }); ${click('Python')}; document.getElementById('missing').value = '24904'; document.querySelector('#why-not button').click()`,
    `document.getElementById('reason').textContent !== '' && !document.getElementById('code').hidden`],
  ['search-semantic', '/?index=meanings&q=alien&ratio=0.8', `document.querySelectorAll('article').length === 3`],
  ['compare', FILMS + '&view=compare&q=a+film+about+a+shark', `document.querySelectorAll('#view ol li').length > 3`,
    `document.querySelectorAll('#view textarea')[4].value = '{"q": "a film about a shark", "relevant": {"24369": 3, "29996": 2}}\\n{"q": "space ship alein", "relevant": ["24904"]}'; ${click('Evaluate')}`, `document.querySelectorAll('#view td').length > 8`],
  ['indexes', FILMS + '&view=indexes', `document.querySelectorAll('#view tr').length > 3`, click('Details'), `document.querySelectorAll('#view tr').length > 12`],
  ['documents', FILMS + '&view=documents', `document.querySelectorAll('#view details').length > 3`, `document.querySelector('#view details').open = true;
    sendFile(new File(['{"id": 1,\\n{"title": "No id"}\\n'], 'more-films.ndjson'), '/indexes/films/documents', document.querySelector('.upload'))`, `document.querySelectorAll('.upload .bad').length === 2`],
  ['settings', FILMS + '&view=settings', `document.querySelectorAll('#view section').length > 20`],
  ['rules', FILMS + '&view=rules', `document.querySelectorAll('#view details').length > 0`, `document.querySelector('#view details').open = true`],
  ['tasks', FILMS + '&view=tasks', `document.querySelectorAll('#view tr').length > 8`],
  ['server', FILMS + '&view=server', `document.querySelectorAll('.chart').length === 6 && document.body.innerText.includes('replica.example') && document.body.innerText.includes('vowels')
    && document.querySelector('.chart polyline').getAttribute('points').split(' ').length > 3`],
  ['docs', '/docs', `document.querySelectorAll('details.one').length > 100`, `document.querySelector('#post_indexes_indexUid_search > summary').click()`],
  ['docs-errors', '/docs/errors', `document.body.innerText.length > 1000`],
];
const page = await open(process.env.CHROMIUM);
try {
  const all = async name => {
    for (const scheme of ['light', 'dark']) {
      await page.scheme(scheme);
      for (const [width, height] of [[390, 844], [1280, 900], [2560, 1440]]) {
        await page.size(width, height);
        // As the page begins at this width.
        await page.settled();
        await page.value(`{ const filters = document.getElementById('filters'); if (filters) filters.open = innerWidth > 720; }`);
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
  await page.until(`!document.getElementById('signin').hidden && document.activeElement.id === 'key'`);
  await all('signin');
  await page.type(process.env.PROTECTED_KEY);
  await page.press('Enter');
  await page.until(`document.querySelectorAll('#view tr').length > 2`, 'keys');
  await page.value(click('Create token'));
  await page.until(`document.querySelector('.token').textContent !== ''`, 'a token');
  await all('keys');
} finally {
  await page.close();
  embedder.close();
  embedder.closeAllConnections();
}
