// Records the frames of the moving picture: LAMINA_URL says where the server is, CHROMIUM which program, FRAMES where to put them.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open } from '../tests/page/browser.mjs';

const url = process.env.LAMINA_URL, folder = process.env.FRAMES;
const ask = async (method, path, body) => {
  const answer = await fetch(url + path, { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  return answer.json();
};
const sample = await ask('GET', '/sample');
await ask('PATCH', '/indexes/films/settings?wait=searchable', sample.settings);
// Without the addresses of posters: the picture is the same with a network and without one.
const films = sample.documents.map(({ poster, ...film }) => film);
await ask('POST', '/indexes/films/documents?primaryKey=id&wait=searchable&waitMs=60000', films);

const page = await open(process.env.CHROMIUM);
const frames = [];
const frame = async (ms, more = {}) => {
  await page.settled();
  const file = `${String(frames.length).padStart(3, '0')}.png`;
  await page.picture(join(folder, file));
  frames.push({ file, ms, ...more });
};
/** The first hit has this title: the answer to what was typed is there. */
const first = title => page.until(`document.querySelector('.hit')?.innerText.includes(${JSON.stringify(title)})`, `the first hit: ${title}`);
const pause = () => new Promise(done => setTimeout(done, 150));
try {
  await page.size(1280, 800);
  await page.scheme('light');
  await page.show(`${url}/?index=films`);
  await page.until(`document.querySelectorAll('.hit').length > 3 && document.querySelector('.search-facets')?.innerText.includes('genres')`, 'hits and facets');
  await pause();
  await frame(1200);
  await page.press('/');
  for (const letter of 'wizrad of oz') {
    await page.press(letter);
    await pause();
    await frame(110);
  }
  await first('Wizard of Oz');
  await pause();
  await frame(1600);

  const facet = `[...document.querySelectorAll('.search-facets :is(label, button, a)')].find(one => one.innerText.trim().startsWith('Fantasy'))`;
  await page.until(`Boolean(${facet})`, 'the facet Fantasy');
  await page.value(`${facet}.click()`);
  await page.until(`decodeURIComponent(location.search).includes('Fantasy')`, 'the address has the facet');
  await first('Wizard of Oz');
  await pause();
  await frame(1600);

  await page.press('/');
  await page.press('ArrowDown');
  await pause();
  await frame(500);
  await page.press('Enter');
  await page.until(`document.querySelector('[role=dialog], dialog[open], .drawer')?.innerText.length > 200`, 'the explanation');
  await pause();
  await pause();
  await frame(4200, { still: true });
  if (page.problems.length) throw new Error('errors on the page: ' + page.problems);
} finally {
  await page.close();
}
writeFileSync(join(folder, 'frames.json'), JSON.stringify(frames));
