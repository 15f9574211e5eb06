// Facets beside the hits: values by how many documents have them, histograms with sliders for numbers and days.
import { useMemo, useRef, useState } from 'preact/hooks';
import { post, route } from '../../api/client';
import { useResource } from '../../api/resource';
import { writeAndWait } from '../../api/tasks';
import type { SearchAnswer, SearchQuery, Settings } from '../../api/types';
import { compact, count, plural } from '../../lib/text';
import { address, setParams } from '../../state/address';
import { Button, Checkbox, Link, Skeleton, TextField, useFollowed } from '../../ui';
import { go, hrefOf } from '../../state/address';
import { countsOf, dayNumber, dayOf, kindOf, niceStep, orderedValues, type Asked, type FacetCounts } from './query';

const SHOWN = 8, MORE = 24, FACETS = 24, ALL_MOST = 20_000, REST_MS = 250;

export function Facets({ index, asked, settings, facets }: { index: string; asked: Asked; settings: Settings; facets: readonly FacetCounts[] }) {
  const [most, setMost] = useState(FACETS);
  if (facets.length === 0) {
    return <p class="muted search-none">There are no facets yet. <Link href={hrefOf({ view: 'settings' })} onGo={() => go({ view: 'settings' })}>Choose filterable fields in the settings</Link> to narrow the hits by their values.</p>;
  }
  return (
    <>
      {facets.slice(0, most).map(facet => {
        const kind = kindOf(facet, asked.narrowing.ranges.get(facet.name));
        return <section key={facet.name} class="facet" aria-label={facet.name}>
          <h2 dir="auto">{facet.name}</h2>
          {kind === 'values' ? <Values index={index} asked={asked} settings={settings} facet={facet} /> : <Range index={index} asked={asked} settings={settings} facet={facet} areDays={kind === 'days'} />}
        </section>;
      })}
      {facets.length > most && <Button size="s" onClick={() => setMost(most + FACETS)}>{count(facets.length - most)} more facets</Button>}
    </>
  );
}

interface FacetProps { index: string; asked: Asked; settings: Settings; facet: FacetCounts }

/** The values of a facet of which an answer lists only some, and how often each is there: as those of several indexes a request may list more. Null: there are even more. */
async function allValues(index: string, query: SearchQuery, name: string, signal: AbortSignal): Promise<Record<string, number> | null> {
  // While someone types, what is on the page stays.
  await new Promise(done => setTimeout(done, REST_MS));
  if (signal.aborted) return null;
  const { limit, ...rest } = query, federation = { limit, facetsByIndex: { [index]: [name] }, mergeFacets: { maxValuesPerFacet: ALL_MOST } };
  const counts = (await post<SearchAnswer>('/multi-search', { federation, queries: [{ indexUid: index, ...rest }] }, { signal })).facetDistribution?.[name] ?? {};
  return Object.keys(counts).length < ALL_MOST ? counts : null;
}

function Values({ index, asked, settings, facet }: FacetProps) {
  const { name, isCut } = facet, chosen = asked.narrowing.chosen.get(name) ?? [], { limit, ...selection } = countsOf(asked, settings, name), key = JSON.stringify(selection);
  const [find, setFind] = useState(''), [most, setMost] = useState(SHOWN);
  const whole = useResource(signal => isCut ? allValues(index, { ...selection, limit }, name, signal) : Promise.resolve(undefined), [index, name, isCut, key], { keep: true });
  const all = isCut ? whole.data : undefined, counts = all ?? facet.counts, known = Object.keys(counts).length;
  const here = useMemo(() => orderedValues(counts, chosen), [counts, chosen.join('\n')]), isLong = here.length > SHOWN || isCut;
  const found = useResource<[string, number][] | null>(async signal => {
    if (!find.trim()) return null;
    return post<{ facetHits: { value: string; count: number }[] }>(route('indexes', index, 'facet-search'), { facetName: name, facetQuery: find, ...selection }, { signal })
      .then(answer => answer.facetHits.map((one): [string, number] => [one.value, one.count]))
      // Fields whose values cannot be searched have at least those that are known here.
      .catch(error => { if (signal.aborted) throw error; return here.filter(([value]) => value.toLowerCase().includes(find.toLowerCase())); });
  }, [index, name, find, key], { keep: true });
  const shown = find.trim() && found.data ? found.data : here;
  const set = (value: string, isOn: boolean) => setParams({ ['f.' + name]: isOn ? [...chosen, value] : chosen.filter(one => one !== value), limit: null });
  const orders = (settings.faceting as { sortFacetValuesBy?: Record<string, string> } | undefined)?.sortFacetValuesBy ?? {};
  const byCount = (orders[name] ?? orders['*'] ?? 'alpha') === 'count';
  // The first of the alphabet are not shown as if they were the most frequent.
  const waits = isCut && !byCount && !find.trim() && all === undefined && whole.loading;
  return (
    <>
      {isLong && <TextField label={'Find a value of ' + name} hideLabel type="search" placeholder={isCut && !all ? 'Find a value' : `Find in ${plural(known, 'value')}`} value={find} onInput={setFind} />}
      {waits ? <Skeleton lines={SHOWN} /> : <><div class="facet-values">{shown.slice(0, most).map(([value, documents]) => <Checkbox key={value} label={value || '(empty)'} checked={chosen.includes(value)} onChange={isOn => set(value, isOn)} count={compact(documents)} />)}</div>
      {shown.length === 0 && <p class="muted">{find ? 'No matching value.' : 'No hit has a value.'}</p>}
      {shown.length > most && <Button size="s" kind="quiet" onClick={() => setMost(most + MORE)}>{count(shown.length - most)} more</Button>}
      {isCut && !find && <p class="hint">{all ? `The first ${count(Math.min(most, known))} of ${count(known)} values, the most frequent first.`
        : <>The first {count(known)} {all === null && `of more than ${count(ALL_MOST)} `}values, {byCount ? 'the most frequent first. Type to find others.' : <>in alphabetical order. <Frequent index={index} name={name} orders={orders} /></>}</>}</p>}</>}
    </>
  );
}

/** Lets the server list the values of a facet by how frequent they are. */
function Frequent({ index, name, orders }: { index: string; name: string; orders: Record<string, string> }) {
  const [busy, setBusy] = useState(false);
  const put = (order: string | undefined, title: string, undo?: () => unknown) =>
    writeAndWait('PATCH', route('indexes', index, 'settings'), { title, undo }, { body: { faceting: { sortFacetValuesBy: { ...orders, [name]: order ?? orders['*'] ?? 'alpha' } } } });
  return <button type="button" class="plain link" disabled={busy} aria-busy={busy || undefined} onClick={async () => {
    setBusy(true);
    await put('count', `The most frequent values of ${name} come first`, () => put(orders[name], `Values of ${name} as before`)).catch(() => {});
    setBusy(false);
  }}>Show the most frequent</button>;
}

interface Bar { from: number; to: number; count: number }
interface Histogram { bars: Bar[]; min: number; max: number; step: number }
interface Bucket { from: number | string; to: number | string; count: number }
type Details = SearchAnswer & { facetDetails?: { histogram?: Bucket[] | { buckets: Bucket[] } }[] };

const bucketsOf = (answer: Details): Bucket[] => {
  const found = answer.facetDetails?.[0]?.histogram;
  return Array.isArray(found) ? found : found?.buckets ?? [];
};

async function load(index: string, query: SearchQuery, { name, stats }: FacetCounts, areDays: boolean, signal: AbortSignal): Promise<Histogram | null> {
  const ask = (interval: number | string) => post<Details>(route('indexes', index, 'search'), { ...query, facets: [{ facet: name, histogram: { interval } }] }, { signal });
  if (!areDays) {
    const at = stats ?? (await post<SearchAnswer>(route('indexes', index, 'search'), { ...query, facets: [name] }, { signal })).facetStats?.[name];
    if (!at || !(at.max > at.min)) return null;
    const step = niceStep(at.min, at.max);
    const bars = bucketsOf(await ask(step)).map(one => ({ from: Number(one.from), to: Number(one.to), count: one.count }));
    return { bars, min: at.min, max: at.max, step: Number.isInteger(at.min) && Number.isInteger(at.max) && step >= 1 ? 1 : step / 10 };
  }
  for (const interval of ['year', 'month', 'day']) {
    const bars = bucketsOf(await ask(interval)).map(one => ({ from: dayNumber(String(one.from)), to: dayNumber(String(one.to)), count: one.count })).filter(one => Number.isFinite(one.from) && Number.isFinite(one.to));
    if (bars.length > 4 || interval === 'day') return bars.length ? { bars, min: Math.min(...bars.map(one => one.from)), max: Math.max(...bars.map(one => one.to)) - 1, step: 1 } : null;
  }
  return null;
}

function Range({ index, asked, settings, facet, areDays }: FacetProps & { areDays: boolean }) {
  const { name } = facet, query = countsOf(asked, settings, name);
  const found = useResource(signal => load(index, query, facet, areDays, signal), [index, name, areDays, JSON.stringify(query)], { keep: true });
  const [low, high] = asked.narrowing.ranges.get(name) ?? ['', ''];
  const number = (text: string) => areDays ? dayNumber(text) : Number(text), text = (value: number) => areDays ? dayOf(value) : String(Number(value.toPrecision(12)));
  const set = (from: string, to: string) => setParams({ ['r.' + name]: from || to ? from + '..' + to : null, limit: null });
  const histogram = found.data;
  return (
    <>
      {histogram && <Brush label={name} histogram={histogram} low={low ? number(low) : histogram.min} high={high ? number(high) : histogram.max} show={text}
        onChange={(from, to) => set(from <= histogram.min ? '' : text(from), to >= histogram.max ? '' : text(to))} />}
      <div class="range-ends">
        <End label={name + ' from'} value={low} usual={histogram ? text(histogram.min) : ''} areDays={areDays} onChange={now => set(now, high)} />
        <span aria-hidden="true">–</span>
        <End label={name + ' to'} value={high} usual={histogram ? text(histogram.max) : ''} areDays={areDays} onChange={now => set(low, now)} />
      </div>
    </>
  );
}

function End({ label, value, usual, areDays, onChange }: { label: string; value: string; usual: string; areDays: boolean; onChange: (now: string) => void }) {
  const [text, setText] = useFollowed(value);
  return <input type={areDays ? 'date' : 'number'} step="any" aria-label={label} placeholder={usual} value={areDays ? text || usual : text} onInput={event => setText(event.currentTarget.value)}
    onChange={event => onChange(areDays && event.currentTarget.value === usual ? '' : event.currentTarget.value)} />;
}

const WIDTH = 240, HEIGHT = 48;

/** Bars, and two handles below them. What is dragged takes effect when it is let go. */
function Brush({ label, histogram: { bars, min, max, step }, low, high, show, onChange }: {
  label: string; histogram: Histogram; low: number; high: number; show: (value: number) => string; onChange: (low: number, high: number) => void;
}) {
  const [drag, setDrag] = useState<readonly [number, number] | null>(null), last = useRef(drag);
  const move = (now: readonly [number, number] | null) => { last.current = now; setDrag(now); };
  const [from, to] = drag ?? [Math.max(min, low), Math.min(max, high)];
  const begin = Math.min(min, ...bars.map(one => one.from)), end = Math.max(max, ...bars.map(one => one.to)), most = Math.max(1, ...bars.map(one => one.count));
  const x = (value: number) => (value - begin) / (end - begin || 1) * WIDTH;
  const shapes = useMemo(() => bars.map(one => ({ ...one, x: x(one.from), width: Math.max(1, x(one.to) - x(one.from) - 1), height: Math.max(2, one.count / most * HEIGHT) })), [bars]);
  const commit = () => { const now = last.current; if (now) { move(null); onChange(now[0], now[1]); } };
  const handle = (name: string, value: number, moved: (value: number) => readonly [number, number]) => (
    <input type="range" min={min} max={max} step={step} value={value} aria-label={`${label}, ${name}`} aria-valuetext={show(value)} onInput={event => move(moved(Number(event.currentTarget.value)))} onChange={commit} />
  );
  return (
    <div class="brush">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${label}: ${bars.length} bars from ${show(min)} to ${show(max)}`}>
        {shapes.map(one => <rect key={one.from} class={one.to > from && one.from <= to ? 'in' : undefined} x={one.x} y={HEIGHT - one.height} width={one.width} height={one.height}><title>{`${show(one.from)} – ${show(one.to)}: ${count(one.count)}`}</title></rect>)}
      </svg>
      <div class="brush-handles" style={{ '--from': x(from) / WIDTH, '--to': x(to) / WIDTH }}>
        {handle('from', from, value => [Math.min(value, to), to])}
        {handle('to', to, value => [from, Math.max(value, from)])}
      </div>
    </div>
  );
}

/** Whether something narrows the search, for the button of narrow screens. */
export const narrowings = () => [...address.value.params.keys()].filter(name => /^[fr]\.|^filter$|^box$/.test(name)).length;
