import { describe, expect, test } from 'vitest';
import { eventsOf } from '../../lib/events';
import { argumentsOf, sentOf } from './schema';

const tool = { name: 'search', inputSchema: { required: ['q'], properties: { limit: { type: 'integer' }, q: { type: 'string', description: 'The words' }, fields: { type: 'array', items: { type: 'string' } }, hybrid: { type: 'object' }, matching_strategy: { enum: ['all', 'any'] } } } };
const all = argumentsOf(tool);

describe('a form', () => {
  test('has what is required first', () => { expect(all[0]).toEqual({ name: 'q', form: { kind: 'text' }, about: 'The words', isRequired: true }); });
  test('follows the schema', () => { expect(Object.fromEntries(all.map(one => [one.name, one.form.kind]))).toEqual({ q: 'text', limit: 'number', fields: 'texts', hybrid: 'json', matching_strategy: 'choice' }); });
  test('of a tool without arguments is empty', () => { expect(argumentsOf({ name: 'x' })).toEqual([]); });
  test('leaves out what is empty', () => { expect(sentOf(all, { q: 'a', limit: '', fields: [] })).toEqual({ value: { q: 'a' } }); });
  test('sends numbers as numbers, JSON as JSON', () => { expect(sentOf(all, { limit: '3', hybrid: '{"embedder": "a"}', fields: ['x'] }).value).toEqual({ limit: 3, hybrid: { embedder: 'a' }, fields: ['x'] }); });
  test('says which JSON is wrong', () => { expect(sentOf(all, { hybrid: '{"a"' }).fault?.name).toBe('hybrid'); });
});

describe('events', () => {
  test('come in parts', () => { const stream = eventsOf(); expect([...stream.push('data: {"a"'), ...stream.push(':1}\n\nevent: error\r\ndata: x\r\n\r\n: comment\n\n')]).toEqual([{ event: 'message', data: '{"a":1}' }, { event: 'error', data: 'x' }]); });
});
