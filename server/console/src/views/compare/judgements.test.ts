import { describe, expect, test } from 'vitest';
import { graded } from './judgements';

describe('a thumb', () => {
  test('makes a judgement', () => { expect(graded([], 'alien', '1', 1)).toEqual([{ q: 'alien', relevant: { 1: 1 } }]); });
  test('is added to others', () => { expect(graded([{ q: 'alien', relevant: { 1: 3 } }], 'alien', '2', 0)).toEqual([{ q: 'alien', relevant: { 1: 3, 2: 0 } }]); });
  test('is taken back', () => { expect(graded([{ q: 'alien', relevant: { 1: 1 } }], 'alien', '1', null)).toEqual([]); });
  test('leaves other queries alone', () => { expect(graded([{ q: 'x', relevant: { 1: 1 } }], 'alien', '1', null)).toEqual([{ q: 'x', relevant: { 1: 1 } }]); });
  test('may be for a document of an odd name', () => { expect(Object.entries(graded([], 'a', '__proto__', 1)[0]?.relevant ?? {})).toEqual([['__proto__', 1]]); });
});
