// What people searched and clicked, in a headless Chromium: recording on and off, figures and times, lists, and from a query to what can be done about it. LAMINA_URL says
// where the server is, CHROMIUM which program, PICTURES where to put pictures (see looks.mjs).

import assert from 'node:assert/strict';
import { open } from './browser.mjs';
import { steps } from './console-steps.mjs';
import { looks } from './looks.mjs';

const url = process.env.LAMINA_URL, HOSTILE = '<img src=x onerror="window.hurt = 1">';
const page = await open(process.env.CHROMIUM);
const { api, write, has, gone, click, fill, undo, focused, problems } = steps(page, url);
const { lookAt, end } = looks(page, 'analytics');
const analytics = more => `${url}/?view=analytics&index=films${more ?? ''}`;
const asked = name => page.value(`new URLSearchParams(location.search).get('${name}')`);
const tile = (title, text) => page.until(`[...document.querySelectorAll('.tile')].some(one => one.innerText.includes(${JSON.stringify(title)}) && one.innerText.includes(${JSON.stringify(text)}))`, `${title}: ${text}`);

async function search(q, user, { filter, click, bought } = {}) {
  const answer = await fetch(url + '/indexes/films/search', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-MS-USER-ID': user, 'Meili-Include-Metadata': 'true' }, body: JSON.stringify({ q, filter }) });
  const { metadata: { queryUid }, hits } = await answer.json();
  const event = eventType => ({ eventType, eventName: 'Hit', indexUid: 'films', userId: user, queryUid, objectId: String(hits[click].id), position: click });
  if (click !== undefined) await api('POST', '/events', ['click', ...(bought ? ['conversion'] : [])].map(event));
}

async function off() {
  await page.show(analytics());
  await has('Searches of films are not recorded.');
  await has('in the folder events');
  await lookAt('analytics off');
  // Links lead to pages of the manual.
  assert.deepEqual(await page.value(`Promise.all([...document.querySelectorAll('main a[href^="/docs/"]')].map(one => fetch(one.href).then(answer => answer.status)))`), [200]);
  await click('Record searches', 'main');
  await has('Nothing was recorded in this time.');
  await undo('are recorded');
  await has('Searches of films are not recorded.');
  assert.equal((await api('GET', '/indexes/films/settings/analytics'))?.searches ?? false, false);
  // By keyboard alone.
  await page.until(`(() => { const one = [...document.querySelectorAll('main .empty button')][0]; one?.focus(); return Boolean(one); })()`, 'the button');
  await page.press('Enter');
  await has('Nothing was recorded in this time.');
  assert.deepEqual(await api('GET', '/indexes/films/settings/analytics'), { searches: true, retentionDays: 90 });
  await lookAt('analytics nothing');
  assert.deepEqual(await page.value(`Promise.all([...document.querySelectorAll('main a[href^="/docs/"]')].map(one => fetch(one.href).then(answer => answer.status)))`), [200]);
}

async function figures() {
  for (let user = 0; user < 6; user++) await search('space ship', 'user-' + user, { click: user % 3, bought: user === 0 });
  await search('alien', 'user-1', { filter: 'genre = Horror' });
  await search('alien', 'user-2', { filter: [['genre = Horror', 'genre = Action'], 'year > 1970'] });
  for (const user of ['user-1', 'user-9']) await search('xyzzyq', user);
  await search(HOSTILE, 'user-8');
  await page.until(`fetch('/analytics/films').then(answer => answer.json()).then(found => found.searches === 11 && found.clicks === 6)`, 'they are committed');
  // An address that names nothing leads there.
  await page.show(url + '/');
  await page.until(`document.querySelector('h1')?.innerText === 'Analytics'`, 'home');
  await tile('Searches', '11');
  await tile('Users', '8');
  await tile('Click-through', '54.5 %');
  await tile('Mean position', '2.0');
  await tile('Conversions', '1');
  await lookAt('analytics');
  // What a tile has is drawn; the chart says its values by keyboard.
  await page.value(`[...document.querySelectorAll('.tile')].find(one => one.innerText.includes('Without clicks')).focus()`);
  await page.press('Enter');
  await page.until(`document.querySelector('.chart figcaption').innerText.startsWith('Without clicks')`, 'the chart');
  assert.equal(await asked('show'), 'noClickRate');
  await page.value(`document.querySelector('.chart-area').focus()`);
  await page.press('ArrowLeft');
  await page.press('End');
  const rate = ((await api('GET', '/analytics/films')).noClickRate * 100).toFixed(1) + ' %';
  await page.until(`document.querySelector('.chart-area').getAttribute('aria-valuetext').includes(${JSON.stringify(rate)})`, rate);
}

async function times() {
  const choose = title => page.value(`[...document.querySelectorAll('.page-head .segments label')].find(one => one.innerText === '${title}').querySelector('input').click()`);
  await choose('24 hours');
  await page.until(`new URLSearchParams(location.search).get('range') === '24h'`, 'the address has the time');
  await tile('Searches', '11');
  await choose('Own');
  await page.until(`new URLSearchParams(location.search).get('from')`, 'two days');
  await tile('Searches', '11');
  await fill('Until (UTC)', '2020-01-01');
  await page.until(`document.querySelector('main .wrong')?.innerText.includes('before the start')`, 'what is wrong stands at the field');
  await lookAt('analytics own');
  await fill('From (UTC)', '2019-12-31');
  await has('Nothing was recorded in this time.');
  // What is too long for the server is said in its words.
  await page.show(analytics('&from=1990-01-01&to=2020-01-01'));
  await has('more than 1000 steps');
  await page.show(analytics('&range=nothing&show=nothing&asked=nothing&failed=nothing'));
  await tile('Searches', '11');
}

async function lists() {
  await page.show(analytics('&range=24h'));
  await page.until(`document.querySelectorAll('.ranked').length === 2`, 'two lists');
  assert.equal(await page.value(`document.querySelector('.ranked tbody').innerText.split(/\\s+/).slice(0, 3).join(' ')`), 'space ship 6');
  await page.until(`document.querySelectorAll('.ranked tbody')[1].innerText.includes('xyzzyq')`, 'what found nothing');
  // Texts of strangers are texts.
  await page.until(`document.querySelector('.analytics-lists').innerText.includes(${JSON.stringify(HOSTILE)}) && window.hurt === undefined`, 'a text stays one');
  for (const title of ['Rising', 'Slow', 'Without clicks']) {
    await page.value(`[...document.querySelectorAll('[role=tab]')].find(one => one.innerText === '${title}').click()`);
    await page.until(`document.querySelector('.ranked[aria-label="${title}"]')`, title);
  }
  await lookAt('analytics lists');
  await page.value(`[...document.querySelectorAll('[role=tab]')].find(one => one.innerText === 'Filters').click()`);
  await click('(genre = Horror OR genre = Action) AND year > 1970', '.ranked');
  await page.until(`document.querySelectorAll('.hit').length > 0`, 'the filter works in the search');
  assert.equal(await asked('filter'), '(genre = Horror OR genre = Action) AND year > 1970');
}

async function query() {
  await page.show(analytics());
  await click('space ship', '.ranked');
  await has('Mean position', 'dialog');
  await has('What it finds now', 'dialog');
  await page.until(`document.querySelector('dialog .figures')?.innerText.includes('100.0 %')`, 'its figures');
  await lookAt('analytics query');
  // The address alone finds it as well, and says where it does not.
  await page.show(analytics('&query=alien'));
  await page.until(`document.querySelector('dialog .figures')`, 'its figures');
  await page.show(analytics('&query=nobody+asked'));
  await has('not among the', 'dialog');
  await page.press('Escape');
  await page.until(`!document.querySelector('dialog[open]')`, 'closed');
  const open = async () => { await page.show(analytics('&query=space+ship')); await has('Spaceballs', 'dialog'); };
  await open();
  await click('Why?', 'dialog');
  await page.until(`document.querySelector('dialog .ladder')`, 'the explanation');
  await open();
  await click('Add a synonym', 'dialog');
  await page.until(`document.querySelector('dialog input')?.value === 'space ship'`, 'the word is there');
  await fill('Also finds', 'rocket,');
  await click('Add', 'dialog footer');
  await page.until(`document.querySelector('.draft-bar')?.innerText.includes('1 change')`, 'a change is prepared');
  assert.equal(await asked('word'), null);
  await click('Discard', '.draft-bar');
  await open();
  await click('Judge it', 'dialog');
  await page.until(`document.querySelectorAll('.side-hits li').length > 3`, 'hits to judge');
  await open();
  await click('Make a rule', 'dialog');
  await click('Turn rules on', 'main');
  await page.until(`document.querySelector('.rule-preview')?.innerText.includes('space ship')`, 'a rule for the words');
}

async function stopped() {
  await page.show(analytics());
  await click('More', '.page-head');
  await click('Stop recording', '[role=menu]');
  await has('not recorded any more');
  await tile('Searches', '');
  await lookAt('analytics stopped');
  await undo('no longer recorded');
  await gone('not recorded any more');
  // Another index has not what this one has.
  await write('POST', '/indexes/books/documents', [{ id: 1, title: 'Solaris' }]);
  await page.show(url + '/?view=analytics&index=books');
  await has('Searches of books are not recorded.');
}

const FILMS = [[1, 'Alien', 'A crew in a space ship meets a creature.', 1979, 'Horror'], [2, 'Aliens', 'Marines return.', 1986, 'Action'], [3, 'Spaceballs', 'A space ship, a parody.', 1987, 'Comedy'], [7, 'Sunshine', 'A space ship flies to the sun.', 2007, 'Drama']]
  .map(([id, title, overview, year, genre]) => ({ id, title, overview, year, genre }));
try {
  await page.size(1280, 1000);
  await page.scheme('light');
  await write('POST', '/indexes/films/documents', FILMS);
  await write('PATCH', '/indexes/films/settings', { filterableAttributes: ['genre', 'year'] });
  for (const step of [off, figures, times, lists, query, stopped]) {
    await step();
    assert.deepEqual(problems(), [], step.name);
  }
  end();
} finally {
  await page.close();
}
