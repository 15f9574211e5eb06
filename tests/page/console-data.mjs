// Indexes, documents, tasks, the server, keys, MCP and chat in the console, in a headless Chromium: LAMINA_URL, CHROMIUM, PICTURES, PROTECTED_URL and PROTECTED_KEY as for
// console.mjs. The server keeps earlier states (--keep), and may be asked for this machine.

import assert from 'node:assert/strict';
import { open } from './browser.mjs';
import { steps } from './console-steps.mjs';
import { looks } from './looks.mjs';

const url = process.env.LAMINA_URL, { PROTECTED_URL, PROTECTED_KEY } = process.env;
const page = await open(process.env.CHROMIUM);
const { has, click, undo, fill, choose, tick, drop, api, write, go, problems } = steps(page, url);
const { lookAt, end } = looks(page, 'data');

const SHOES = 'sku,name,price:number,inStock:boolean,brand\n' + Array.from({ length: 60 }, (_, row) => `a-${row},Shoe ${row},${row === 7 ? 'cheap' : 10 + row},${row % 2 === 0},Brand ${row % 5}`).join('\n') + '\n"broken row"\nb c,Boot,9,true,Brand 1\n';

async function imports() {
  await write('POST', '/indexes', { uid: 'shoes' });
  await go('documents', 'shoes');
  await has('There are no documents here yet.');
  // CSV: types are guessed from the header and the cells, the id is proposed, and what does not fit is counted.
  await drop('shoes.csv', SHOES);
  await has('Import shoes.csv', 'dialog');
  await page.until(`[...document.querySelectorAll('dialog select')].some(one => one.value === 'number')`, 'the price is a number');
  await page.until(`document.querySelector('dialog .wrong')?.innerText.includes('1 of')`, 'a bad cell is counted');
  await choose('Primary key', 'sku');
  await click('Import', 'dialog .row.end');
  // Three lines are refused, each with its place; all others are there.
  await has('3 lines were refused');
  await page.until(`document.querySelector('.documents-progress').ariaValueNow === '100'`, 'the bar is at its end');
  const refused = await page.value(`[...document.querySelectorAll('.documents-refused li')].map(one => one.innerText.replace(/\\s+/g, ' '))`);
  assert.match(refused[0], /^line 9 “cheap” in the column “price” is not a number/);
  assert.match(refused[1], /^line 62 This row has 1 cell/);
  assert.match(refused[2], /^line 63 “b c” is not a valid id/);
  assert.equal((await api('GET', '/indexes/shoes/stats')).numberOfDocuments, 59);
  assert.equal((await api('GET', '/indexes/shoes/documents/a-3')).price, 13);
  // A proposal is one click.
  await click('Add the facet', '.proposals');
  await page.until(`fetch('/indexes/shoes/settings/filterable-attributes').then(answer => answer.json()).then(names => names.length === 1)`, 'a field became a facet');
  // A line that only the server refuses is found by halves.
  await write('DELETE', '/indexes/shoes/documents');
  await write('PATCH', '/indexes/shoes/settings', { filterableAttributes: ['brand', '_geo'] });
  await go('documents', 'shoes');
  await drop('geo.ndjson', Array.from({ length: 40 }, (_, row) => JSON.stringify({ sku: 'g' + row, _geo: row === 23 ? 'nowhere' : { lat: 1, lng: 2 } })).join('\n'));
  await click('Import', 'dialog .row.end');
  await has('1 line was refused');
  assert.match(await page.value(`document.querySelector('.documents-refused li').innerText.replace(/\\s+/g, ' ')`), /^line 24 .*geo/i);
  assert.equal((await api('GET', '/indexes/shoes/stats')).numberOfDocuments, 39);
  // JSON without an id: the lines are numbered, and each can be deleted.
  await write('POST', '/indexes', { uid: 'noid' });
  await go('documents', 'noid');
  await has('There are no documents here yet.');
  await drop('noid.json', '[{"title": "One"}, {"title": "Two"},\n {"title": "Two"}]');
  await has('Import noid.json', 'dialog');
  await choose('Primary key', '\0numbered');
  await click('Import', 'dialog .row.end');
  await has('3 documents loaded');
  await page.until(`document.querySelectorAll('main table[aria-label=Documents] tbody tr').length === 3`, 'three rows');
}

async function edits() {
  await go('documents', 'noid');
  await click('Delete 2');
  await page.until(`document.querySelectorAll('main table[aria-label=Documents] tbody tr').length === 2`, 'it is deleted');
  assert.equal((await api('GET', '/indexes/noid/stats')).numberOfDocuments, 2);
  await undo('2 is deleted');
  await page.until(`document.querySelectorAll('main table[aria-label=Documents] tbody tr').length === 3`, 'it is back');
  // The editor marks where JSON is wrong, keeps all digits, and saves.
  await write('POST', '/indexes/noid/documents', [{ id: 9, title: 'Nine' }]);
  await page.show(`${url}/?view=documents&index=noid&doc=9`);
  await fill('The document', '{"id": 9,\n "title": Nine}');
  await page.until(`document.querySelector('dialog .wrong')?.innerText.includes('Line 2, column 11')`, 'the place of the fault');
  await fill('The document', '{"id": 9, "title": "Nine!", "big": 12345678901234567890}');
  await click('Save', 'dialog footer');
  await page.until(`fetch('/indexes/noid/documents/9').then(answer => answer.text()).then(text => text.includes('12345678901234567890'))`, 'saved with all digits');
  // What the server refuses stands at the control.
  await go('documents', 'noid');
  await fill('Filter', 'nothing = 1');
  await click('Apply');
  await page.until(`document.querySelector('main .wrong')?.innerText.includes('nothing')`, 'the refusal stands at the filter');
  // Adding, and what fails later.
  await click('Remove the filter');
  await click('Add');
  await fill('A document or a list of documents', '{"id": "a b"}');
  await click('Add', 'dialog footer');
  await page.until(`document.querySelector('dialog .wrong')?.innerText.includes('a b')`, 'the reason of the task stands at the field');
  // What was written is not lost by a key.
  await page.press('Escape');
  await click('Discard them');
  await page.until(`!document.querySelector('dialog[open]')`, 'both dialogs are closed');
}

async function indexesView() {
  await go('indexes');
  await has('shoes');
  await page.until(`[...document.querySelectorAll('.indexes-card')].some(one => /Size\\s+[\\d.]+ KiB/.test(one.innerText) && !one.innerText.includes('documents only'))`, 'the size of the whole index');
  await click('Details of noid');
  await has('Overview', 'dialog');
  await click('Sizes', 'dialog [role=tablist]');
  await has('By kind of data', 'dialog');
  await click('History', 'dialog [role=tablist]');
  await page.until(`document.querySelector('dialog button[aria-label^="Restore state"]')`, 'earlier states');
  const before = (await api('GET', '/indexes/noid/generations')).results.filter(one => one.numberOfDocuments === 3)[0];
  await click('Restore state ' + before.generation, 'dialog');
  await click('Restore', 'dialog footer');
  await page.until(`fetch('/indexes/noid/stats').then(answer => answer.json()).then(stats => stats.numberOfDocuments === 3)`, 'it is restored');
  await page.press('Escape');
  // An alias to set and to undo; a clone onto a name that is taken is reported.
  await click('More for noid');
  await click('Set an alias …');
  await fill('Alias', 'noid-live');
  await click('Set', 'dialog footer');
  await page.until(`document.querySelector('.indexes-aliases')?.parentElement.parentElement.innerText.includes('noid-live')`, 'the alias is shown');
  await click('More for noid');
  await click('Clone …');
  await fill('Name of the clone', 'shoes');
  await click('Clone', 'dialog footer');
  await page.until(`document.querySelector('.toast.bad')?.innerText.includes('shoes')`, 'a clone that fails later is reported');
  await page.value(`document.querySelector('.toast.bad button[aria-label^=Close]').click()`);
  // So is an alias to an index that somebody deletes meanwhile.
  await write('POST', '/indexes', { uid: 'short' });
  await page.show(`${url}/?view=indexes&sheet=short&tab=names`);
  await click('Set an alias', 'dialog');
  await write('DELETE', '/indexes/short');
  await fill('Alias', 'short-live');
  await click('Set', 'dialog footer');
  await page.until(`document.querySelector('.toast.bad')?.innerText.includes('short')`, 'an alias to a missing index is reported');
  await page.value(`document.querySelector('.toast.bad button[aria-label^=Close]').click()`);
  await go('indexes');
  // Renaming, and deleting only by its name.
  await click('More for noid');
  await click('Rename …');
  await fill('New name', 'renamed');
  await click('Rename', 'dialog footer');
  await page.until(`[...document.querySelectorAll('.indexes-card')].some(one => one.getAttribute('aria-label') === 'renamed')`, 'it is renamed');
  await click('More for renamed');
  await click('Delete …');
  await page.until(`document.querySelector('dialog footer .danger')?.disabled`, 'it cannot be deleted yet');
  await fill('Type “renamed” to confirm', 'renamed');
  await click('Delete the index', 'dialog footer');
  await page.until(`![...document.querySelectorAll('.indexes-card')].some(one => one.getAttribute('aria-label') === 'renamed')`, 'it is deleted');
  // A sheet of an index that somebody deleted.
  await page.show(`${url}/?view=indexes&sheet=gone`);
  await has('There is no index “gone”.', 'dialog');
  await page.press('Escape');
}

async function tasksView() {
  await go('tasks');
  await has('Where the time of the last');
  await tick('failed');
  await page.until(`[...document.querySelectorAll('main table[aria-label=Tasks] .badge')].every(one => one.innerText === 'failed')`, 'only failed tasks');
  assert.equal(await page.value(`new URLSearchParams(location.search).get('status')`), 'failed');
  await page.value(`[...document.querySelectorAll('main table[aria-label=Tasks] tbody tr')].find(one => one.innerText.includes('cloned')).querySelector('button').click()`);
  await has('The name is taken', 'dialog');
  await page.press('Escape');
  await page.show(`${url}/?view=tasks&task=999999`);
  await has('999999', 'dialog');
  await page.press('Escape');
}

async function serverView() {
  await go('server');
  await page.until(`document.querySelectorAll('main .chart').length >= 6`, 'charts');
  await page.value(`document.querySelector('.chart-area').focus()`);
  await page.press('ArrowLeft');
  await page.until(`document.querySelector('.chart-cursor') || document.querySelector('.chart-area').getAttribute('aria-valuemax') === '0'`, 'the arrows read the chart');
  await tick('15 min');
  await page.until(`new URLSearchParams(location.search).get('window') === '15m'`);
  await click('Add', 'main .card');
  await fill('Address', 'no address');
  await click('Add', 'dialog footer');
  await page.until(`document.querySelector('dialog .wrong, dialog .failure')?.innerText.length > 10`, 'a wrong address is refused in the dialog');
  await page.press('Escape');
}

async function tryView() {
  await go('try', 'shoes');
  await fill('q', 'g3');
  await click('Call search');
  await has('tokens');
  await page.show(`${url}/?view=try&tab=chat&index=shoes`);
  await has('Conversations are turned off.');
  await click('Turn them on');
  await has('No provider is connected yet.');
  await api('PATCH', '/experimental-features', { chatCompletions: false });
}

async function keysView() {
  await page.show(PROTECTED_URL + '/?view=keys');
  await fill('API key', PROTECTED_KEY);
  await click('Sign in');
  await has('Keys');
  await click('Create a key');
  await tick('Agent (MCP)');
  await fill('Name', 'An agent');
  await click('Create', 'dialog footer');
  await has('An agent is created', 'dialog');
  const key = await page.value(`document.querySelector('[data-key]').textContent`);
  assert.match(key, /^[0-9a-f]{64}$/);
  await click('Done', 'dialog footer');
  await has('An agent');
  assert.equal(await page.value(`document.body.innerHTML.includes(${JSON.stringify(key)})`), false, 'the key is shown once');
  // A token that is signed here searches, and only what its rule admits.
  const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer ' + PROTECTED_KEY }, wait = '?wait=searchable';
  for (const [method, path, body] of [['PATCH', '/indexes/films/settings' + wait, { filterableAttributes: ['year'] }], ['POST', '/indexes/films/documents' + wait, [{ id: 1, year: 1979 }, { id: 2, year: 1984 }]]]) {
    assert.ok((await fetch(PROTECTED_URL + path, { method, headers, body: JSON.stringify(body) })).ok);
  }
  await page.show(PROTECTED_URL + '/?view=keys');
  await click('More for An agent');
  await click('Tenant token …');
  await fill('Index', 'films');
  await fill('Filter', 'year = 1979');
  await click('Sign', 'dialog footer');
  await click('Try it', 'dialog');
  await has('It finds 1 document in films.', 'dialog');
  await click('Close', 'dialog footer');
  await click('More for An agent');
  await click('Delete …');
  await click('Delete the key', 'dialog footer');
  await page.until(`![...document.querySelectorAll('main tbody tr')].some(one => one.innerText.includes('An agent'))`, 'the key is gone');
}

async function everyLook() {
  await write('DELETE', '/indexes/shoes/documents');
  await write('POST', '/indexes/shoes/documents', Array.from({ length: 60 }, (_, row) => ({ sku: 'p' + row, name: 'Trail runner ' + row, brand: 'Brand ' + row % 7, price: 40 + row, text: 'A shoe for long ways over stones and roots.' })));
  const views = ['indexes', 'indexes&sheet=shoes', 'indexes&sheet=shoes&tab=sizes', 'indexes&sheet=shoes&tab=history', 'documents&index=shoes', 'documents&index=shoes&doc=p1', 'tasks', 'tasks&task=1', 'server', 'try&index=shoes', 'try&tab=chat&index=shoes'];
  for (const [base, href] of [...views.map(one => [url, one]), [PROTECTED_URL, 'keys']]) {
    await page.show(`${base}/?view=${href}`);
    await page.until(`document.querySelector('main')?.innerText.length > 20 && !document.querySelector('.loading')`, href);
    await lookAt(href.replaceAll('&', ' '));
  }
}

try {
  await page.size(1280, 900);
  await page.scheme('light');
  const only = process.env.ONLY?.split(',');
  for (const step of [imports, edits, indexesView, tasksView, serverView, tryView, keysView, everyLook]) {
    if (only && !only.includes(step.name)) continue;
    await step();
    assert.deepEqual(problems(), [], step.name);
    console.log('console-data: ' + step.name + ', ' + Math.round(performance.now() / 1000) + ' s');
  }
  if (!only) end();
} finally {
  await page.close();
}
