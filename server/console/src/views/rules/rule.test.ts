import { describe, expect, test } from 'vitest';
import { bodyOf, draftOf, EMPTY, filterOf, LAST, nameFault, nameFor, pinned, say, timeState, type Draft } from './rule';

const draft: Draft = { ...EMPTY, uid: 'a', words: 'space ship', pins: [{ id: '348', index: 'films', position: 0 }] };
describe('a rule', () => {
  test('comes back as it was', () => {
    const rich: Draft = { ...draft, description: 'x', precedence: 3, active: false, start: '2026-01-01T00:00', end: '2026-02-01T12:30', values: [['genres', 'Drama'], ['price', '5']] };
    expect(draftOf({ uid: 'a', ...bodyOf(rich) } as never)).toEqual(rich);
  });
  test('is a sentence', () => { expect(say(draft, () => 'Alien')).toEqual({ when: '“space ship”', then: 'Alien first' }); });
  test('says what comes last', () => { expect(say({ ...draft, pins: [{ id: '1', index: null, position: 1499 }, { id: '2', index: null, position: LAST }] }, pin => pin.id).then).toBe('1 at position 1,500, 2 last'); });
  test('says where and how long', () => { expect(say({ ...draft, when: 'always', values: [['genres', 'War']], end: '2026-02-01T12:30' }, pin => pin.id).when).toBe('Every search, within genres: War, until Feb 1, 2026'); });
  test('that has no more conditions says so to the server', () => { expect(bodyOf({ ...EMPTY, when: 'always' })['conditions']).toEqual({ query: null, time: null, filter: null }); });
  test('of numbers has numbers', () => { expect(filterOf({ ...draft, values: [['price', '5'], ['a "b"', 'x']] })).toEqual(['"price" = 5', '"a \\"b\\"" = "x"']); });
  test('of strange form breaks nothing', () => { expect(draftOf({ uid: 'a', conditions: { query: 'x', time: [], filter: { values: 3 } }, actions: [{}, { selector: { id: 1 } }] } as never).pins).toEqual([]); });
  test('ends', () => { expect([timeState({ ...draft, end: '2020-01-01T00:00' }, Date.now()), timeState({ ...draft, start: '2999-01-01T00:00' }, Date.now()), timeState(draft, 0)]).toEqual(['over', 'later', 'now']); });
});

describe('pinned hits', () => {
  const of = (pins: { id: string; position: number }[], ranked = ['1', '2', '3']) => pinned(ranked, one => one, pins, id => id).map(one => one.hit);
  test('stand in their places', () => { expect(of([{ id: '4', position: 9 }, { id: '5', position: 1 }])).toEqual(['1', '5', '2', '3', '4']); });
  test('are there once', () => { expect(of([{ id: '3', position: 0 }])).toEqual(['3', '1', '2']); });
  test('of one place follow each other', () => { expect(of([{ id: '8', position: 0 }, { id: '9', position: 0 }])).toEqual(['8', '9', '1', '2', '3']); });
  test('need no other hits', () => { expect(of([{ id: '8', position: 4 }], [])).toEqual(['8']); });
});

describe('names', () => {
  test('are made of words', () => { expect(nameFor('Space ship é!', ['space-ship-e'])).toBe('space-ship-e-2'); });
  test('of no letters are names', () => { expect(nameFor('日本', [])).toBe('rule'); });
  test.each(['a b', 'é', '', 'x'.repeat(401)])('%s is none', uid => { expect(nameFault(uid)).not.toBeNull(); });
});
