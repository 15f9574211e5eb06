// Filters, written as the server reads them.
export const quoted = (text: string) => '"' + text.replace(/\\/g, '\\\\').replace(/"/g, '\\"') + '"';
export const isDay = (text: string) => /^\d{4}-\d\d-\d\d$/.test(text);

export function dayAfter(day: string): string {
  const date = new Date(day + 'T00:00:00Z');
  date.setUTCDate(date.getUTCDate() + 1);
  return date.toISOString().slice(0, 10);
}

export interface Narrowing { chosen: ReadonlyMap<string, readonly string[]>; ranges: ReadonlyMap<string, readonly [string, string]>; filter: string }

/** The conditions of what was chosen: values of one field are alternatives. `without` leaves one field out, to count its other values. */
export function conditions({ chosen, ranges, filter }: Narrowing, without?: string): (string | string[])[] {
  const all: (string | string[])[] = [];
  for (const [name, values] of chosen) if (name !== without && values.length) all.push(values.map(value => quoted(name) + ' = ' + quoted(value)));
  for (const [name, [from, to]] of ranges) {
    if (name === without) continue;
    if (from) all.push(quoted(name) + ' >= ' + bound(from));
    // A whole day ends where the next one begins.
    if (to) all.push(isDay(to) ? quoted(name) + ' < ' + quoted(dayAfter(to)) : quoted(name) + ' <= ' + bound(to));
  }
  if (filter) all.push(filter);
  return all;
}

const bound = (text: string) => Number.isFinite(Number(text)) ? text : quoted(text);

/** `f.FIELD=value` and `r.FIELD=from..to` of an address. */
export function narrowingOf(params: ReadonlyMap<string, readonly string[]>): Narrowing {
  const chosen = new Map<string, readonly string[]>(), ranges = new Map<string, readonly [string, string]>();
  for (const [name, values] of params) {
    if (name.startsWith('f.')) chosen.set(name.slice(2), [...new Set(values)]);
    if (name.startsWith('r.')) {
      const [from = '', to = ''] = (values[0] ?? '').split('..');
      if (from || to) ranges.set(name.slice(2), [from, to]);
    }
  }
  return { chosen, ranges, filter: params.get('filter')?.[0] ?? '' };
}
