// What tasks and segments say about an index.
import type { Task } from '../../api/types';

/** Writes of each index, by hour, the oldest first. */
export function writesOf(tasks: readonly Pick<Task, 'indexUid' | 'finishedAt'>[], hours: number, now: number): Record<string, number[]> {
  const all = Object.create(null) as Record<string, number[]>;
  for (const { indexUid, finishedAt } of tasks) {
    const age = Math.floor((now - Date.parse(finishedAt ?? '')) / 3_600_000);
    if (!indexUid || !(age >= 0 && age < hours)) continue;
    const list = all[indexUid] ??= new Array<number>(hours).fill(0);
    list[hours - 1 - age] = (list[hours - 1 - age] ?? 0) + 1;
  }
  return all;
}

const PARTS: [RegExp, string][] = [
  [/^store/, 'documents'], [/vector|graph/, 'vectors'], [/^(term|posting|field set|prefix|token|pair|triple|near|follower)/, 'words'], [/^(column|geo|shape)/, 'filters and sorts'], [/key|^internal ids|^patches/, 'ids'],
];
/** The parts of an index by what they are for, the largest first. */
export function partsOf(sizes: Readonly<Record<string, number>>): { name: string; value: number; about: string }[] {
  const all = new Map<string, { value: number; names: string[] }>();
  for (const [name, value] of Object.entries(sizes)) {
    const group = PARTS.find(([names]) => names.test(name))?.[1] ?? name, one = all.get(group) ?? { value: 0, names: [] };
    one.value += value;
    one.names.push(name);
    all.set(group, one);
  }
  return [...all].map(([name, { value, names }]) => ({ name, value, about: names.join(', ') })).filter(one => one.value > 0).sort((one, other) => other.value - one.value);
}
