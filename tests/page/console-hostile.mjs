// What may not break the console, in a headless Chromium: documents that would be HTML, names that turn the text around, 10,000 fields, a document of megabytes, addresses
// without sense, an index that somebody deletes, a lost connection. LAMINA_URL, CHROMIUM, PICTURES as for console.mjs; PROTECTED_URL and PROTECTED_KEY: a server that
// loads pictures over HTTP, too.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { open } from './browser.mjs';
import { steps } from './console-steps.mjs';
import { looks } from './looks.mjs';

const url = process.env.LAMINA_URL, { PROTECTED_URL, PROTECTED_KEY } = process.env;
const page = await open(process.env.CHROMIUM);
const { has, gone, click, fill, tick, drop, write, go, back, problems } = steps(page, url);
const { lookAt, end } = looks(page);

const FIELDS = 10_000, MEGABYTES = 1, ELEMENTS_MOST = 30_000;
const NAME = '<img src=x onerror=alert(1)>', TURNED = '\u202eright', HIDDEN = '\u200b', SCRIPT = '<script>window.broken = true</script>';
const VIEWS = ['search', 'documents', 'compare', 'rules', 'synonyms', 'settings', 'indexes', 'tasks', 'server', 'keys', 'try'];

async function prepare() {
  const all = { id: 'x', title: SCRIPT + ' alien', [NAME]: 'javascript:alert(1)', [TURNED]: HIDDEN + '\u202e<b>x</b>', __proto__x: { a: [null, [], {}] }, constructor: 'y' };
  const wide = Object.fromEntries(Array.from({ length: FIELDS }, (_, field) => ['f' + field, field]));
  await write('PATCH', '/indexes/wide/settings', { filterableAttributes: ['*'], sortableAttributes: ['*'] });
  await write('POST', '/indexes/wide/documents', [{ id: 'w', ...wide, title: 'wide' }]);
  await write('PATCH', '/indexes/hostile/settings', { filterableAttributes: ['*'], sortableAttributes: ['title'], searchableAttributes: [NAME, TURNED, 'constructor', 'title'], stopWords: ['<b>', '\u202e'], synonyms: { [SCRIPT]: [TURNED, '__proto__'], __proto: [HIDDEN] } });
  await write('POST', '/indexes/hostile/documents', [all, { id: 'x2', title: 'constructor', constructor: 'y' }]);
  await write('POST', '/indexes/huge/documents', [{ id: 1, title: 'A huge document', text: 'word '.repeat(MEGABYTES * 200_000), list: Array.from({ length: 20_000 }, (_, place) => ({ place })) }]);
}

/** Nothing of a document became HTML, and the page has not grown beyond what a browser can hold. */
async function isSound(address) {
  await page.until(`document.querySelector('main')?.innerText.length > 60 && !document.querySelector('.loading')`, address);
  assert.equal(await page.value(`window.broken === undefined && !document.querySelector('main img, dialog img')`), true, address + ' makes HTML of a document');
  const elements = await page.value(`document.querySelectorAll('*').length`);
  assert.ok(elements < ELEMENTS_MOST, `${address}: ${elements} elements`);
  assert.ok(await page.value(`document.documentElement.scrollWidth <= document.documentElement.clientWidth`), address + ' is wider than the page');
}

async function documents() {
  const addresses = ['&q=script', '&why=x', '&f.constructor=y', '&why=%3Cscript%3E', '&sort=%3Cb%3E', '&limit=1e99&ratio=NaN&box=a,b,c,d&r.x=..&f.=%00', '&view=documents&doc=x', '&view=indexes&sheet=hostile', '&view=tasks&of=%3Cscript%3E', '&view=settings&group=facets',
    '&view=settings&group=none', '&view=settings&s=(((', '&view=synonyms&tab=stop', '&view=rules&rule=new&pin=../x&q=%3Cb%3E', '&view=compare&q=alien&a=%7B&b=' + encodeURIComponent('{"settings":[],"boosts":7}'),
    '&view=compare&q=%3Cscript%3E&b=' + encodeURIComponent('{"strategy":"nonsense","boosts":[null,3]}')];
  for (const address of addresses) {
    await page.show(url + '/?index=hostile' + address);
    await isSound(address);
  }
  await go('documents', 'hostile');
  await has('2 documents');
  // A name that is HTML in the head of a file.
  await drop('hostile.csv', `${NAME},id\n"${SCRIPT}",\u202e\n`);
  await has('Import hostile.csv', 'dialog');
  await isSound('a file');
  await page.press('Escape');
}

async function manyFields() {
  for (const address of ['&why=w', '&view=documents&doc=w', '&view=indexes&sheet=wide', '&view=settings&group=facets', ...VIEWS.map(view => '&view=' + view)]) {
    await page.show(url + '/?index=wide' + address);
    await isSound(address);
  }
  // Fields can be chosen among them: names are offered as they are typed.
  await page.show(url + '/?view=settings&index=wide&group=facets');
  await page.until(`(() => { const one = document.querySelector('#setting-sortableAttributes .picker input'); one?.focus(); return one && document.activeElement === one; })()`, 'a field for names');
  await page.type('f99');
  await page.until(`[...document.querySelectorAll('#setting-sortableAttributes [role=option]')].some(one => one.innerText.startsWith('f99'))`, 'names are offered');
}

async function hugeDocument() {
  for (const address of ['&q=word', '&why=1', '&view=documents', '&view=compare&q=huge']) {
    await page.show(url + '/?index=huge' + address);
    await isSound(address);
    await has('A huge document');
  }
  // All of it can be edited.
  await page.show(url + '/?view=documents&index=huge&doc=1');
  await page.until(`document.querySelector('dialog textarea')?.value.length > ${MEGABYTES * 1_000_000}`, 'the whole document');
  await page.show(url + '/?index=huge');
  await has('A huge document');
  for (const look of ['JSON', 'Table', 'Cards']) {
    await page.value(`document.querySelector('[aria-label=${look}]').click()`);
    await page.settled();
    await isSound(look);
  }
}

async function deleted() {
  for (const view of ['search', 'documents', 'compare', 'synonyms', 'settings']) {
    const name = 'short-' + view;
    await write('POST', `/indexes/${name}/documents`, [{ id: 1, title: 'A short life' }]);
    await page.show(`${url}/?view=${view}&index=${name}`);
    await page.until(`document.querySelector('.switcher-button')?.innerText.includes('1 document')`, view + ' shows it');
    await write('DELETE', '/indexes/' + name);
    await back();
    await has(`There is no index “${name}”.`);
    // A way out, and no other index in its place.
    await click('hostile', 'main');
    await page.until(`new URLSearchParams(location.search).get('index') === 'hostile'`, 'the way out');
  }
  await write('POST', '/indexes/short-sheet/documents', [{ id: 1 }]);
  await page.show(`${url}/?view=indexes&sheet=short-sheet`);
  await has('Primary key', 'dialog');
  await write('DELETE', '/indexes/short-sheet');
  await back();
  await has('There is no index “short-sheet”.', 'dialog');
  await page.press('Escape');
}

async function connection() {
  await write('POST', '/indexes/films/documents', [{ id: 1, title: 'Alien' }, { id: 2, title: 'Solaris' }]);
  await page.show(url + '/?index=films');
  await has('2 hits');
  await page.offline(true);
  await back();
  await page.until(`document.querySelector('.banner')?.innerText.includes('does not answer')`, 'a lost connection is said');
  await has('2 hits');
  await lookAt('away');
  // What is typed meanwhile is found when the server is back.
  await page.value(`document.querySelector('[data-search]').focus()`);
  await page.type('solaris');
  await page.offline(false);
  await page.until(`!document.querySelector('.banner')`, 'the server is back');
  await has('1 hit');
  // A write that does not arrive says so where it was made, and nothing that was entered is lost.
  await page.show(url + '/?view=settings&index=films');
  await has('Searchable fields');
  await page.offline(true);
  await tick('Not in numbers');
  await click('Apply', '.draft-bar');
  await page.until(`document.querySelector('.draft-bar .failure')?.innerText.includes('does not answer')`, 'the write did not arrive');
  await page.offline(false);
  await page.until(`!document.querySelector('.banner')`, 'the server is back');
  await click('Discard', '.draft-bar');
  await page.show(url + '/?view=documents&index=films');
  await has('2 documents');
  await click('Add', 'main');
  await fill('A document or a list of documents', '{"id": 3}');
  await page.offline(true);
  await click('Add', 'dialog footer');
  await page.until(`document.querySelector('dialog .wrong')?.innerText.includes('does not answer')`, 'the document did not arrive');
  await page.offline(false);
  await click('Add', 'dialog footer');
  await page.until(`!document.querySelector('dialog[open]')`, 'it arrives at the second try');
  await has('3 documents');
  // A page that is opened while the server is away waits for it.
  await page.value(`(() => { window.asked = fetch; window.fetch = () => Promise.reject(new TypeError('away')); })()`);
  await back();
  await page.until(`document.querySelector('.banner')`, 'the server is away');
  await page.value(`(() => { window.fetch = window.asked; })()`);
  await page.until(`!document.querySelector('.banner')`, 'the server is back');
}

/** Pictures over HTTP are an option of the server; those that do not come leave nothing behind. */
async function pictures() {
  const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  const pictures = createServer((request, answer) => { answer.writeHead(request.url.includes('lost') ? 404 : 200, { 'Content-Type': 'image/png' }); answer.end(request.url.includes('lost') ? '' : PIXEL); });
  await new Promise(done => pictures.listen(0, '127.0.0.1', done));
  try {
    const at = `http://127.0.0.1:${pictures.address().port}/`, documents = [{ id: 1, title: 'One', image: at + 'one.png' }, { id: 2, title: 'Two', image: at + 'lost.png' }];
    await write('POST', '/indexes/pictures/documents', documents);
    await page.show(url + '/?index=pictures');
    await has('--console-http-pictures');
    await page.until(`document.querySelectorAll('.hit').length === 2 && !document.querySelector('.thumb')`, 'no box is left');
    // The policy of the page is named in the log of the browser: that is what was to be seen.
    page.problems.splice(0, Infinity, ...page.problems.filter(one => !/Content Security Policy/.test(one)));
    const answer = await fetch(PROTECTED_URL + '/indexes/pictures/documents?wait=searchable', { method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + PROTECTED_KEY }, body: JSON.stringify(documents) });
    assert.ok(answer.ok);
    await page.show(PROTECTED_URL + '/?index=pictures');
    await fill('API key', PROTECTED_KEY);
    await click('Sign in');
    await page.until(`[...document.querySelectorAll('.thumb')].length === 1 && document.querySelector('.thumb').naturalWidth === 1`, 'one is shown, and the lost one leaves no box');
    await gone('--console-http-pictures');
  } finally {
    pictures.closeAllConnections();
    pictures.close();
  }
}

try {
  await page.size(1280, 900);
  await page.scheme('light');
  await prepare();
  const only = process.env.ONLY?.split(',');
  for (const step of [documents, manyFields, hugeDocument, deleted, connection, pictures]) {
    if (only && !only.includes(step.name)) continue;
    await step();
    assert.deepEqual(problems(), [], step.name);
    console.log('console-hostile: ' + step.name + ', ' + Math.round(performance.now() / 1000) + ' s');
  }
  end();
} finally {
  await page.close();
}
