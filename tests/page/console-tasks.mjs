// Tasks of people, as they do them on the console: a developer loads a catalogue and makes a search that they like; a merchandiser pins a hit, measures another way to
// search and takes it over; an operator finds why writes are slow. Each has to be done in under three minutes of clicks: what the page takes is measured, and a click or
// a field counts as two seconds of a person.
// LAMINA_URL and CHROMIUM as for console.mjs; the server may ask for this machine (--experimental-allowed-ip-networks).

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { open } from './browser.mjs';
import { steps } from './console-steps.mjs';

const url = process.env.LAMINA_URL, MOST_MS = 180_000, HAND_MS = 2000;
const page = await open(process.env.CHROMIUM);
const plain = steps(page, url), { has, api, write, go } = plain;
let hands = 0;
const counted = Object.fromEntries(['click', 'fill', 'choose', 'tick', 'drop'].map(name => [name, async (...what) => { hands += 1; await plain[name](...what); }]));
const { click, fill, choose, drop } = counted;

const BRANDS = ['Aurora', 'Borealis', 'Cumulus', 'Dune', 'Estuary'], KINDS = ['trail runner', 'city sneaker', 'winter boot', 'sandal'];
const CATALOGUE = 'sku;name;brand;price:number;inStock:boolean\n' + Array.from({ length: 200 }, (_, row) =>
  `s-${row};${BRANDS[row % 5]} ${KINDS[row % 4]} ${row};${BRANDS[row % 5]};${row === 120 ? 'on request' : 39 + row};${row % 3 !== 0}`).join('\n');

/** A developer: a file becomes a search with a facet and an order, and each line that was refused is known. */
async function developer() {
  await write('POST', '/indexes', { uid: 'catalogue' });
  await go('documents', 'catalogue');
  await has('There are no documents here yet.');
  await drop('catalogue.csv', CATALOGUE);
  await has('Import catalogue.csv', 'dialog');
  await choose('Primary key', 'sku');
  await click('Import', 'dialog .row.end');
  await has('1 line was refused');
  await has('line 122');
  hands += 1;
  await page.until(`(() => { const one = [...document.querySelectorAll('.proposals li')].find(one => one.innerText.startsWith('brand has')); one?.querySelector('button').click(); return Boolean(one); })()`, 'the facet is proposed');
  const filterable = `fetch('/indexes/catalogue/settings').then(answer => answer.json()).then(settings => settings.filterableAttributes)`;
  await page.until(`${filterable}.then(names => names.length === 1)`, 'the facet is applied');
  await click('Filter and sort', '.proposals');
  await page.until(`${filterable}.then(names => names.length === 2)`, 'the range is applied');
  const settings = await api('GET', '/indexes/catalogue/settings');
  assert.deepEqual([settings.filterableAttributes, settings.sortableAttributes], [['brand', 'price'], ['price']]);
  await click('Search the documents', 'main');
  await page.until(`document.querySelector('main [data-search]')`, 'the search');
  await page.value(`document.querySelector('main [data-search]').focus()`);
  await page.type('trial runer');
  await page.until(`document.querySelector('main mark')?.textContent.toLowerCase().includes('trail')`, 'a typo finds the trail runners');
}

const SHOP = ['Boot Polar', 'Boot Meadow', 'Boot City', 'Shoe for snow', 'Sandal Beach'].map((name, id) => ({ id, name, text: ['Warm.', 'Light.', 'Elegant.', 'For deep snow.', 'For the beach.'][id] }));

/** A merchandiser: one boot has to be first; then a query that finds too little is judged, measured with other words that may be missing, and the better way is taken over. */
async function merchandiser() {
  await write('POST', '/indexes/shop/documents', SHOP);
  const first = async q => (await api('POST', '/indexes/shop/search', { q })).hits.map(hit => hit.id);
  await go('rules', 'shop');
  await click('Turn rules on');
  await has('There is no rule yet.');
  await page.show(`${url}/?view=compare&index=shop&q=boot`);
  await click('Pin Boot City');
  await has('Boot City first', 'dialog');
  await click('Create', 'dialog footer');
  await page.until(`document.querySelector('main table')?.innerText.includes('Boot City first')`, 'the rule is there');
  assert.equal((await first('boot'))[0], 2, 'the boot of the rule is first');
  // What is for snow is not found, before any of the words is enough.
  assert.equal((await first('boot snow')).includes(3), false);
  await page.show(`${url}/?view=compare&index=shop&q=boot+snow`);
  await click('Relevant to “boot snow”: Shoe for snow');
  await click('Measure', 'main');
  await has('nDCG of A');
  await page.until(`document.querySelector('.verdict')?.innerText.length > 10`, 'the verdict');
  await page.until(`/\\+[01]\\.\\d/.test(document.querySelector('.dumbbells tbody')?.innerText ?? '')`, 'B is better');
  await click('More of B');
  await click('Apply to shop');
  await click('Apply 1 change', 'dialog footer');
  await page.until(`fetch('/indexes/shop/settings').then(answer => answer.json()).then(settings => settings.matchingStrategy === 'any')`, 'it is taken over');
  assert.ok((await first('boot snow')).includes(3), 'what is for snow is found');
}

/** A provider of vectors that takes its time. */
function slowProvider() {
  const server = createServer((request, answer) => {
    let body = '';
    request.on('data', part => { body += part; }).on('end', () => setTimeout(() => {
      const texts = JSON.parse(body || '{}').input ?? [];
      answer.setHeader('Content-Type', 'application/json');
      answer.end(JSON.stringify({ data: [texts].flat().map((_, index) => ({ index, embedding: [1, 2, 3] })) }));
    }, 4000));
  });
  return new Promise(done => server.listen(0, '127.0.0.1', () => done(server)));
}

/** An operator: writes are slow. The server shows a queue, the tasks show what runs and where the time goes. */
async function operator() {
  const provider = await slowProvider();
  try {
    const rest = { source: 'rest', url: `http://127.0.0.1:${provider.address().port}/`, dimensions: 3, request: { input: ['{{text}}', '{{..}}'] }, response: { data: [{ embedding: '{{embedding}}' }, '{{..}}'] }, documentTemplate: '{{doc.name}}' };
    await write('PATCH', '/indexes/slow/settings', { embedders: { remote: rest } });
    for (let part = 0; part < 80; part++) await api('POST', '/indexes/slow/documents', Array.from({ length: 40 }, (_, row) => ({ id: part * 40 + row, name: `Thing ${part} ${row}` })));
    await go('server');
    await page.until(`document.querySelectorAll('main .figure').length >= 4`, 'the server');
    await go('tasks');
    hands += 1;
    await has('Now');
    await has('slow');
    await page.until(`/vectors: the embedder makes them/.test(document.querySelector('.tasks-now')?.innerText ?? '')`, 'what runs says why it takes so long');
    await click('More actions for tasks');
    await click('Cancel all open tasks …');
    await click('Cancel the tasks', 'dialog footer');
    await page.until(`fetch('/tasks?statuses=enqueued,processing&types=documentAdditionOrUpdate').then(answer => answer.json()).then(tasks => tasks.total === 0)`, 'nothing waits any more');
    await page.until(`(() => { const one = [...document.querySelectorAll('main table[aria-label=Tasks] tbody tr')].find(one => one.innerText.includes('slow')); one?.querySelector('button').click(); return Boolean(one); })()`, 'a task');
    hands += 1;
    await has('Waited', 'dialog');
    await page.press('Escape');
  } finally {
    provider.closeAllConnections();
    provider.close();
  }
}

try {
  await page.size(1280, 900);
  await page.scheme('light');
  const only = process.env.ONLY?.split(',');
  for (const task of [developer, merchandiser, operator]) {
    if (only && !only.includes(task.name)) continue;
    const from = Date.now();
    hands = 0;
    await task();
    const ms = Date.now() - from + hands * HAND_MS;
    assert.ok(ms < MOST_MS, `${task.name}: ${ms} ms`);
    assert.deepEqual(page.problems.filter(one => !one.startsWith('Failed to load resource')), [], task.name);
    console.log(`console-tasks: ${task.name}: ${hands} clicks and fields, ${Math.round(ms / 1000)} s`);
  }
} finally {
  await page.close();
}
