// The console at `/` in a headless Chromium: LAMINA_URL says where, CHROMIUM which program, PICTURES where to put pictures, PROTECTED_URL and PROTECTED_KEY a server
// that wants a key. Every view is opened in light and dark, narrow and wide, and looked over by axe.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { open } from './browser.mjs';

const url = process.env.LAMINA_URL, pictures = process.env.PICTURES, { PROTECTED_URL, PROTECTED_KEY } = process.env;
const folder = new URL('../../server/console/', import.meta.url);
const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', folder), 'utf8');
const SIZE_MOST = 120 * 1024, PAINT_MOST_MS = 500;

async function api(method, path, body) {
  const answer = await fetch(url + path, { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, method + ' ' + path + ': ' + answer.status + ' ' + (answer.ok || await answer.text()));
  return answer.json();
}
const write = (method, path, body) => api(method, path + '?wait=searchable', body);

const page = await open(process.env.CHROMIUM);
const has = (text, where = 'main') => page.until(`document.querySelector('${where}')?.innerText.includes(${JSON.stringify(text)})`, where + ' has: ' + text);
const click = (text, where = 'body') => page.until(`(() => { const one = [...document.querySelectorAll('${where} :is(button, a, [role=menuitem], [role=option])')].find(one => !one.disabled
  && (one.innerText.trim().startsWith(${JSON.stringify(text)}) || one.getAttribute('aria-label') === ${JSON.stringify(text)}));
  if (one) { one.focus(); one.click(); } return Boolean(one); })()`, 'a button: ' + text);
const fill = (label, text) => page.until(`(() => { const name = [...document.querySelectorAll('label')].find(one => one.innerText.trim() === ${JSON.stringify(label)});
  const field = name?.htmlFor ? document.getElementById(name.htmlFor) : null;
  if (!field) return false;
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, ${JSON.stringify(text)});
  field.dispatchEvent(new Event('input', { bubbles: true }));
  return true; })()`, 'a field: ' + label);
const active = expression => page.until(`document.activeElement?.${expression}`, 'the focus: ' + expression);

/** Serious findings of axe on what is shown. */
async function findings() {
  await page.value(axe + '; 0');
  return page.value(`axe.run(document, { resultTypes: ['violations'] }).then(found => found.violations.filter(one => ['serious', 'critical'].includes(one.impact))
    .map(one => one.id + ': ' + one.nodes.slice(0, 3).map(node => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')))`);
}

/** What went wrong on the page, but for answers that refuse: those are shown. */
const problems = () => page.problems.filter(one => !one.startsWith('Failed to load resource'));

async function firstRun() {
  await page.show(url + '/');
  await has('Search something in a minute');
  await click('Load the films');
  await has('4,000 hits');
  await page.until(`document.querySelector('.switcher-button').innerText.includes('4,000 documents')`, 'the switcher counts');
}

async function searches() {
  // What is typed is in the address, and marked in the hits.
  await page.value(`document.activeElement.blur()`);
  await page.press('/');
  await active(`matches('[data-search]')`);
  await page.type('alien');
  await page.until(`document.querySelector('.hit mark')?.textContent.toLowerCase() === 'alien'`, 'what matched is marked');
  assert.equal(await page.value(`new URLSearchParams(location.search).get('q')`), 'alien');
  // `/` goes to the field from a box that was ticked as well.
  await page.value(`(() => { const box = document.createElement('input'); box.type = 'checkbox'; box.id = 'probe'; document.querySelector('main').append(box); box.focus(); box.click(); })()`);
  await page.press('/');
  await active(`matches('[data-search]')`);
  await page.value(`document.getElementById('probe').remove()`);
  // Nothing is found: a state with a way out.
  await page.show(url + '/?index=films&q=qqqqqqqqzz');
  await has('Nothing is found for “qqqqqqqqzz”.');
  await click('Search for everything');
  await has('4,000 hits');
}

async function missing() {
  await page.show(url + '/?index=film&q=x');
  await has('There is no index “film”.');
  await click('films', 'main');
  await has('4,000 hits');
  await page.show(url + '/?view=nothing');
  await has('There is no view “nothing”.');
}

async function palette() {
  await page.show(url + '/?index=films');
  await has('4,000 hits');
  await page.press('k', { ctrl: true });
  await active(`matches('.palette input')`);
  await page.type('tas');
  await page.press('Enter');
  await has('Every write is a task');
  assert.equal(await page.value(`new URLSearchParams(location.search).get('view')`), 'tasks');
  // What views can do is offered everywhere.
  await page.press('k', { ctrl: true });
  await active(`matches('.palette input')`);
  await page.type('create an');
  await page.press('Enter');
  await active(`closest('dialog')?.innerText.includes('Create an index')`);
}

async function failures() {
  // A name that the server refuses at once: at the field, in its words.
  await fill('Name', 'a b');
  await click('Create', 'dialog footer');
  await page.until(`document.querySelector('dialog .wrong')?.innerText.includes('a b')`, 'the refusal stands at the field');
  // One that fails later: a message that links to the task.
  await fill('Name', 'films');
  await click('Create', 'dialog footer');
  await page.until(`document.querySelector('.toast.bad')?.innerText.includes('films')`, 'a task that fails is reported');
  await page.value(`[...document.querySelectorAll('.toast.bad a')].find(one => one.innerText.startsWith('Task')).click()`);
  await page.until(`document.querySelector('dialog.drawer')?.innerText.includes('already exists')`, 'the task is shown');
  await page.press('Escape');
  await page.until(`!document.querySelector('dialog[open]')`);
  // The server is away, and comes back.
  await page.offline(true);
  await page.until(`document.querySelector('.banner')?.innerText.includes('does not answer')`, 'a lost connection is said');
  await page.offline(false);
  await page.until(`!document.querySelector('.banner')`, 'the server is back');
}

async function hostile() {
  const name = '<img src=x onerror=alert(1)>', document = { id: 1, [name]: '<script>window.broken = true</script> alien', '‮right': '\u200b', '__proto__x': { a: [null, [], {}] }, long: 'x'.repeat(200_000) };
  for (let field = 0; field < 2000; field++) document['field ' + field] = field;
  await write('POST', '/indexes/hostile/documents', [document]);
  for (const view of ['search', 'documents', 'settings', 'indexes']) {
    await page.show(`${url}/?view=${view}&index=hostile`);
    await page.until(`document.querySelector('main')?.innerText.length > 100`, view);
    assert.equal(await page.value(`window.broken === undefined && !document.querySelector('main img')`), true, view + ' makes HTML of a document');
  }
  await write('DELETE', '/indexes/hostile');
}

async function everyView() {
  await page.show(url + '/?index=films');
  await has('4,000 hits');
  const views = await page.value(`[...document.querySelectorAll('.rail nav a')].map(one => one.getAttribute('href'))`);
  assert.ok(views.length >= 11, 'the rail has the views');
  const all = [];
  for (const scheme of ['light', 'dark']) {
    await page.scheme(scheme);
    for (const [width, height] of [[390, 844], [1280, 900]]) {
      await page.size(width, height);
      for (const href of views) {
        await page.show(new URL(href, url + '/').href);
        await page.until(`document.querySelector('main')?.innerText.length > 20 && !document.querySelector('main .loading')`, href);
        await page.settled();
        const name = `${new URLSearchParams(href).get('view') ?? 'search'} ${scheme} ${width}`;
        if (pictures) await page.picture(join(pictures, name.replaceAll(' ', '-') + '.png'));
        all.push(...(await findings()).map(one => name + ': ' + one));
        const wide = await page.value(`document.documentElement.scrollWidth - innerWidth`);
        if (wide > 0) all.push(`${name}: ${wide} pixels too wide`);
      }
    }
  }
  assert.deepEqual(all, []);
  await page.scheme('light');
  await page.size(1280, 900);
}

async function signIn() {
  await page.show(PROTECTED_URL + '/');
  await has('This server needs a key.');
  assert.deepEqual(await findings(), []);
  await fill('API key', 'wrong');
  await click('Sign in');
  await page.until(`document.querySelector('.wrong')?.innerText.length > 10`, 'a wrong key is refused at the field');
  await fill('API key', PROTECTED_KEY);
  await click('Sign in');
  await has('Search something in a minute');
}

async function measures() {
  const answer = await fetch(url + '/'), text = await answer.text(), policy = answer.headers.get('Content-Security-Policy');
  assert.match(policy, /^default-src 'none'; connect-src 'self'; style-src 'sha256-[^ ]+'; script-src 'sha256-[^ ]+'; img-src data: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/);
  const bytes = gzipSync(text, { level: 9 }).length;
  assert.ok(bytes <= SIZE_MOST, bytes + ' bytes');
  await page.show(url + '/?index=films');
  await has('4,000 hits');
  const paint = await page.value(`performance.getEntriesByName('first-contentful-paint')[0].startTime`);
  assert.ok(paint < PAINT_MOST_MS, 'first paint after ' + paint + ' ms');
  console.log(`console: ${bytes} bytes with gzip, first paint after ${Math.round(paint)} ms`);
}

try {
  await page.size(1280, 900);
  await page.scheme('light');
  for (const step of [firstRun, searches, missing, palette, failures, hostile, everyView, measures, signIn]) {
    await step();
    assert.deepEqual(problems(), [], step.name);
  }
} finally {
  await page.close();
}
