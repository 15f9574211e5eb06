// The views of the console about relevance in a headless Chromium: Compare, Rules, Synonyms, Settings. LAMINA_URL says where the server is, CHROMIUM which program,
// PICTURES where to put pictures, STEPS which steps to take (all). Things that people do are done by pressing and typing; the server is asked what came of it.

import assert from 'node:assert/strict';
import { open } from './browser.mjs';
import { undoing } from './console-steps.mjs';
import { looks } from './looks.mjs';

const url = process.env.LAMINA_URL, wanted = process.env.STEPS?.split(',');
const FILMS = [
  [1, 'Alien', 'A crew in a space ship meets a creature.', 1979, 'Horror'], [2, 'Aliens', 'Marines return to the moon of the creature.', 1986, 'Action'],
  [3, 'Spaceballs', 'A space ship, a parody.', 1987, 'Comedy'], [4, 'Space Jam', 'Basketball in space.', 1996, 'Comedy'], [5, 'The Ship', 'A ship sails the sea.', 1990, 'Drama'],
  [6, 'Das Boot', 'A submarine ship at war.', 1981, 'War'], [7, 'Sunshine', 'A space ship flies to the sun.', 2007, 'Drama'], [8, 'Libraries', 'A film about a library.', 2001, 'Drama'],
].map(([id, title, overview, year, genre]) => ({ id, title, overview, year, genre }));

async function api(method, path, body) {
  const answer = await fetch(url + path, { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, method + ' ' + path + ': ' + answer.status + ' ' + (answer.ok || await answer.text()));
  return answer.status === 204 ? null : answer.json();
}
async function write(method, path, body) {
  let task = await api(method, path + '?wait=searchable', body);
  while (['enqueued', 'processing'].includes(task.status)) {
    await new Promise(done => setTimeout(done, 100));
    task = await api('GET', '/tasks/' + (task.taskUid ?? task.uid));
  }
  assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
}
const settings = () => api('GET', '/indexes/films/settings');
async function until(what, work) {
  for (const end = Date.now() + 60_000; ;) {
    if (await work()) return;
    assert.ok(Date.now() < end, 'not so: ' + what);
    await new Promise(done => setTimeout(done, 200));
  }
}
const trials = async () => (await api('GET', '/indexes?limit=1000')).results.map(one => one.uid).filter(uid => uid.startsWith('lamina-trial-'));

const page = await open(process.env.CHROMIUM);
const has = (text, where = 'main') => page.until(`document.querySelector('${where}')?.innerText.includes(${JSON.stringify(text)})`, where + ' has: ' + text);
const click = (text, where = 'body') => page.until(`(() => { const one = [...document.querySelectorAll('${where} :is(button, a, [role=menuitem], [role=option], [role=radio], input)')].find(one => !one.disabled && !one.ariaBusy
  && ((one.innerText ?? '').trim().startsWith(${JSON.stringify(text)}) || one.getAttribute('aria-label')?.startsWith(${JSON.stringify(text)}) || (one.closest('label.switch, label.checkbox')?.innerText ?? '').trim().startsWith(${JSON.stringify(text)})));
  if (one) { one.focus(); one.click(); } return Boolean(one); })()`, 'a button: ' + text);
const fill = (label, text, where = 'body') => page.until(`(() => { const name = [...document.querySelectorAll('${where} label')].find(one => one.textContent.trim() === ${JSON.stringify(label)});
  const field = name?.htmlFor ? document.getElementById(name.htmlFor) : null;
  if (!field) return false;
  field.focus();
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, ${JSON.stringify(text)});
  field.dispatchEvent(new Event('input', { bubbles: true }));
  return true; })()`, 'a field: ' + label);
const undo = words => page.until(undoing(words), 'to be undone: ' + words);
const show = async params => {
  await page.show(url + '/?' + new URLSearchParams(params));
  await page.until(`document.querySelector('main')?.innerText.length > 20 && !document.querySelector('main .loading')`, JSON.stringify(params));
};
const bar = text => page.until(`document.querySelector('.draft-bar')?.innerText.includes(${JSON.stringify(text)})`, 'the bar says: ' + text);
const order = label => page.value(`[...document.querySelectorAll('.drag-list[aria-label="${label}"] li')].map(one => one.innerText.trim().split(/\\s/)[0])`);

const { lookAt, end } = looks(page, 'relevance');

const steps = {
  async settings() {
    await show({ view: 'settings', index: 'films' });
    // By keyboard: the second field becomes the first.
    await page.until(`(() => { const one = document.querySelectorAll('.drag-list .grip')[1]; one?.focus(); return one && document.activeElement === one; })()`, 'a handle');
    await page.press('ArrowUp');
    await bar('1 change');
    assert.deepEqual(await order('Searchable fields'), ['overview', 'title']);
    await page.until(`document.activeElement?.getAttribute('aria-label')?.startsWith('Move overview, position 1 of 2')`, 'the focus goes along');
    // Back again is no change.
    await page.press('ArrowDown');
    await page.until(`!document.querySelector('.draft-bar')`, 'back is no change');
    await click('Not in numbers');
    await click('Words', '[role=tablist]');
    await has('Synonyms');
    await click('Search', '[role=tablist]');
    await bar('cost: none');
    await click('Review', '.draft-bar');
    await page.until(`document.querySelector('dialog .diff .added')?.innerText.includes('true')`, 'the difference');
    await lookAt('settings review');
    await click('Apply 1 change', 'dialog');
    await until('the setting is applied', async () => (await settings()).typoTolerance.disableOnNumbers);
    await page.until(`!document.querySelector('.draft-bar')`, 'nothing is left to apply');
    await undo('1 setting of films changed');
    await until('the setting is as before', async () => !(await settings()).typoTolerance.disableOnNumbers);
    // What the server refuses stands at the control, in its words.
    await show({ view: 'settings', index: 'films', group: 'facets' });
    await fill('Maximum number of values', '1.5');
    await click('Search', '[role=tablist]');
    await click('Apply', '.draft-bar');
    await page.until(`document.querySelector('#setting-faceting .wrong')?.innerText.includes('maxValuesPerFacet')`, 'the refusal is at the control');
    await lookAt('settings refused');
    await click('Discard', '.draft-bar');
    // A setting is found by its name, and by what it is for.
    await page.until(`!document.querySelector('.draft-bar')`, 'nothing is prepared any more');
    await page.value(`document.activeElement.blur()`);
    await page.press('/');
    await page.until(`document.activeElement.matches('[data-search]')`, 'the field has the focus');
    await page.type('milli');
    await has('searchCutoffMs');
    for (const group of ['search', 'ranking', 'facets', 'words', 'meaning', 'answers', 'more']) {
      await show({ view: 'settings', index: 'films', group });
      await lookAt('settings ' + group);
    }
  },

  async boosts() {
    await show({ view: 'settings', index: 'films', group: 'ranking' });
    await click('Add', '#setting-rankingRules');
    await click('A boost', '[role=menu]');
    await click('By condition', 'dialog');
    await fill('Condition', 'genre = Drama', 'dialog');
    await lookAt('settings boost');
    await click('Add', 'dialog footer');
    await bar('1 change');
    await click('Apply', '.draft-bar');
    await until('the boost is a ranking rule', async () => (await settings()).rankingRules.some(rule => rule.boostIf?.filter === 'genre = Drama'));
    await undo('1 setting of films changed');
    await until('the boost is gone', async () => (await settings()).rankingRules.every(rule => typeof rule === 'string'));
  },

  async history() {
    await show({ view: 'settings', index: 'films', history: '1' });
    await has('now', 'dialog');
    await has('Settings: ', 'dialog');
    await lookAt('settings history');
  },

  async embedder() {
    await show({ view: 'settings', index: 'films', group: 'meaning' });
    await click('Add an embedder', '#setting-embedders');
    await lookAt('settings embedder sources');
    await click('Another service', 'dialog');
    await fill('Address', 'http://127.0.0.1:9/embed', 'dialog');
    await fill('A text to test it with', 'a ship in space', 'dialog');
    await click('Test', 'dialog');
    await page.until(`document.querySelector('dialog .failure')?.innerText.length > 20`, 'the server says why it does not work');
    await lookAt('settings embedder');
    assert.deepEqual((await settings()).embedders, {}, 'a test changes nothing');
    await until('the index of the test is gone', async () => (await trials()).length === 0);
  },

  async synonyms() {
    await show({ view: 'search', index: 'films', q: 'spacecraft' });
    await page.until(`localStorage.getItem('lamina.recent')?.includes('spacecraft')`, 'the query is remembered');
    await show({ view: 'synonyms', index: 'films' });
    await click('Add synonyms');
    await fill('A search for', 'spacecraft', 'dialog');
    await fill('Also finds', 'space ship,', 'dialog');
    await click('Add', 'dialog footer');
    await has('space ship');
    await bar('cost: none');
    await click('Try on', 'main');
    await has('1 of 1 query would change.');
    await until('the clone is gone', async () => (await trials()).length === 0);
    await lookAt('synonyms');
    await click('Apply', '.draft-bar');
    await until('they are applied', async () => (await settings()).synonyms['space ship']?.[0] === 'spacecraft');
    await page.until(`(() => { const one = [...document.querySelectorAll('.toast')].find(one => one.innerText.includes('1 setting of films changed')); one?.querySelector('[aria-label^=Close]').click(); return Boolean(one); })()`, 'a message says so');
    await show({ view: 'synonyms', index: 'films', tab: 'stop' });
    await fill('Add stop words', 'the, of');
    await page.press('Enter');
    await bar('1 change');
    await lookAt('synonyms stop words');
    await click('Discard', '.draft-bar');
    await show({ view: 'synonyms', index: 'films', tab: 'forms' });
    await click('Always');
    await bar('1 change');
    await lookAt('synonyms forms');
    await click('Apply', '.draft-bar');
    await until('forms are on', async () => (await settings()).wordForms?.enabled === true);
    await undo('1 setting of films changed');
    await until('forms are as before', async () => (await settings()).wordForms?.enabled !== true);
  },

  async compare() {
    await show({ view: 'compare', index: 'films', q: 'space ship' });
    await page.until(`document.querySelectorAll('.side-hits li').length >= 6`, 'both sides have hits');
    await click('Relevant to “space ship”: Sunshine');
    await page.until(`[...document.querySelectorAll('.side-hits .is-good')].every(one => one.innerText.includes('Sunshine')) && document.querySelector('.side-hits .is-good')`, 'judged hits are marked');
    await click('Not relevant to “space ship”: The Ship');
    assert.deepEqual(await page.value(`JSON.parse(localStorage.getItem('lamina.judged')).films`), [{ q: 'space ship', relevant: { 5: 0, 7: 1 } }]);
    // More of them, as a file has them; a line that is none is named.
    await click('1 judged query');
    await fill('One query per line', '{"q": 1}', 'dialog');
    await click('Keep', 'dialog');
    await page.until(`document.querySelector('dialog .wrong')?.innerText.includes('Line 1: \`q\` must be a string')`, 'the line is named');
    await fill('One query per line', '{"q": "space ship", "relevant": {"7": 3, "1": 1}}\n{"q": "library", "relevant": [8]}\n{"q": "submarine sea", "relevant": {"5": 3}}', 'dialog');
    await click('Keep', 'dialog');
    // A setting is tried on a clone: the index stays as it is.
    const before = await settings();
    await click('Change B', 'main');
    await click('Always', '.side-form');
    await has('on a clone');
    await until('there is a clone', async () => (await trials()).length === 1);
    await click('Measure', 'main');
    await has('nDCG of A');
    await page.until(`document.querySelector('.verdict')?.innerText.includes('p = ') || document.querySelector('.verdict')?.innerText.includes('equally')`, 'p is said');
    // The words of one document are in no other: only any words find the ship that sails.
    await page.until(`document.querySelector('.dumbbells tbody')?.innerText.includes('submarine sea') && document.querySelector('.dumbbells tbody').innerText.includes('+1.00')`, 'the query is a dumbbell');
    assert.deepEqual(await settings(), before);
    await lookAt('compare');
    await page.value(`document.querySelector('.dumbbells').scrollIntoView({ block: 'end' })`);
    await lookAt('compare measured');
    // What is compared is in the address; a clone goes when its view does, and when the page does.
    assert.match(await page.value('location.search'), /wordForms/);
    await page.show('about:blank');
    await until('the clone went with the page', async () => (await trials()).length === 0);
    // One that stayed behind, as after a crash, goes on the next visit.
    const old = `lamina-trial-abcdefgh-${(Date.now() - 25 * 3600 * 1000).toString(36)}-abcdefgh`;
    await write('POST', '/indexes', { uid: old });
    await show({ view: 'compare', index: 'films', q: 'library' });
    await until('what was left over is gone', async () => (await trials()).length === 0);
    assert.equal(await page.value(`document.querySelector('.switcher').innerText.includes('lamina-trial')`), false);
    // Applied, and undone.
    await click('More of B');
    await click('Apply to films', '[role=menu]');
    await has('"any"', 'dialog');
    await click('Apply 1 change', 'dialog');
    await until('it is applied', async () => (await settings()).matchingStrategy === 'any');
    await undo('1 setting of films changed');
    await until('it is undone', async () => !(await settings()).matchingStrategy);
  },

  async rules() {
    await show({ view: 'rules', index: 'films' });
    await click('Turn rules on');
    await has('There is no rule yet.');
    // From a hit, by a click.
    await show({ view: 'compare', index: 'films', q: 'space ship', b: '{}' });
    await click('Pin Sunshine');
    await has('Sunshine first', 'dialog');
    await page.until(`document.querySelector('.rule-preview .drag-list li')?.innerText.includes('Sunshine')`, 'the preview has it first');
    // By keyboard to another place.
    await page.until(`(() => { const one = document.querySelector('.rule-preview .grip'); one?.focus(); return one && document.activeElement === one; })()`, 'a handle');
    await page.press('ArrowDown');
    await has('Sunshine second', 'dialog');
    // What was changed is not lost by a key.
    await page.press('Escape');
    await has('Discard your changes?', 'dialog.size-s');
    await click('Cancel', 'dialog.size-s');
    await has('Sunshine second', 'dialog');
    await lookAt('rules rule');
    await page.value(`document.querySelector('dialog details').open = true`);
    await fill('Name', 'space ship', 'dialog');
    await page.until(`document.querySelector('dialog .wrong')?.innerText.includes('letters')`, 'a blank in a name is named at the field');
    await fill('Name', 'space-ship', 'dialog');
    await click('Create', 'dialog footer');
    await until('the rule acts', async () => (await api('POST', '/indexes/films/search', { q: 'space ship' })).hits[1].id === 7);
    await show({ view: 'rules', index: 'films' });
    await has('“space ship”');
    await has('Sunshine second');
    await lookAt('rules');
    await click('on', 'main table');
    await until('it is off', async () => !(await api('GET', '/dynamic-search-rules/space-ship')).active);
    const rule = await api('GET', '/dynamic-search-rules/space-ship');
    await click('Delete the rule space-ship');
    await has('There is no rule yet.');
    await page.until(`document.querySelector('.toasts')?.innerText.includes('is deleted')`, 'a message says so');
    await undo('space-ship is deleted');
    await until('the rule is back', async () => (await api('POST', '/dynamic-search-rules', {})).total === 1);
    assert.deepEqual({ ...await api('GET', '/dynamic-search-rules/space-ship'), lastUpdatedAt: 0 }, { ...rule, lastUpdatedAt: 0 });
    await write('DELETE', '/dynamic-search-rules/space-ship');
    // From a hit of the search, to the end.
    await show({ view: 'search', index: 'films', q: 'space ship' });
    const first = (await api('POST', '/indexes/films/search', { q: 'space ship' })).hits[0];
    await click('More', '.hit');
    await click('Move to the end for this query', '.hit');
    await has(`${first.title} last`, 'dialog');
    await page.until(`document.querySelector('.rule-last')?.innerText.includes(${JSON.stringify(first.title)}) && [...document.querySelectorAll('.rule-preview .drag-list .hit-name')].every(one => one.innerText !== ${JSON.stringify(first.title)})`, 'the preview has it at the end');
    await lookAt('rules last');
    await click('Create', 'dialog footer');
    await until('it is the last', async () => (await api('POST', '/indexes/films/search', { q: 'space ship' })).hits.at(-1).id === first.id);
    await write('DELETE', '/dynamic-search-rules/space-ship');
  },
};

try {
  await page.size(1280, 1000);
  await page.scheme('light');
  await write('POST', '/indexes/films/documents', FILMS);
  await write('PATCH', '/indexes/films/settings', { searchableAttributes: ['title', 'overview'], filterableAttributes: ['genre', 'year'], sortableAttributes: ['year'] });
  for (const [name, step] of Object.entries(steps)) {
    if (wanted && !wanted.includes(name)) continue;
    await step();
    assert.deepEqual(page.problems.filter(one => !one.startsWith('Failed to load resource')), [], name);
    console.log('console-relevance: ' + name + ', ' + Math.round(performance.now() / 1000) + ' s');
  }
  if (!wanted) end();
} finally {
  await page.close();
}
