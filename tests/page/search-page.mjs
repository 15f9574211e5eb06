// The project of docs/start/search-page.md, built and shown in a headless Chromium: PAGE says where, CHROMIUM which program, PICTURES where to put a picture.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { open } from './browser.mjs';

const page = await open(process.env.CHROMIUM);
try {
  await page.size(1000, 900);
  await page.show(process.env.PAGE);
  await page.until(`document.querySelectorAll('#hits li').length > 5`, 'films');
  await page.value(`document.querySelector('#box input').focus()`);
  await page.type('wizrad of oz');
  await page.until(`document.querySelector('#hits h2')?.innerText.startsWith('The Wizard of Oz')`, 'the film, despite the typo');
  assert.ok(await page.value(`document.querySelectorAll('#genres li').length > 0`), 'genres with their counts');
  await page.value(`document.querySelector('#genres input').click()`);
  await page.until(`document.querySelector('#genres input').checked && document.querySelectorAll('#hits li').length > 0`, 'hits of one genre');
  await page.picture(join(process.env.PICTURES, 'search-page.png'));
} finally {
  await page.close();
}
console.log('search page: passed');
