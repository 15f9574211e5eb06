// What every view has to look like: no serious finding of axe, nothing cut off or wrapped that must not be, nothing wider than the page, and buttons that say why they
// cannot be pressed. In light on a desk, in dark on a telephone, and very wide; PICTURES says where to put pictures, LOOKS=all has them of both schemes at each width.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const axe = readFileSync(new URL('../../server/console/node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const { PICTURES, LOOKS } = process.env;
const USUAL = [['light', 1280, 900], ['dark', 390, 844], ['dark', 2560, 1300]];
const ALL = ['light', 'dark'].flatMap(scheme => [[scheme, 390, 844], [scheme, 1280, 900], [scheme, 2560, 1300]]);

/** The views of the rail, and the part that looks at each. */
export const VIEWS = {
  analytics: 'analytics', indexes: 'data', documents: 'data', tasks: 'data', server: 'data', keys: 'data', try: 'data', search: 'search', compare: 'relevance', rules: 'relevance', synonyms: 'relevance', settings: 'relevance',
};

const WRAPPED = `[...document.querySelectorAll('.count, .badge')].filter(one => one.getClientRects().length > 1 || one.getBoundingClientRect().height > 34).map(one => one.innerText)`;
const SILENT = `[...document.querySelectorAll('button:disabled')].filter(one => one.getClientRects().length && !one.ariaBusy && (!one.title || getComputedStyle(one).cursor !== 'not-allowed')).map(one => one.outerHTML.slice(0, 160))`;

export function looks(page, part) {
  const wrong = [], seen = new Set();
  async function findings() {
    if (await page.value(`typeof axe === 'undefined'`)) await page.value(axe + '; 0');
    return page.value(`axe.run(document, { resultTypes: ['violations'] }).then(found => found.violations.filter(one => ['serious', 'critical'].includes(one.impact))
      .map(one => one.id + ': ' + one.nodes.slice(0, 3).map(node => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')))`);
  }
  return {
    findings,
    /** Looks at what is shown, `name` of a view first. */
    async lookAt(name) {
      seen.add(name.split(' ')[0]);
      for (const [scheme, width, height] of LOOKS === 'all' ? ALL : USUAL) {
        await page.scheme(scheme);
        await page.size(width, height);
        await page.settled();
        const here = `${name} ${scheme} ${width}`, note = (what, found) => wrong.push(...found.map(one => `${here}: ${what} ${one}`));
        if (PICTURES) await page.picture(join(PICTURES, here.replace(/[^a-z0-9]+/gi, '-') + '.png'));
        const wide = await page.value(`document.documentElement.scrollWidth - document.documentElement.clientWidth`);
        note('too wide by', wide > 0 ? [wide] : []);
        note('wrapped', await page.value(WRAPPED));
        if (width > 2000) continue;
        note('says not why', await page.value(SILENT));
        note('axe', await findings());
      }
      await page.scheme('light');
      await page.size(1280, 900);
      await page.settled();
    },
    /** That nothing was wrong, and no view of this part was left out. */
    end() {
      assert.deepEqual(wrong, []);
      if (part) assert.deepEqual(Object.keys(VIEWS).filter(view => VIEWS[view] === part && !seen.has(view)), [], 'views that nobody looked at');
    },
  };
}
