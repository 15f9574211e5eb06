// The address is the state: what is looked at can be kept, sent, and found again by going back.
import { signal } from '@preact/signals';

export interface Address {
  view: string;
  /** The index that the address names; empty where it names none. */
  index: string;
  /** Everything else, for the view: names may have several values. */
  params: ReadonlyMap<string, readonly string[]>;
}
export const HOME = 'search';

export function parse(search: string): Address {
  const params = new Map<string, string[]>();
  let view = HOME, index = '';
  for (const [name, value] of new URLSearchParams(search)) {
    if (name === 'view') view = value || HOME;
    else if (name === 'index') index = value;
    else params.set(name, [...(params.get(name) ?? []), value]);
  }
  return { view, index, params };
}

export function format({ view, index, params }: Address): string {
  const all = new URLSearchParams();
  if (view !== HOME) all.set('view', view);
  if (index) all.set('index', index);
  for (const [name, values] of params) for (const value of values) if (value !== '') all.append(name, value);
  const text = all.toString();
  return text ? '?' + text : '';
}

export const address = signal<Address>(parse(location.search));
addEventListener('popstate', () => { address.value = parse(location.search); });

export type Params = Record<string, string | readonly string[] | null | undefined>;
export interface Change {
  view?: string;
  index?: string;
  /** Set over those there are; null or nothing takes one away. */
  params?: Params;
}

/** Parameters that stay when people go to another view of the same index. */
const KEPT = ['q'];

export function changed(before: Address, change: Change): Address {
  const view = change.view ?? before.view, index = change.index ?? before.index;
  const isElsewhere = view !== before.view || index !== before.index;
  const params = new Map<string, readonly string[]>();
  for (const [name, values] of before.params) if (!isElsewhere || (index === before.index && KEPT.includes(name))) params.set(name, values);
  for (const [name, value] of Object.entries(change.params ?? {})) {
    const values = value === null || value === undefined ? [] : typeof value === 'string' ? [value] : value;
    if (values.some(one => one !== '')) params.set(name, values.filter(one => one !== ''));
    else params.delete(name);
  }
  return { view, index, params };
}

/** Where a change leads, for `href`. */
export const hrefOf = (change: Change) => format(changed(address.value, change)) || location.pathname;

/** Goes there. `replace` keeps the history as it is, for what changes with every letter. */
export function go(change: Change, { replace = false } = {}) {
  const to = changed(address.peek(), change);
  const text = format(to);
  // Browsers limit how often it may change: what is shown follows at any rate.
  if (text !== location.search) try { history[replace ? 'replaceState' : 'pushState'](null, '', text || location.pathname); } catch { /* The next change has it. */ }
  address.value = to;
}

export const param = (name: string) => address.value.params.get(name)?.[0] ?? '';
export const params = (name: string) => address.value.params.get(name) ?? [];
export const setParams = (all: Params, options = { replace: true }) => go({ params: all }, options);
