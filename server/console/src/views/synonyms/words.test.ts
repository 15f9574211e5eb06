import { describe, expect, test } from 'vitest';
import { rowsOf, withoutRow, withRow, wordsOf } from './words';

describe('synonyms', () => {
  test('go both ways', () => { expect(withRow({}, { word: 'film', finds: ['movie'], isBoth: true })).toEqual({ film: ['movie'], movie: ['film'] }); });
  test('go one way', () => { expect(withRow({}, { word: 'film', finds: ['movie'], isBoth: false })).toEqual({ film: ['movie'] }); });
  test('are seen to go both ways', () => { expect(rowsOf({ a: ['b'], b: ['a'], c: ['a'] }).map(row => row.isBoth)).toEqual([true, true, false]); });
  test('take their way back with them', () => { expect(withoutRow({ a: ['b'], b: ['a', 'c'] }, { word: 'a', finds: ['b'], isBoth: true })).toEqual({ b: ['a', 'c'].filter(one => one !== 'a') }); });
  test('leave ways back alone that are not theirs', () => { expect(withoutRow({ a: ['b', 'c'], b: ['a'] }, { word: 'a', finds: ['b', 'c'], isBoth: false })).toEqual({ b: ['a'] }); });
  test('need no word that finds itself', () => { expect(withRow({}, { word: 'a', finds: ['a', 'b', 'b'], isBoth: false })).toEqual({ a: ['b'] }); });
  test('may be words that programs use', () => { expect(rowsOf(withRow({}, { word: '__proto__', finds: ['constructor'], isBoth: false }))).toEqual([{ word: '__proto__', finds: ['constructor'], isBoth: false }]); });
});

test('words that are pasted stand between lines and commas', () => { expect(wordsOf('the, of\n a;the')).toEqual(['the', 'of', 'a']); });
