import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

let session: typeof import('./session');
beforeAll(async () => {
  vi.stubGlobal('sessionStorage', { getItem: () => null, setItem: () => {}, removeItem: () => {} });
  session = await import('./session');
});
const refused = (code: string, message = 'The provided API key is invalid.') => ({ code, message });
const isAsked = () => session.wantsKey.peek() !== null;

beforeEach(() => { session.signIn('a key'); session.signedIn(); });
describe('a key', () => {
  test('that was never accepted is asked for', () => { session.needKey(refused('invalid_api_key'), 'GET /indexes'); expect(isAsked()).toBe(true); });
  test('that lacks a right is not', () => { session.proveKey('a key', 'GET /indexes'); session.needKey(refused('invalid_api_key'), 'GET /keys'); expect(isAsked()).toBe(false); });
  test('that is refused what it could do is', () => { session.proveKey('a key', 'GET /indexes'); session.needKey(refused('invalid_api_key'), 'GET /indexes'); expect(isAsked()).toBe(true); });
  test('whose alias stands for another index now is not', () => {
    session.proveKey('a key', 'GET /indexes/a');
    session.needKey(refused('invalid_api_key', 'The API key or token cannot access the index that the alias `a` stands for.'), 'GET /indexes/a');
    expect(isAsked()).toBe(false);
  });
  test('is no other one', () => { session.proveKey('an older key', 'GET /indexes'); session.needKey(refused('invalid_api_key'), 'GET /keys'); expect(isAsked()).toBe(true); });
  test('has nothing to do with other refusals', () => { session.needKey(refused('index_not_found'), 'GET /indexes/a'); expect(isAsked()).toBe(false); });
});
