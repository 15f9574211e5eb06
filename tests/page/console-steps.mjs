// What people do on the console, for its tests in a browser.

import assert from 'node:assert/strict';

/** Presses the button of the message with these words: an expression on a page. */
export const undoing = words => `(() => { const one = [...document.querySelectorAll('.toast')].find(one => one.innerText.includes(${JSON.stringify(words)}) && one.innerText.includes('Undo'));
  [...one?.querySelectorAll('button') ?? []].find(one => one.innerText.trim() === 'Undo')?.click(); return Boolean(one); })()`;

export function steps(page, url) {
  const text = value => JSON.stringify(value);
  async function api(method, path, body) {
    const answer = await fetch(url + path, { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
    assert.ok(answer.ok, method + ' ' + path + ': ' + answer.status + ' ' + (answer.ok || await answer.text()));
    return answer.json();
  }
  const SET = `(field, value) => { Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, value); }`;
  /** The control of a label, in the dialog that is on top if there is one. */
  const labelled = label => `(() => { const here = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
    const name = [...here.querySelectorAll('label')].find(one => one.textContent.trim() === ${text(label)} || one.innerText.trim().startsWith(${text(label)}));
    return name?.htmlFor ? document.getElementById(name.htmlFor) : name?.querySelector('input') ?? here.querySelector('[aria-label=' + ${text(JSON.stringify(label))} + ']'); })()`;
  return {
    api,
    write: (method, path, body) => api(method, path + '?wait=searchable', body),
    go: (view, index) => page.show(`${url}/?view=${view}${index ? '&index=' + index : ''}`),
    has: (words, where = 'main') => page.until(`[...document.querySelectorAll('${where}')].some(one => one.innerText.includes(${text(words)}))`, where + ' has: ' + words),
    gone: (words, where = 'main') => page.until(`![...document.querySelectorAll('${where}')].some(one => one.innerText.includes(${text(words)}))`, where + ' has not: ' + words),
    click: (name, where = 'body') => page.until(`(() => { const here = ${text(where)} === 'body' ? [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body : document;
      const one = [...here.querySelectorAll(${text(where === 'body' ? ':is(button, a, [role=menuitem], [role=option])' : where + ' :is(button, a, [role=menuitem], [role=option])')})].find(one => !one.disabled && !one.ariaBusy && one.getClientRects().length > 0
        && (one.innerText.trim().startsWith(${text(name)}) || one.getAttribute('aria-label') === ${text(name)}));
      if (one) { one.focus(); one.click(); } return Boolean(one); })()`, 'a button: ' + name),
    fill: (label, value) => page.until(`(() => { const field = ${labelled(label)};
      if (!field) return false;
      field.focus();
      (${SET})(field, ${text(value)});
      field.dispatchEvent(new Event('input', { bubbles: true }));
      return true; })()`, 'a field: ' + label),
    choose: (label, value) => page.until(`(() => { const field = ${labelled(label)};
      if (!field || ![...field.options].some(one => one.value === ${text(value)})) return false;
      (${SET})(field, ${text(value)});
      field.dispatchEvent(new Event('change', { bubbles: true }));
      return true; })()`, 'a choice: ' + label),
    tick: label => page.until(`(() => { const field = ${labelled(label)}; if (field) field.click(); return Boolean(field); })()`, 'a box: ' + label),
    /** A file, dropped where files are taken; the page listens for it as soon as the place is seen. */
    drop: async (name, content) => {
      await page.until(`document.querySelector('.documents-drop, .drop')`, 'a place for files');
      await page.value(`(() => { const data = new DataTransfer();
      data.items.add(new File([${text(content)}], ${text(name)}));
      document.querySelector('.documents-drop, .drop').dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data })); })()`);
    },
    /** Undoes what a message says. */
    undo: words => page.until(undoing(words), 'to be undone: ' + words),
    /** People come back to the tab: the page asks at once what has changed. */
    back: () => page.value(`document.dispatchEvent(new Event('visibilitychange'))`),
    focused: expression => page.until(`document.activeElement?.${expression}`, 'the focus: ' + expression),
    /** What went wrong on the page, but for answers that refuse: those are shown. */
    problems: () => page.problems.filter(one => !one.startsWith('Failed to load resource')),
  };
}
