import { beforeAll, describe, expect, test, vi } from 'vitest';

let address: typeof import('./address');
beforeAll(async () => {
  vi.stubGlobal('location', { search: '', pathname: '/' });
  vi.stubGlobal('addEventListener', () => {});
  address = await import('./address');
});

describe('an address', () => {
  test.each(['', '?view=tasks&task=7', '?index=films&q=a+%26+b&f.genre=Drama&f.genre=War', '?view=compare&index=%E2%80%8B%3Cscript%3E'])('%s comes back as it was', text => {
    expect(address.format(address.parse(text))).toBe(text);
  });
  test('without a view is the search', () => { expect(address.parse('?q=x').view).toBe('search'); });
  test('may name what other programs use', () => { expect(address.parse('?__proto__=1&constructor=2').params.get('__proto__')).toEqual(['1']); });
});

describe('a change', () => {
  const before = () => address.parse('?index=films&q=alien&filter=a&offset=20');
  test('of a parameter keeps the others', () => { expect(address.format(address.changed(before(), { params: { offset: null } }))).toBe('?index=films&q=alien&filter=a'); });
  test('of the view keeps the query alone', () => { expect(address.format(address.changed(before(), { view: 'compare' }))).toBe('?view=compare&index=films&q=alien'); });
  test('of the index keeps nothing', () => { expect(address.format(address.changed(before(), { index: 'books' }))).toBe('?index=books'); });
  test('to nothing takes a parameter away', () => { expect(address.format(address.changed(before(), { params: { q: '', filter: [] } }))).toBe('?index=films&offset=20'); });
});
