import { beforeAll, describe, expect, test, vi } from 'vitest';
import { groupsOf, metaOf } from './known';

let controls: { moved: typeof import('../../ui/draglist').moved; movedIn: typeof import('./Bar').movedIn; embedderOf: typeof import('./Embedders').embedderOf; templateOf: typeof import('./Embedders').templateOf; boostOf: typeof import('./Boost').boostOf; eventsOf: typeof import('./History').eventsOf };
beforeAll(async () => {
  vi.stubGlobal('location', { search: '', pathname: '/' });
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('document', { documentElement: { dataset: {} }, addEventListener: () => {}, hidden: false });
  vi.stubGlobal('matchMedia', () => ({ matches: false }));
  controls = { ...await import('../../ui/draglist'), ...await import('./Bar'), ...await import('./Embedders'), ...await import('./Boost'), ...await import('./History') };
}, 60_000);

describe('what the server says of a setting', () => {
  test('is what it is for, and its cost', () => { expect(metaOf('words that `queries` ignore. Cost of a change: none, it applies at search time.')).toEqual({ about: 'Words that queries ignore.', cost: 'none, it applies at search time' }); });
  test('may be nothing', () => { expect(metaOf(undefined)).toEqual({ about: '', cost: undefined }); });
  test('that this console does not know has a place', () => { expect(groupsOf(['stopWords', 'newOne']).find(group => group.names.includes('newOne'))?.id).toBe('more'); });
});

describe('a list that is dragged', () => {
  test('has its entry elsewhere', () => { expect([controls.moved(['a', 'b', 'c'], 0, 2), controls.moved(['a', 'b', 'c'], 2, 0), controls.moved(['a'], 5, 0)]).toEqual([['b', 'c', 'a'], ['c', 'a', 'b'], ['a']]); });
});

test('queries change by what is new and gone', () => {
  expect(controls.movedIn('q', { ids: ['1', '2'], total: 2 }, { ids: ['2', '3'], total: 2 })).toEqual({ q: 'q', found: 2, foundNow: 2, added: ['3'], gone: ['1'], isOther: true });
});

describe('an embedder', () => {
  const form = { name: 'e', source: 'huggingFace', model: 'm', url: 'u', apiKey: 'k', dimensions: 3, request: '{}', response: '{}', template: '', binary: false };
  test('has only what its source takes', () => { expect(controls.embedderOf(form)).toEqual({ source: 'huggingFace', model: 'm' }); });
  test('of another source loses what the first had', () => { expect(controls.embedderOf({ ...form, source: 'userProvided' }, { source: 'rest', url: 'u' })).toEqual({ source: 'userProvided', dimensions: 3 }); });
  test('keeps what the form does not show', () => { expect(controls.embedderOf(form, { source: 'huggingFace', pooling: 'forceMean' })).toEqual({ source: 'huggingFace', pooling: 'forceMean', model: 'm' }); });
  test('reads the fields people would name', () => { expect(controls.templateOf(['id', 'overview', 'a b', 'title'])).toBe('{{ doc.title }}{% if doc.overview %}: {{ doc.overview }}{% endif %}'); });
});

test('a boost near a place has its place', () => {
  expect(controls.boostOf('decay', { field: '_geo', origin: '48.85, 2.35', scale: '10km', filter: '', weight: 1 })).toEqual({ decay: { field: '_geo', origin: { lat: 48.85, lng: 2.35 }, scale: '10km', weight: 1 } });
});

test('history has states with their tasks, and settings whose state is not kept', () => {
  const task = (uid: number, batchUid: number, type: string) => ({ uid, batchUid, type, status: 'succeeded' as const, indexUid: 'films', error: null, enqueuedAt: `2026-01-0${uid}T00:00:00Z`, finishedAt: `2026-01-0${uid}T00:00:00Z` });
  const events = controls.eventsOf([{ generation: 2, committedAt: '2026-01-03T00:00:00Z', numberOfDocuments: 1, batchUid: 9, isCurrent: true }], [task(3, 9, 'documentAdditionOrUpdate'), task(2, 8, 'settingsUpdate'), task(1, 7, 'documentAdditionOrUpdate')]);
  expect(events.map(one => [one.state?.generation ?? null, one.tasks.map(task => task.uid)])).toEqual([[2, [3]], [null, [2]]]);
});
