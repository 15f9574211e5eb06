import { beforeAll, describe, expect, test, vi } from 'vitest';

let trials: typeof import('./trials'), recent: typeof import('./recent');
beforeAll(async () => {
  vi.stubGlobal('location', { search: '', pathname: '/' });
  vi.stubGlobal('addEventListener', undefined);
  vi.stubGlobal('matchMedia', () => ({ matches: false }));
  trials = await import('./trials');
  vi.stubGlobal('addEventListener', () => {});
  recent = await import('./recent');
});

describe('clones that are left over', () => {
  const now = Date.parse('2026-01-02T00:00:00Z'), name = (tab: string, at: number) => `lamina-trial-${tab}-${at.toString(36)}-abcdefgh`;
  const fresh = name('tab00001', now - 1000), old = name('tab00002', now - 25 * 3600 * 1000);
  const of = (names: string[], own: string[], open: string[] | null) => trials.leftOver(names, new Set(own), open && new Set(open), now);
  test('are those of tabs that are closed', () => { expect(of([fresh], [fresh], ['other'])).toEqual([fresh]); });
  test('are none of tabs that are open', () => { expect(of([fresh], [fresh], ['tab00001'])).toEqual([]); });
  test('are none of other browsers, while they are young', () => { expect(of([fresh, old], [], [])).toEqual([old]); });
  test('are only old ones where tabs are not known', () => { expect(of([fresh, old], [fresh, old], null)).toEqual([old]); });
  test('are no indexes that are called alike', () => { expect(of(['lamina-trial-mine', 'films'], ['lamina-trial-mine'], [])).toEqual([]); });
});

describe('recent queries', () => {
  test('have none that was typed on the way', () => { expect(recent.withQuery(['ali', 'x'], 'alien')).toEqual(['alien', 'x']); });
  test('have each once', () => { expect(recent.withQuery(['x', 'alien'], 'alien')).toEqual(['alien', 'x']); });
});
