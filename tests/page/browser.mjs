// A headless Chromium, spoken to through two pipes: no package, no port.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// A machine with much else to do needs more.
const WAIT_MS = Number(process.env.WAIT_MS ?? 60_000);

/** Texts of cells that lie outside of the box that shows their table, or of the window: an expression on a page. */
export const CUT_OFF = `[...document.querySelectorAll('td, th')].filter(one => {
  const cell = one.getBoundingClientRect(), box = (one.closest('.wide, .table-box') || document.documentElement).getBoundingClientRect();
  return cell.width > 0 && (cell.right > box.right + 1 || one.scrollWidth > one.clientWidth + 1);
}).map(one => one.textContent)`;

/** Starts `program`; the page it shows, with what went wrong on it in `problems`. */
export async function open(program) {
  const profile = mkdtempSync(join(tmpdir(), 'lamina-page-'));
  const process = spawn(program, ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
    '--disable-background-networking', '--remote-debugging-pipe', '--user-data-dir=' + profile, 'about:blank'],
  { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const [, , , input, output] = process.stdio;
  const waiting = new Map(), problems = [];
  let number = 0, rest = '';

  const failed = new Promise((_, reject) => process.on('error', reject).on('exit', code => reject(new Error('Chromium ended: ' + code))));
  failed.catch(() => {});
  output.setEncoding('utf8').on('data', text => {
    const messages = (rest + text).split('\0');
    rest = messages.pop();
    for (const message of messages.map(one => JSON.parse(one))) {
      if (message.id) {
        const { resolve, reject } = waiting.get(message.id);
        waiting.delete(message.id);
        message.error ? reject(new Error(message.error.message)) : resolve(message.result);
      } else if (message.method === 'Runtime.exceptionThrown') {
        problems.push(message.params.exceptionDetails.exception?.description || message.params.exceptionDetails.text);
      } else if (message.method === 'Log.entryAdded' && message.params.entry.level === 'error') {
        problems.push(message.params.entry.text + ' ' + (message.params.entry.url || ''));
      }
    }
  });
  const send = (method, params = {}, sessionId) => Promise.race([failed, new Promise((resolve, reject) => {
    number += 1;
    waiting.set(number, { resolve, reject });
    input.write(JSON.stringify({ id: number, method, params, sessionId }) + '\0');
  })]);

  const { targetInfos } = await send('Target.getTargets');
  const target = targetInfos.find(info => info.type === 'page');
  const { sessionId } = await send('Target.attachToTarget', { targetId: target.targetId, flatten: true });
  const ask = (method, params) => send(method, params, sessionId);
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await ask(domain + '.enable');

  /** The value of an expression on the page. */
  const value = async expression => {
    const { result, exceptionDetails } = await ask('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(expression + ': ' + exceptionDetails.exception?.description);
    return result.value;
  };
  /** Waits until an expression is true. */
  const until = async (expression, what = expression) => {
    const end = Date.now() + WAIT_MS;
    // A page that is not there yet has not what is asked for.
    let error = '';
    while (!await value(expression).catch(failure => { error = String(failure); })) {
      if (Date.now() > end) throw new Error('not so: ' + what + '\n' + error + '\n' + await value('document.body.innerText'));
      await new Promise(resolve => setTimeout(resolve, 30));
    }
  };
  const KEYS = { Enter: 13, Escape: 27, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39, Tab: 9, Home: 36, End: 35 };
  const press = async (key, { ctrl = false } = {}) => {
    const code = KEYS[key];
    const text = ctrl ? undefined : { Enter: '\r' }[key] ?? (code ? undefined : key);
    const event = { key, code: key, windowsVirtualKeyCode: code, modifiers: ctrl ? 2 : 0, ...(text ? { text } : {}) };
    await ask('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
    await ask('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  };
  return {
    problems, value, until, press,
    show: url => ask('Page.navigate', { url }),
    type: async text => { for (const letter of text) await press(letter); },
    scheme: scheme => ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] }),
    size: (width, height) => ask('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false }),
    /** Cuts the page off from the server, or no more. */
    offline: offline => ask('Network.emulateNetworkConditions', { offline, latency: 0, downloadThroughput: -1, uploadThroughput: -1 }),
    /** Waits until the page has followed a new size. */
    settled: () => value('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))'),
    picture: async path => writeFileSync(path, Buffer.from((await ask('Page.captureScreenshot', { format: 'png' })).data, 'base64')),
    close: async () => {
      const ended = new Promise(resolve => process.on('exit', resolve));
      process.kill();
      await ended;
      // Helpers of the browser write a little longer than it runs, and what they write anew is in no list of files to remove.
      for (let left = 50; ; left--) {
        try {
          rmSync(profile, { recursive: true, force: true });
          break;
        } catch (error) {
          if (left === 0) throw error;
          await new Promise(resolve => setTimeout(resolve, 100));
        }
      }
    },
  };
}
