// What was searched for of late, in this browser, for each index: changes are tried on it.
import { effect } from '@preact/signals';
import { param } from './address';
import { uid } from './indexes';
import { preference } from './preferences';

const MOST = 40, INDEXES = 30, SETTLED_MS = 1500, LONGEST = 200;
const recent = preference<Record<string, string[]>>('recent', {});

export const recentOf = (index: string): readonly string[] => {
  const all: unknown = Object.hasOwn(recent.value, index) ? recent.value[index] : [];
  return Array.isArray(all) ? all.filter((one): one is string => typeof one === 'string') : [];
};

/** The list with a query in front. What was typed on the way to it is no query of its own. */
export const withQuery = (before: readonly string[], q: string) => [q, ...before.filter((one, place) => one !== q && !(place === 0 && q.startsWith(one)))].slice(0, MOST);

export function note(index: string, text: string) {
  const q = text.trim();
  if (!index || !q || q.length > LONGEST || recentOf(index)[0] === q) return;
  const others = Object.entries(recent.peek()).filter(([name]) => name !== index).slice(0, INDEXES - 1);
  recent.value = Object.fromEntries([[index, withQuery(recentOf(index), q)], ...others]);
}

let timer: ReturnType<typeof setTimeout> | undefined;
effect(() => {
  const index = uid.value, q = param('q');
  clearTimeout(timer);
  if (index && q) timer = setTimeout(() => note(index, q), SETTLED_MS);
});
