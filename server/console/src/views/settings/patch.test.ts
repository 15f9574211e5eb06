import { describe, expect, test } from 'vitest';
import type { Json } from '../../api/types';
import { costOf, linesOf, patchOf, same, sayBoost, settingOf, undoOf, withBoosts } from './patch';

describe('a change of settings', () => {
  test('has only what differs', () => { expect(patchOf({ stopWords: ['a'], synonyms: {} }, { stopWords: ['a'], synonyms: { a: ['b'] } })).toEqual({ synonyms: { a: ['b'] } }); });
  test('merges what the server merges', () => {
    expect(patchOf({ typoTolerance: { enabled: true, disableOnNumbers: false } }, { typoTolerance: { enabled: false, disableOnNumbers: false } })).toEqual({ typoTolerance: { enabled: false } });
  });
  test('takes away what is gone', () => { expect(patchOf({ embedders: { a: { source: 'x' } } }, { embedders: {} })).toEqual({ embedders: { a: null } }); });
  test('takes a field of an embedder away', () => { expect(patchOf({ embedders: { a: { source: 'x', url: 'y' } } }, { embedders: { a: { source: 'x' } } })).toEqual({ embedders: { a: { url: null } } }); });
  test('replaces synonyms whole', () => { expect(patchOf({ synonyms: { a: ['b'], c: ['d'] } }, { synonyms: { a: ['b'] } })).toEqual({ synonyms: { a: ['b'] } }); });
  test('of the order of names is none', () => { expect(same({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(true); });
  test('of the order of a list is one', () => { expect(same(['a', 'b'], ['b', 'a'])).toBe(false); });
});

describe('undo', () => {
  test('brings back what was there', () => {
    const before = { synonyms: { a: ['b'] }, matchingStrategy: undefined }, after = { synonyms: {}, matchingStrategy: 'any' };
    expect(undoOf(before, after, patchOf(before, after))).toEqual({ synonyms: { a: ['b'] }, matchingStrategy: null });
  });
  test('sends no masked key back', () => {
    const before = { embedders: { a: { source: 'x', apiKey: 'sk-XXX', model: 'm' } } }, after = { embedders: { a: { source: 'x', apiKey: 'sk-XXX', model: 'n' } } };
    expect(undoOf(before, after, patchOf(before, after))).toEqual({ embedders: { a: { model: 'm' } } });
  });
  test('takes a new embedder away', () => { expect(undoOf({ embedders: {} }, { embedders: { a: { source: 'x' } } }, { embedders: { a: { source: 'x' } } })).toEqual({ embedders: { a: null } }); });
});

describe('costs', () => {
  test('are the dearest', () => { expect(costOf(['none, it applies at search time', 'missing columns are built', 'all documents are reindexed']).text).toBe('documents are reindexed'); });
  test('of search time are none', () => { expect(costOf(['none, it applies at search time'])).toEqual({ text: 'none', isFree: true }); });
  test('that nobody told are unknown', () => { expect(costOf([undefined]).text).toBe('unknown'); });
});

describe('differences', () => {
  const of = (before: unknown, after: unknown) => linesOf(before, after).map(line => line.sign + line.text.trim());
  test('of lists are lines', () => { expect(of(['a', 'b', 'c'], ['a', 'c', 'd'])).toEqual([' [', ' "a"', '-"b"', ' "c"', '+"d"', ' ]']); });
  test('from nothing are new', () => { expect(of(null, 'any')).toEqual(['+"any"']); });
  test('of huge lists come to an end', () => { expect(linesOf(Array.from({ length: 9000 }, (_, n) => n), Array.from({ length: 9000 }, (_, n) => -n)).length).toBeGreaterThan(9000); });
});

describe('errors', () => {
  test('name their setting', () => { expect(settingOf('invalid_settings_bm25', ['stopWords', 'bm25'])).toBe('bm25'); });
  test('of words do so, too', () => { expect(settingOf('invalid_settings_search_cutoff_ms', ['searchCutoffMs'])).toBe('searchCutoffMs'); });
  test('of other things name none', () => { expect(settingOf('index_not_found', ['index'])).toBeUndefined(); });
});

describe('boosts', () => {
  const boost = { boost: { field: 'sales', weight: 2 } };
  test('stand where one stood', () => { expect(withBoosts(['words', { boostIf: { filter: 'a', weight: 1 } }, 'typo'], [boost])).toEqual(['words', boost, 'typo']); });
  test('stand at the end else', () => { expect(withBoosts(['words', 'typo'], [boost])).toEqual(['words', 'typo', boost]); });
  test('are said', () => { expect([boost, { decay: { field: 'year', origin: 'now', scale: '30d' } }, { boostIf: { filter: 'a = 1', weight: 3 } }].map(rule => sayBoost(rule as Json))).toEqual(['more sales × 2', 'year near now', '× 3 where a = 1']); });
});
