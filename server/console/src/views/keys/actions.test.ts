import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { expiryOf, GROUPS, isGlobal, PRESETS, presetOf, said } from './actions';

const source = readFileSync(new URL('../../../../protocol/src/wire/actions.rs', import.meta.url), 'utf8');
const known = new Map([...source.matchAll(/ = "([^"]+)", (Index|Global);/g)].map(([, name = '', reach = '']) => [name, reach]));

describe('actions', () => {
  const offered = GROUPS.flatMap(group => group.actions.map(([action]) => action));
  test('are those of the server', () => { expect(offered.filter(one => !known.has(one))).toEqual([]); });
  test('of presets are those of the server', () => { expect(PRESETS.flatMap(one => one.actions).filter(one => !known.has(one))).toEqual([]); });
  test('are offered once', () => { expect(new Set(offered).size).toBe(offered.length); });
  test('reach as far as on the server', () => { expect(offered.filter(one => isGlobal(one) !== (known.get(one) === 'Global'))).toEqual([]); });
  test('of a preset are found again', () => { expect(presetOf(new Set(['documents.get', 'search', 'indexes.get', 'settings.get']))).toBe('agent'); });
  test('of none are no preset', () => { expect(presetOf(new Set(['documents.get']))).toBe(''); });
  test('are said in a few words', () => { expect([said(['search', '*']), said(['a', 'b']), said(['a', 'b', 'c', 'd', 'e', 'f'])]).toEqual([['everything'], ['a', 'b'], ['a', 'b', 'c', 'd', 'and 2 more']]); });
});

describe('a time to expire', () => {
  test('may be never', () => { expect(expiryOf('', '')).toBeNull(); });
  test('is some days from now', () => { expect(expiryOf('7', '', 0)).toBe('1970-01-08T00:00:00.000Z'); });
  test('is the end of a day', () => { expect(Date.parse(expiryOf('day', '2030-01-01') ?? '')).toBeGreaterThan(Date.parse('2030-01-01T00:00:00Z')); });
  test('needs the day', () => { expect(expiryOf('day', '')).toBeNull(); });
});
