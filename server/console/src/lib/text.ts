// How things are said.
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** What an error says. */
export const messageOf = (error: unknown) => error instanceof Error ? error.message : String(error);

export const count = (number: number) => number.toLocaleString('en');
export const plural = (number: number, one: string, many = /[^aeiou]y$/.test(one) ? one.slice(0, -1) + 'ies' : /(s|x|ch|sh)$/.test(one) ? one + 'es' : one + 's') =>
  count(number) + ' ' + (number === 1 ? one : many);
export const compact = (number: number) => number < 10_000 ? count(number) : Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(number);

export function bytes(number: number): string {
  const power = number > 0 ? Math.min(UNITS.length - 1, Math.floor(Math.log2(number) / 10)) : 0;
  return (number / 1024 ** power).toFixed(power ? 1 : 0) + ' ' + UNITS[power];
}

export function span(ms: number): string {
  if (ms < 1000) return (ms < 10 && ms % 1 ? ms.toFixed(1) : Math.round(ms)) + ' ms';
  if (ms < 120_000) return (ms / 1000).toFixed(1) + ' s';
  return ms < 7_200_000 ? Math.round(ms / 60_000) + ' min' : Math.round(ms / 3_600_000) + ' h';
}

const MS: Record<string, number> = { ns: 1e-6, us: 1e-3, 'µs': 1e-3, ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000 };
/** Milliseconds of a duration as the API writes it, "PT1.5S", "PT2M3S", or as traces do: "35.1ms". */
export function msOf(duration: string | null | undefined): number | null {
  const text = duration?.trim() ?? '', [, value, unit = ''] = /^([\d.]+)\s*([a-zµ]+)$/.exec(text) ?? [];
  if (Object.hasOwn(MS, unit)) return Number(value) * (MS[unit] ?? 0);
  const found = /^P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?$/.exec(text);
  if (!found || !text) return null;
  const [, days, hours, minutes, seconds] = found;
  return ((Number(days ?? 0) * 24 + Number(hours ?? 0)) * 60 + Number(minutes ?? 0)) * 60_000 + Number(seconds ?? 0) * 1000;
}

const STEPS: [number, Intl.RelativeTimeFormatUnit][] = [[60, 'second'], [60, 'minute'], [24, 'hour'], [30, 'day'], [12, 'month'], [Infinity, 'year']];
export function ago(time: string | null | undefined, now = Date.now(), style: Intl.RelativeTimeFormatStyle = 'long'): string {
  const at = Date.parse(time ?? '');
  if (Number.isNaN(at)) return '–';
  let left = (at - now) / 1000;
  if (Math.abs(left) < 5) return 'just now';
  for (const [size, unit] of STEPS) {
    if (Math.abs(left) < size) return new Intl.RelativeTimeFormat('en', { numeric: 'auto', style }).format(Math.round(left), unit);
    left /= size;
  }
  return '–';
}
export const when = (time: string | null | undefined) => time && !Number.isNaN(Date.parse(time)) ? new Date(time).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' }) : '–';
