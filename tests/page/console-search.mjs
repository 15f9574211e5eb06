// The search of the console in a headless Chromium: LAMINA_URL says where the server is, PAGE_URL where the page is (the same, unless sources are tried), CHROMIUM which
// program, PICTURES where to put pictures (see looks.mjs). PREPARED: the films are there already. Arguments: the steps, if not all.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { open } from './browser.mjs';
import { undoing } from './console-steps.mjs';
import { looks } from './looks.mjs';

const server = process.env.LAMINA_URL, url = process.env.PAGE_URL ?? server;

async function api(method, path, body, type = 'application/json') {
  const answer = await fetch(server + path, { method, headers: { 'Content-Type': type }, body: body && (type === 'application/json' ? JSON.stringify(body) : body) });
  assert.ok(answer.ok, method + ' ' + path + ': ' + answer.status + ' ' + (answer.ok || await answer.text()));
  return answer.status === 204 ? null : answer.json();
}
/** A write that is searchable when this ends. */
async function write(method, path, body, type) {
  const task = await api(method, path + (path.includes('?') ? '&' : '?') + 'wait=searchable&waitMs=60000', body, type);
  for (;;) {
    const now = await api('GET', '/tasks/' + task.taskUid);
    if (now.status === 'succeeded') return;
    assert.ok(['enqueued', 'processing'].includes(now.status), JSON.stringify(now.error));
    await new Promise(resolve => setTimeout(resolve, 100));
  }
}

const page = await open(process.env.CHROMIUM);
const text = JSON.stringify, { findings, lookAt, end } = looks(page, 'search');
const has = (words, where = 'main') => page.until(`document.querySelector('${where}')?.innerText.includes(${text(words)})`, where + ' has: ' + words);
const hasNot = (words, where = 'main') => page.until(`!document.querySelector('${where}')?.innerText.includes(${text(words)})`, where + ' has not: ' + words);
const click = (words, where = 'body') => page.until(`(() => { const one = [...document.querySelectorAll('${where} :is(button, a, label, [role=menuitem], [role=option], [role=tab])')].find(one => !one.disabled && !one.ariaBusy
  && (one.innerText.trim().startsWith(${text(words)}) || one.getAttribute('aria-label') === ${text(words)}));
  if (one) { one.focus(); one.click(); } return Boolean(one); })()`, 'a button: ' + words);
const count = (selector, number) => page.until(`document.querySelectorAll(${text(selector)}).length ${number}`, `${selector} ${number}`);
const set = (selector, value, event = 'input') => page.value(`(() => { const field = document.querySelector(${text(selector)});
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, ${text(value)});
  field.dispatchEvent(new Event('input', { bubbles: true })); if (${text(event)} !== 'input') field.dispatchEvent(new Event(${text(event)}, { bubbles: true })); })()`);
const parameter = (name, value) => page.until(`new URLSearchParams(location.search).get(${text(name)}) === ${text(value)}`, `the address has ${name}=${value}`);
const show = async (address, hits = '> 0') => { await page.show(url + address); await count('.hit', hits); };

const embedder = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  response.end(JSON.stringify({ data: JSON.parse(body).input.map(one => [...'aeiou'].map(letter => one.toLowerCase().split(letter).length / (one.length + 1))) }));
});

async function prepare() {
  await new Promise(resolve => embedder.listen(0, '127.0.0.1', resolve));
  if (!process.env.PREPARED) await write('POST', '/indexes/films/documents?primaryKey=id', (await (await fetch(server + '/sample')).json()).documents);
  const vector = { source: 'rest', dimensions: 5, documentTemplate: '{{doc.name}}', url: `http://127.0.0.1:${embedder.address().port}/`, request: { input: ['{{text}}', '{{..}}'] }, response: { data: ['{{embedding}}', '{{..}}'] } };
  await write('PATCH', '/indexes/places/settings', { filterableAttributes: ['_geo', 'kind', 'opened', 'visitors'], sortableAttributes: ['visitors'], embedders: { vowels: vector } });
  await write('POST', '/indexes/places/documents', Array.from({ length: 40 }, (_, id) => ({ id, site: 'https://places.invalid/louvre/' + id, name: ['Louvre', 'Versailles', 'Vincennes', 'Orsay'][id % 4] + ' ' + id, kind: id % 2 ? 'palace' : 'museum', price: 9.5 + id,
    opened: `${1990 + id % 12}-0${1 + id % 9}-11`, visitors: id * 1000, image: 'https://pictures.invalid/' + id + '.jpg', _geo: { lat: 48.8 + id / 1000, lng: 2.2 + id % 7 / 40 } })));
}

/** What the data proposes: one click each, and undone. */
async function proposals() {
  await write('DELETE', '/indexes/films/settings');
  await show('/?index=films');
  await count('.proposals li', '=== 3');
  await click('Add the facet', '.proposals');
  await has('genres', '.search-facets');
  const set = (await api('GET', '/indexes/films/settings')).filterableAttributes;
  assert.ok(set.length === 1, 'one facet: ' + set);
  await page.until(undoing('Done: add the facet'), 'the facet to be undone');
  await has('There are no facets yet', '.search-facets');
  await click('Apply all 3', '.proposals');
  await count('.facet', '>= 2');
  assert.equal((await api('GET', '/indexes/films/settings')).searchableAttributes[0], 'title');
}

async function narrowing() {
  await write('PATCH', '/indexes/films/settings', { filterableAttributes: ['genres', 'cast', 'year'], sortableAttributes: ['year'], searchableAttributes: ['*'], faceting: null });
  await show('/?index=films&q=space');
  // The most frequent come first, and the choice is in the address, as a chip, and counted without its own condition.
  await page.until(`[...document.querySelectorAll('[aria-label=genres] .count')].length > 3`);
  const counts = await page.value(`[...document.querySelectorAll('[aria-label=genres] .count')].map(one => Number(one.innerText.replace(/\\D/g, '')))`);
  assert.deepEqual(counts, [...counts].sort((one, other) => other - one), 'by frequency');
  await page.value(`document.querySelector('[aria-label=genres] input[type=checkbox]').click()`);
  await count('.search-chips .chip', '=== 1');
  await page.until(`[...document.querySelectorAll('[aria-label=genres] input[type=checkbox]')].length > 1`, 'alternatives stay');
  // Of more values than the server lists, the most frequent come first all the same, and it is said how many there are.
  await page.until(`/The first 8 of [\\d,]+ values, the most frequent first/.test(document.querySelector('[aria-label=cast]')?.innerText)`, 'how many values there are');
  const all = await api('POST', '/multi-search', { federation: { limit: 0, facetsByIndex: { films: ['cast'] }, mergeFacets: { maxValuesPerFacet: 100_000 } }, queries: [{ indexUid: 'films', q: 'space', filter: await page.value(`document.querySelector('.search-chips .chip').innerText.trim().replace(/genres: (.*)/, 'genres = "$1"')`) }] });
  const cast = Object.values(all.facetDistribution.cast);
  assert.ok(cast.length > 100, cast.length + ' values');
  await has(`of ${cast.length.toLocaleString('en')} values`, '[aria-label=cast]');
  assert.equal(await page.value(`Number(document.querySelector('[aria-label=cast] .count').innerText)`), Math.max(...cast));
  // Values are found that are not listed.
  // The histogram: a handle is moved by the keyboard.
  await count('[aria-label=year] .brush rect', '> 3');
  await page.value(`document.querySelector('[aria-label=year] .brush input').focus()`);
  await page.press('ArrowRight');
  await page.until(`/^\\d+\\.\\.$/.test(new URLSearchParams(location.search).get('r.year'))`, 'the range is in the address');
  await click('Remove all', '.search-chips');
  await page.until(`!document.querySelector('.search-chips')`, 'no chip is left');
  await show('/?index=films&r.year=1977..1984');
  await set('[aria-label=cast] input[type=search]', 'harrison f');
  await has('Harrison Ford', '[aria-label=cast]');
  assert.ok(await page.value(`[...document.querySelectorAll('.hit')].length > 2`));
}

async function filters() {
  // The example is of a field that there is.
  await show('/?index=films');
  await page.until(`document.querySelector('.search-tools input').placeholder.endsWith('genres EXISTS')`, 'the example');
  await write('POST', '/indexes/plain/documents', [{ id: 1, title: 'Plain' }]);
  await show('/?index=plain');
  await page.until(`document.querySelector('.search-tools input').placeholder.endsWith('no field is filterable yet')`, 'there is no example');
  await show('/?index=films');
  // What is typed as soon as the field is there stays.
  await click('Tasks', '.rail');
  await has('Every write is a task');
  await page.value(`new MutationObserver((_, watch) => { const field = document.querySelector('.search-tools input'); if (!field) return;
    watch.disconnect();
    field.focus();
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, 'early');
    field.dispatchEvent(new Event('input', { bubbles: true })); }).observe(document, { subtree: true, childList: true })`);
  await click('Search', '.rail nav');
  await page.until(`document.querySelector('.search-tools input')?.value.length > 0`, 'it is typed');
  await page.settled();
  await page.settled();
  assert.equal(await page.value(`document.querySelector('.search-tools input').value`), 'early');
  await set('.search-tools input', '');
  await page.value(`document.querySelector('.search-tools input').focus()`);
  await page.type('ye');
  await page.until(`document.querySelector('.search-tools [role=option]')?.innerText === 'year'`, 'names are offered');
  await page.press('ArrowDown');
  await page.press('Enter');
  await page.type('> 2000');
  await page.press('Enter');
  await parameter('filter', 'year > 2000');
  await count('.search-chips .chip', '=== 1');
  // What the server refuses stands at the field, and the hits stay.
  await set('.search-tools input', 'year >');
  await page.value(`document.querySelector('.search-tools input').focus()`);
  await page.press('Enter');
  await page.until(`document.querySelector('.search-tools .wrong')?.innerText.length > 20`, 'the refusal is at the filter');
  await count('.hit', '> 0');
  await page.show(url + '/?index=films&filter=nofield+%3D+1');
  await has('nofield', '.search-tools .wrong');
}

async function words() {
  await show('/?index=films');
  await page.press('/');
  await page.until(`document.activeElement.matches('[data-search]')`, 'the search has the focus');
  await page.type('space st');
  await count('.search-field [role=option]', '> 0');
  await page.press('ArrowRight');
  await page.until(`/^space st\\w+/.test(new URLSearchParams(location.search).get('q'))`, 'the first completion is taken');
  // Arrows go from the search to the hits and back.
  await count('.hit', '> 1');
  await page.press('ArrowDown');
  await page.until(`document.activeElement.matches('.hits li:first-child .hit')`, 'the first hit has the focus');
  await page.press('ArrowDown');
  await page.until(`document.activeElement.matches('.hits li:nth-child(2) .hit')`, 'the second hit has the focus');
  await page.press('Escape');
  await page.until(`document.activeElement.matches('[data-search]')`, 'back in the search');
  await show('/?index=films&q=wizzard+of+oz');
  await has('Did you mean');
  await click('wizard of oz', '.did-you-mean');
  await parameter('q', 'wizard of oz');
  await show('/?index=films&q=which+film+is+about+a+scarecrow+farmhand&way=questions');
  await show('/?index=places&q=louvre&way=meaning&ratio=0.8', '> 1');
  await has('80 %', '.ratio');
}

async function explained() {
  await show('/?index=films&q=space+ship+alein');
  await page.press('/');
  await page.until(`document.activeElement.matches('[data-search]')`, 'the search has the focus');
  await page.press('ArrowDown');
  await page.until(`document.activeElement.matches('.hit')`);
  await page.press('Enter');
  await page.until(`document.querySelectorAll('.why-drawer .ladder li').length > 3`, 'the rules are a ladder');
  await count('.why-drawer .lines path', '> 2');
  await has('of 3 words', '.why-drawer');
  await count('.why-drawer .ladder .decides', '=== 1');
  await has('Here it beats #2', '.why-drawer');
  await count('.why-drawer .waterfall tr', '> 3');
  assert.deepEqual(await findings(), []);
  await page.press('Escape');
  await page.until(`!document.querySelector('dialog[open]') && document.activeElement.matches('.why, .hit, .hit *')`, 'the focus comes back');
  // A document is found by its title, and it is said why it is no hit.
  await show('/?index=films&q=wizard&filter=year+%3E+2000');
  await click('Is a document missing?');
  await page.until(`document.activeElement.matches('dialog input')`);
  await page.type('the wizard of oz');
  await page.until(`[...document.querySelectorAll('.why-picks strong')].some(one => /wizard of oz/i.test(one.innerText))`, 'the film is offered');
  await click('The Wizard of Oz', '.why-picks');
  await has('The filter excludes it.', '.why-drawer');
  await click('Search without the filters', '.why-drawer');
  await hasNot('The filter excludes it.', '.why-drawer');
}

/** Nothing lies over the first and the last entry of the menu, and nothing cuts them off. */
const MENU_SEEN = `(all => all.length > 1 && [all[0], all.at(-1)].every(one => { const box = one.getBoundingClientRect(); return one.contains(document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)); }))([...document.querySelectorAll('.menu-list:not([hidden]) [role=menuitem]')])`;

/** From a hit: documents like it move up in every search, and it alone to the end of one. */
async function fromAHit() {
  const rules = async () => (await api('GET', '/indexes/films/settings')).rankingRules;
  await write('PATCH', '/indexes/films/settings', { filterableAttributes: ['genres', 'cast', 'year'], rankingRules: null });
  await show('/?index=films&q=space');
  // A menu at the end of the window opens upwards.
  await page.value(`document.querySelectorAll('.hit .menu button')[8].scrollIntoView({ block: 'end' })`);
  await page.settled();
  await page.value(`document.querySelectorAll('.hit .menu button')[8].click()`);
  await page.until(MENU_SEEN, 'all of the menu is seen');
  await page.press('Escape');
  await page.value(`document.querySelector('.hit .menu button').click()`);
  await click('Boost documents like this', '.hit');
  await page.until(`document.querySelector('.like-preview .climb.up')`, 'the preview says what climbs');
  await lookAt('search boost');
  await page.value(`document.querySelector('.like-traits input').click()`);
  await page.until(`[...document.querySelectorAll('dialog footer button')].at(-1).disabled && !document.querySelector('.like-preview .climb')`, 'nothing in common boosts nothing');
  await page.value(`document.querySelector('.like-traits input').click()`);
  await click('Move down', 'dialog');
  await page.until(`document.querySelector('dialog output').innerText === '× 0.5'`, 'the weight');
  await click('Add the boost', 'dialog footer');
  await page.until(`!document.querySelector('dialog[open]')`, 'it is added');
  await click('Rules', '.rail nav');
  await has('Boosts in every search of films');
  await page.until(`document.querySelector('.rules-boosts li')?.innerText.includes('genres')`, 'the boost is among the rules');
  await lookAt('rules boosts');
  const boost = (await rules()).at(-1).boostIf;
  assert.ok(/^"genres" = "/.test(boost.filter) && boost.weight === 0.5, JSON.stringify(boost));
  await page.until(undoing('1 setting of films changed'), 'the boost to be undone');
  await page.until(`[...document.querySelectorAll('.toast')].some(one => one.innerText.includes('1 setting of films as before'))`, 'it is undone');
  assert.ok((await rules()).every(one => typeof one === 'string'));
  // A hit that is dragged to another place becomes a rule for what is searched.
  await show('/?index=films&q=space');
  const third = await page.value(`document.querySelectorAll('.hit h3')[2].innerText`);
  await page.value(`(() => { const dataTransfer = new DataTransfer(), all = [...document.querySelectorAll('.hits > li')], send = (one, type) => one.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer }));
    send(all[2].querySelector('.hit-grip'), 'dragstart'); send(all[1].querySelector('h3'), 'dragover'); })()`);
  await count('.hits > .over', '=== 1');
  await page.value(`document.querySelectorAll('.hits > li')[1].dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true }))`);
  await parameter('at', '1');
  if (!(await api('GET', '/experimental-features')).dynamicSearchRules) await click('Turn rules on', 'main');
  await has(third + ' second', 'dialog');
  await page.press('Escape');
}

async function waysToShow() {
  await show('/?index=places');
  await page.value(`document.querySelector('[aria-label=Table]').click()`);
  await count('main tbody tr', '> 5');
  await page.value(`[...document.querySelectorAll('main tbody .menu button')].at(-1).scrollIntoView()`);
  await page.settled();
  await page.value(`[...document.querySelectorAll('main tbody .menu button')].at(-1).click()`);
  await page.until(MENU_SEEN, 'the menu of the last row is not cut off by the table');
  await page.press('Escape');
  await page.value(`document.querySelector('[aria-label=JSON]').click()`);
  await count('.hit .json', '> 5');
  await page.value(`document.querySelector('[aria-label=Cards]').click()`);
  await count('.hit .price', '> 5');
  // Pictures that are not there leave no gap.
  await page.until(`!document.querySelector('.hit .thumb')`, 'pictures that are lost');
  // What is chosen is remembered.
  await click('Choose the title, picture, price and fields');
  await page.until(`document.activeElement.closest('dialog') !== null`, 'the dialog has the focus');
  await page.value(`document.querySelectorAll('dialog .picker input')[0].focus()`);
  await page.type('kind');
  await page.press('Enter');
  await page.press('Escape');
  await page.until(`['palace', 'museum'].includes(document.querySelector('.hit h3').innerText)`, 'another title');
  await show('/?index=places');
  await page.until(`['palace', 'museum'].includes(document.querySelector('.hit h3').innerText)`, 'the title is remembered');
  await click('This search as code');
  await has('curl', 'dialog pre');
  await page.value(`[...document.querySelectorAll('dialog [role=tab]')].at(-1).click()`);
  await has('import meilisearch', 'dialog pre');
}

async function places() {
  await show('/?index=places');
  // The button that is gone leaves the focus to the first of the new hits.
  await page.until(`[...document.querySelectorAll('.search-found button')].at(-1).innerText === 'Show more'`, 'there are more');
  await page.value(`[...document.querySelectorAll('.search-found button')].at(-1).focus()`);
  await page.press('Enter');
  await count('.hit', '=== 40');
  await page.until(`document.activeElement === document.querySelectorAll('.hit')[20]`, 'the first new hit has the focus');
  await count('.places circle', '=== 40');
  await click('Zoom in', '.places');
  await click('Search this area', '.places');
  await page.until(`new URLSearchParams(location.search).get('box')?.split(',').length === 4`, 'the area is in the address');
  await count('.search-chips .chip', '=== 1');
  await page.until(`document.querySelectorAll('.places circle').length < 40`, 'fewer places');
  await click('Clear the area', '.places');
  await count('.places circle', '=== 40');
  await count('[aria-label=opened] .brush rect', '> 4');
}

async function everyLook() {
  for (const [name, address, ready] of [
    ['search', '/?index=films&q=space+ship+alein&f.genres=Horror', `document.querySelectorAll('.hit').length > 1`],
    ['search all', '/?index=films', `document.querySelectorAll('.hit').length > 3`],
    ['search why', '/?index=films&q=space+ship+alein&why=24904', `document.querySelectorAll('.ladder li').length > 3`],
    // Marks within links are read as well.
    ['search places', '/?index=places&q=louvre', `document.querySelectorAll('.places circle').length > 3 && document.querySelector('.hit a mark')`],
    ['search none', '/?index=films&q=qqqqzzzq', `document.querySelector('.empty') !== null`],
  ]) {
    await page.show(url + address);
    await page.until(ready, name);
    await lookAt(name);
  }
}

const only = process.argv.slice(2);
try {
  await page.size(1280, 900);
  await page.scheme('light');
  await prepare();
  for (const step of [proposals, narrowing, filters, words, explained, fromAHit, waysToShow, places, everyLook]) {
    if (only.length && !only.includes(step.name)) continue;
    await step();
    assert.deepEqual(page.problems.filter(one => !one.startsWith('Failed to load resource')), [], step.name);
    console.log('console-search: ' + step.name + ', ' + Math.round(performance.now() / 1000) + ' s');
  }
  if (!only.length) end();
} finally {
  await page.close();
  embedder.close();
  embedder.closeAllConnections();
}
