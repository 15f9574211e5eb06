import { describe, expect, test } from 'vitest';
import { appliedOf, movedTo, parametersOf, sayOf, sideOf, textOf } from './sides';

describe('a side', () => {
  const side = { strategy: 'any', embedder: 'e', ratio: 0.7, boosts: [{ boost: { field: 'sales' } }], settings: { stopWords: ['the'] } };
  test('comes back from the address', () => { expect(sideOf(textOf(side))).toEqual(side); });
  test('without changes leaves nothing in the address', () => { expect(textOf({ settings: {} })).toBe(''); });
  test.each(['', '{', 'null', '[]', '7', '{"strategy": 1, "boosts": {}, "settings": []}'])('of %s is that of the index', text => { expect(sideOf(text)).toEqual({ settings: {} }); });
  test('adds its parameters', () => { expect(parametersOf(side)).toEqual({ matchingStrategy: 'any', hybrid: { embedder: 'e', semanticRatio: 0.7 }, boosts: side.boosts }); });
  test('becomes settings', () => { expect(appliedOf(side, { rankingRules: ['words'] })).toEqual({ stopWords: ['the'], matchingStrategy: 'any', rankingRules: ['words', side.boosts[0]] }); });
  test('is said', () => { expect(sayOf(side)).toEqual(['any word', '70 % vectors', 'more sales', 'stop words']); });
});

test('hits move', () => { expect([movedTo(0, 0), movedTo(0, 2)?.text, movedTo(3, 1)?.text, movedTo(1, -1)?.text]).toEqual([null, '↑ 2', '↓ 2', 'only here']); });
