import { describe, expect, test } from 'vitest';
import type { Batch } from '../../api/types';
import { msOf } from '../../lib/text';
import { adviceFor, heldUp, stepsOf, verdict } from './advice';

describe('an error', () => {
  test.each([['index_primary_key_no_candidate_found', 'choose the primary key'], ['index_already_exists', 'name is taken'], ['vector_embedding_error', 'embedder']])('%s has advice', (code, words) => { expect(adviceFor(code)).toContain(words); });
  test('that is not known has none', () => { expect(adviceFor('something_else')).toBeNull(); });
});

describe('the time of batches', () => {
  const batch = (progressTrace: Record<string, string>) => ({ stats: { progressTrace } } as unknown as Batch);
  test.each([['1.50s', 1500], ['35ms', 35], ['10.5µs', 0.0105], ['PT2S', 2000], ['soon', 0]])('%s', (text, ms) => { expect(msOf(text) ?? 0).toBeCloseTo(ms); });
  const steps = stepsOf([batch({ 'processing tasks': '2s', 'processing tasks > embedding documents': '1.8s', 'processing tasks > committing': '200ms' }), batch({ 'writing tasks to disk': '0ns' }), batch({})]);
  test('is of the innermost steps', () => { expect(steps.map(one => [one.name, one.ms])).toEqual([['embedding documents', 1800], ['committing', 200]]); });
  test('says what is slow', () => { expect(verdict(steps)).toMatch(/^90 % of the time is vectors: the embedder makes them/); });
  test('of an index with vectors waits for them', () => {
    const one = { stats: { indexUids: { a: 1 }, progressTrace: { 'processing tasks > writing tasks to disk': '5s' } } } as unknown as Batch;
    expect([verdict(stepsOf([one], index => index === 'a')), verdict(stepsOf([one]))]).toEqual([expect.stringContaining('embedder'), expect.stringContaining('disk')]);
  });
  test('says nothing of what was quick', () => { expect(verdict(stepsOf([batch({ 'indexing documents': '900ms' })]))).toBeNull(); });
  test('says nothing where nothing was measured', () => { expect(verdict(stepsOf([]))).toBeNull(); });
});

describe('a batch that runs', () => {
  const batch = (currentStep: string) => ({ startedAt: new Date(0).toISOString(), progress: { steps: [{ currentStep, finished: 3, total: 9 }], percentage: 3 } } as unknown as Batch);
  test('may wait for vectors', () => { expect(heldUp(batch('embedding documents'), 60_000)).toContain('3 of 9'); });
  test('of a moment waits for nothing', () => { expect(heldUp(batch('embedding documents'), 1000)).toBeNull(); });
  test('may be at work', () => { expect(heldUp(batch('indexing documents'), 60_000)).toBeNull(); });
});
