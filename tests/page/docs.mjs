// The page at `/docs/api` in a headless Chromium: LAMINA_URL says where, CHROMIUM which program, PICTURES where to put pictures.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { open } from './browser.mjs';

const url = process.env.LAMINA_URL, pictures = process.env.PICTURES;
const page = await open(process.env.CHROMIUM);
const shown = `[...document.querySelectorAll('details.one')].filter(one => !one.hidden && !one.parentElement.hidden)`;
const inside = (id, text) => `document.getElementById('${id}').innerText.toLowerCase().includes(${JSON.stringify(text.toLowerCase())})`;
try {
  await page.size(1280, 900);
  await page.scheme('light');
  await page.show(url + '/docs/api');
  await page.until(`${shown}.length > 150`, 'all operations');
  const spec = await (await fetch(url + '/openapi.json')).json();
  const count = Object.values(spec.paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
  assert.equal(await page.value(`${shown}.length`), count, 'each operation once');
  assert.deepEqual(await page.value(`[...document.querySelectorAll('nav a')].map(one => one.firstChild.textContent)`), spec.tags.map(tag => tag.name));
  assert.equal(await page.value(`document.getElementById('version').textContent`), spec.info.version);

  // An operation with all that it takes and answers.
  const search = 'post_indexes_indexUid_search';
  await page.value(`document.querySelector('#${search} > summary').click()`);
  await page.until(inside(search, 'semanticRatio') + ' || ' + inside(search, 'matchingStrategy'));
  for (const text of ['A key needs the action search.', 'jurasic wrold', 'only documents that meet the condition', "curl -X POST '" + url + "/indexes/films/search'",
    'required', 'processingTimeMs', 'Refusals']) assert.ok(await page.value(inside(search, text)), text);
  await page.value(`[...document.querySelectorAll('#${search} .schema details summary')].find(one => one.innerText.startsWith('hybrid')).click()`);
  await page.until(inside(search, 'rrfK'), 'a schema inside another');
  assert.equal(await page.value('location.hash'), '#' + search);
  await page.value(`document.querySelector('#${search}').scrollIntoView()`);
  await page.picture(join(pictures, 'docs.png'));

  // Found by names of parameters, too.
  await page.press('/');
  await page.type('rankingscorethreshold');
  await page.until(`${shown}.length > 2 && ${shown}.length < 8 && ${shown}.some(one => one.id === '${search}')`, 'operations with this parameter');
  await page.press('Escape');
  await page.until(`${shown}.length === ${count}`);

  // An address of an operation, on a telephone, in the dark.
  await page.scheme('dark');
  await page.size(390, 800);
  await page.show(url + '/docs/api?again#put_indexes_indexUid_settings_stop_words');
  await page.until(inside('put_indexes_indexUid_settings_stop_words', 'Example'), 'the operation of the address is open');
  assert.ok(await page.value(`document.documentElement.scrollWidth <= document.documentElement.clientWidth`), 'nothing is wider than a telephone');
  await page.picture(join(pictures, 'docs-narrow.png'));

  // Where errors lead.
  const { link } = await (await fetch(url + '/indexes/absent')).json();
  assert.ok(link.endsWith('/docs/errors#index_not_found'), link);
  await page.show(url + new URL(link).pathname + new URL(link).hash);
  await page.until(`document.querySelector('h3:target')?.textContent === 'index_not_found'`);
  assert.ok(await page.value(`document.documentElement.scrollWidth <= document.documentElement.clientWidth`), 'codes are not wider than a telephone');
  await page.picture(join(pictures, 'errors.png'));
  assert.deepEqual(page.problems, [], 'errors on the page');
} finally {
  await page.close();
}
console.log('the page of routes: passed');
