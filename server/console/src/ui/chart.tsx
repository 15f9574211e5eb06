// Lines over time: what they were is read where people point, or with the arrows.
import { useId, useState } from 'preact/hooks';

/** `isPast` is what the others are compared with. */
export interface Series { name: string; values: readonly (number | null)[]; isPast?: boolean }
const WIDTH = 600, HEIGHT = 140, TICKS = 3;

/** A step of 1, 2 or 5 that cuts a height into few parts; of bytes, a power of two. */
export function stepOf(most: number, isBytes: boolean): number {
  if (!(most > 0)) return 1;
  const base = isBytes ? 2 : 10, part = most / TICKS, power = base ** Math.floor(Math.log(part) / Math.log(base));
  return isBytes ? (power >= part ? power : power * 2) : [1, 2, 5, 10].map(one => one * power).find(one => one >= part) ?? part;
}

/** What is missing breaks the line. With `base`, the area down to it. */
export function pathOf(values: readonly (number | null)[], x: (place: number) => number, y: (value: number) => number, base?: number): string {
  let path = '', isDown = false;
  values.forEach((value, place) => {
    if (value === null) { isDown = false; return; }
    const isLast = (values[place + 1] ?? null) === null, at = x(place).toFixed(1);
    path += (isDown ? 'L' : base === undefined ? 'M' : `M${at} ${base}L`) + at + ' ' + y(value).toFixed(1);
    // A single point is a dot.
    if (isLast) path += base !== undefined ? `V${base}Z` : isDown ? '' : 'h0';
    isDown = true;
  });
  return path;
}

const clock = (time: string, isLong: boolean) => new Date(time).toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hour12: false, ...(isLong ? {} : { second: '2-digit' }) });

export interface ChartProps {
  title: string; series: readonly Series[]; at: readonly string[]; show?: (value: number) => string; isBytes?: boolean; most?: number;
  /** How a time reads; values are then shown where people point, and the area is filled. */
  time?: (at: string) => string;
  /** The last step is not over. */
  runs?: boolean;
}
export function Chart({ title, series, at, show = String, isBytes = false, most: least = 0, time, runs }: ChartProps) {
  const [place, setPlace] = useState<number | null>(null), id = useId(), last = at.length - 1;
  const there = series.flatMap(one => one.values).filter((one): one is number => one !== null), highest = Math.max(...there, least, 0);
  const step = stepOf(highest, isBytes), top = Math.max(step, Math.ceil(highest / step) * step);
  const x = (number: number) => last > 0 ? number * WIDTH / last : WIDTH, y = (value: number) => HEIGHT - 4 - (HEIGHT - 8) * value / top;
  const isLong = at.length > 1 && Date.parse(at[last] ?? '') - Date.parse(at[0] ?? '') > 1_200_000, here = place === null ? last : Math.min(place, last), isAtRest = time !== undefined && place === null;
  const label = (number: number) => (time ?? (at => clock(at, isLong)))(at[number] ?? '');
  const lines = Array.from({ length: Math.round(top / step) + 1 }, (_, number) => number * step);
  const says = series.map(one => { const value = one.values[here]; return { name: one.name, text: value === null || value === undefined ? '–' : show(value) }; });
  const colour = (number: number) => series[number]?.isPast ? 'past' : 'of-' + number;
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: last, Escape: null }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    setPlace(to === null ? null : Math.max(0, Math.min(last, to)));
  };
  const point = (event: PointerEvent & { currentTarget: Element }) => {
    const box = event.currentTarget.getBoundingClientRect();
    setPlace(Math.max(0, Math.min(last, Math.round((event.clientX - box.left) / box.width * last))));
  };
  return (
    <figure class="chart">
      <figcaption id={id}><span>{title}</span><span class="chart-values">{says.map((one, number) => <span key={one.name}>{series.length > 1 && <i class={'chart-key ' + colour(number)} aria-hidden="true" />}{series.length > 1 && one.name + ' '}{!isAtRest && <b>{one.text}</b>}</span>)}</span></figcaption>
      <div class="chart-body">
        <div class="chart-scale" aria-hidden="true">{[...lines].reverse().map(value => <span key={value}>{show(value)}</span>)}</div>
        <div class="chart-area" role="slider" tabIndex={0} aria-labelledby={id} aria-valuemin={0} aria-valuemax={Math.max(0, last)} aria-valuenow={Math.max(0, here)}
          aria-valuetext={last < 0 ? 'no data yet' : `${label(here)}: ${says.map(one => one.name + ' ' + one.text).join(', ')}`}
          onKeyDown={onKeyDown} onPointerMove={point} onPointerLeave={() => setPlace(null)} onBlur={() => setPlace(null)}>
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            {lines.map(value => <line key={value} class="chart-line" x1="0" x2={WIDTH} y1={y(value)} y2={y(value)} />)}
            {time && <path class="chart-fill" d={pathOf(series[0]?.values ?? [], x, y, y(0))} />}
            {series.map((one, number) => <path key={one.name} class={'chart-path ' + colour(number)} d={pathOf(runs && !one.isPast ? one.values.slice(0, -1) : one.values, x, y)} />)}
            {runs && <path class="chart-path runs" d={pathOf(series[0]?.values.map((value, number) => number < last - 1 ? null : value) ?? [], x, y)} />}
            {place !== null && last >= 0 && <line class="chart-cursor" x1={x(here)} x2={x(here)} y1="0" y2={HEIGHT} />}
          </svg>
          {there.length === 0 && <span class="chart-nothing">no data</span>}
        </div>
      </div>
      <div class="chart-times" aria-hidden="true">{last > 0 && <><span>{label(0)}</span><span>{place !== null && label(here)}</span><span>{label(last)}</span></>}</div>
    </figure>
  );
}
