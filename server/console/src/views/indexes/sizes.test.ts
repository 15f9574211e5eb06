import { describe, expect, test } from 'vitest';
import { partsOf, writesOf } from './sizes';

describe('writes', () => {
  const at = (hours: number) => new Date(100 * 3_600_000 - hours * 3_600_000).toISOString(), now = 100 * 3_600_000;
  test('are counted by hour, the oldest first', () => {
    expect(writesOf([{ indexUid: 'a', finishedAt: at(0.5) }, { indexUid: 'a', finishedAt: at(2.5) }, { indexUid: 'a', finishedAt: at(2.9) }], 3, now)).toEqual({ a: [2, 0, 1] });
  });
  test('of other times, or without an index, are not', () => { expect(Object.keys(writesOf([{ indexUid: 'a', finishedAt: at(5) }, { indexUid: null, finishedAt: at(1) }, { indexUid: 'a', finishedAt: null }], 3, now))).toEqual([]); });
  test('of an index with an odd name are its own', () => { expect(writesOf([{ indexUid: '__proto__', finishedAt: at(1) }], 2, now)['__proto__']).toEqual([1, 0]); });
});

test('parts are told by what they are for', () => {
  expect(partsOf({ store: 10, manifest: 1, vectors: 30, nothing: 0 }).map(one => [one.name, one.value])).toEqual([['vectors', 30], ['documents', 10], ['manifest', 1]]);
});
