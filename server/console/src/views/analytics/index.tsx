import './analytics.css';
import { fetchAnswer, get, route } from '../../api/client';
import { useResource, type Resource } from '../../api/resource';
import { writeAndWait } from '../../api/tasks';
import { save } from '../../lib/files';
import { param, setParams } from '../../state/address';
import { about, isRecorded, uid } from '../../state/indexes';
import { Button, Chart, Empty, Link, Loaded, Loading, Menu, PageHead, Segments, TextField } from '../../ui';
import type { View } from '../types';
import { Drill } from './Drill';
import { ASKED, before, changeOf, dayOf, FAILED, labelOf, metricOf, METRICS, rangeOf, RANGES, show, timesOf, type Figures, type Metric, type Range, type RangeId } from './figures';
import { Ranked } from './Ranked';

const FRESH_MS = 60_000, WEEK = '7d';

/** Turns recording on or off, with the way back. */
const record = (index: string, searches: boolean): Promise<unknown> => writeAndWait('PATCH', route('indexes', index, 'settings', 'analytics'), {
  title: `${searches ? 'Record' : 'Stop recording'} searches of ${index}`, done: `Searches of ${index} are ${searches ? '' : 'no longer '}recorded`, undo: () => record(index, !searches),
}, { body: { searches } }).catch(() => { /* A message says so. */ });

function Analytics() {
  const index = uid.value, id: RangeId = param('from') || param('to') ? 'own' : RANGES.find(one => one.id === param('range'))?.id ?? WEEK;
  const now = Date.now(), range = rangeOf(id, param('from'), param('to'), now), isWrong = typeof range === 'string', asked = [index, id, param('from'), param('to')];
  const found = useResource(async signal => {
    // At the time of the request: the page may be open for days.
    const at = rangeOf(id, param('from'), param('to'), Date.now());
    if (typeof at === 'string') return null;
    const of = (one: Range) => get<Figures>(route('analytics', index), { query: { ...timesOf(one), interval: one.step === 3_600_000 ? 'hour' : 'day' }, signal }), past = before(at);
    const [figures, then] = await Promise.all([of(at), past && of(past)]);
    return { figures, then, range: at };
  }, asked, { live: false, keep: true, everyMs: FRESH_MS });
  const choose = (to: RangeId) => setParams(to === 'own' ? { range: null, from: dayOf(isWrong ? now : range.start), to: dayOf(now) } : { range: to === WEEK ? null : to, from: null, to: null });
  const csv = async () => save(`${index}-${id}.csv`, await (await fetchAnswer('GET', route('analytics', index), { query: { ...timesOf(range as Range), interval: 'day', format: 'csv' } })).text(), 'text/csv');
  const isOn = isRecorded.value;
  return (
    <>
      <PageHead title="Analytics" about={`What people search in ${index}, and what they find.`} actions={<>
        <Segments label="Time" value={id} options={RANGES} onChange={choose} />
        <Menu label="More" items={[{ title: 'Save the days as CSV', icon: 'download', off: isWrong && range, onPick: csv }, isOn && { title: 'Stop recording', icon: 'close', onPick: () => record(index, false) }]} />
      </>} />
      {id === 'own' && <div class="row analytics-days">
        <TextField label="From (UTC)" type="date" value={param('from')} onInput={from => setParams({ from })} /><TextField label="Until (UTC)" type="date" value={param('to')} onInput={to => setParams({ to })} error={isWrong ? range : null} />
      </div>}
      {about.value.state === 'loading' ? <Loading lines={12} /> : isWrong ? null : <Shown found={found} isOn={isOn} index={index} range={range} />}
      {param('query') && !isWrong && <Drill key={param('query')} query={param('query')} index={index} range={range} />}
    </>
  );
}

function Shown({ found, isOn, index, range }: { found: Resource<{ figures: Figures; then: Figures | null; range: Range } | null>; isOn: boolean; index: string; range: Range }) {
  return (
    <Loaded of={found} lines={12}>{all => {
      if (!all) return null;
      const { figures, then } = all, { searches, clicks, conversions, views } = figures, isNothing = !(searches || clicks || conversions || views);
      if (isNothing && !isOn) return <Off index={index} />;
      if (isNothing) return <Empty icon="analytics" title="Nothing was recorded in this time." actions={<Button onClick={() => setParams({ range: '30d', from: null, to: null })}>Show 30 days</Button>}>Searches are recorded from now on, and are here a second later. <Events /></Empty>;
      const metric = metricOf(param('show')), values = (of: Figures) => of.series.map(one => one[metric.id]);
      return (
        <div class="stack" aria-busy={found.loading}>
          {!isOn && <div class="server-health" role="status"><span>Searches are not recorded any more: what was recorded stays until it expires.</span><Button size="s" onClick={() => record(index, true)}>Record searches</Button></div>}
          <div class="tiles" role="group" aria-label="Figures">{METRICS.map(one => <Tile key={one.id} metric={one} now={figures[one.id]} then={then && then[one.id]} isShown={one === metric} />)}</div>
          {searches > 0 && clicks === 0 && <p class="hint">No click has arrived in this time. <Events /></p>}
          <Chart title={metric.title} at={figures.series.map(one => one.at)} time={labelOf(all.range.step)} show={value => show(metric.kind, value)} most={metric.kind === 'count' ? 3 : 0} runs={all.range.end % all.range.step !== 0}
            series={[{ name: 'this time', values: values(figures) }, ...(then ? [{ name: 'before', values: values(then), isPast: true }] : [])]} />
          <div class="analytics-lists"><Ranked label="What people ask for" name="asked" lists={ASKED} index={index} range={range} /><Ranked label="What goes wrong" name="failed" lists={FAILED} index={index} range={range} /></div>
        </div>
      );
    }}</Loaded>
  );
}

const Events = () => <>Clicks and conversions are here when your application <Link href="/docs/how-to/analytics#send-events" external>sends them</Link>.</>;

function Tile({ metric, now, then, isShown }: { metric: Metric; now: number | null; then: number | null; isShown: boolean }) {
  const change = changeOf(metric, now, then);
  return (
    <button type="button" class="tile" aria-pressed={isShown} title={metric.about} onClick={() => setParams({ show: metric.id === 'searches' ? null : metric.id })}>
      <span>{metric.title}</span><strong>{show(metric.kind, now)}</strong>
      <small class={change?.tone} title={change ? `Before: ${show(metric.kind, then)}` : undefined}>{change ? <>{change.text}<span class="unseen"> against the time before</span></> : ' '}</small>
    </button>
  );
}

function Off({ index }: { index: string }) {
  return (
    <Empty icon="analytics" title={`Searches of ${index} are not recorded.`} actions={<><Button kind="primary" onClick={() => record(index, true)}>Record searches</Button><Link href="/docs/explanation/privacy" external>Privacy</Link></>}>
      <dl class="facts analytics-off">
        <div><dt>Recorded</dt><dd>The text and filter of each search, how many hits it had, the ids of the first 20, and its time. Users as hashes, if your application names them.</dd></div>
        <div><dt>Not recorded</dt><dd>Addresses, cookies, keys, documents.</dd></div>
        <div><dt>Where</dt><dd>On this server, in the folder <code>events</code> of its database. Nothing is sent elsewhere.</dd></div>
        <div><dt>How long</dt><dd>{String((about.value.settings['analytics'] as { retentionDays?: number } | undefined)?.retentionDays ?? 90)} days. The setting <code>analytics</code> changes that.</dd></div>
      </dl>
    </Empty>
  );
}

export const view: View = { id: 'analytics', title: 'Analytics', group: 'Relevance', icon: 'analytics', needsIndex: true, words: 'home overview dashboard clicks queries events popular statistics conversions', component: Analytics };
