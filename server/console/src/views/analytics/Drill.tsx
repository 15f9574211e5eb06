// A query: its figures, what it finds today, and what can be done about it.
import { get, post, route } from '../../api/client';
import { useResource } from '../../api/resource';
import type { ListOf, SearchAnswer } from '../../api/types';
import { titleOf } from '../../lib/documents';
import { plural } from '../../lib/text';
import { go, hrefOf, setParams } from '../../state/address';
import { about } from '../../state/indexes';
import { Button, Drawer, Figure, Figures, Link, Loaded } from '../../ui';
import { METRICS, show, timesOf, type Range, type Row } from './figures';
import { picked } from './Ranked';

const LOOKED_AT = 1000, SHOWN = 5;

export function Drill({ query, index, range }: { query: string; index: string; range: Range }) {
  const of = JSON.stringify([range.start, range.step]), { primaryKey, settings } = about.value, params = { q: query };
  const row = useResource(async signal => picked?.of === of && picked.row.query === query ? picked.row
    : (await get<ListOf<Row>>(route('analytics', index, 'queries'), { query: { ...timesOf(range), limit: LOOKED_AT }, signal })).results.find(one => one.query === query) ?? null, [index, query, of], { live: false });
  const found = useResource(signal => post<SearchAnswer & { didYouMean?: { q: string } }>(route('indexes', index, 'search'), { q: query, limit: SHOWN, didYouMean: true }, { signal }), [index, query]);
  const to = (view: string, more = {}) => go({ view, params: { ...params, ...more } }), meant = found.data?.didYouMean?.q;
  return (
    <Drawer title={<span dir="auto">{query}</span>} class="analytics-drill" onClose={() => setParams({ query: null })} actions={<>
      <Button onClick={() => to('synonyms', { word: query, finds: meant })}>Add a synonym</Button>
      <Button onClick={() => to('rules', { rule: 'new' })}>Make a rule</Button>
      <Button onClick={() => to('compare')}>Judge it</Button>
      <Button kind="primary" onClick={() => to('search')}>Search</Button>
    </>}>
      <Loaded of={row} lines={4} isEmpty={one => one === null} empty={<p class="muted">It is not among the {LOOKED_AT.toLocaleString('en')} most frequent queries of this time.</p>}>{one => one && (
        <Figures>{METRICS.map(({ id, title, kind }) => id !== 'users' && <Figure key={id} label={title} value={show(kind, one[id])} about={id === 'searches' && one.searchesBefore !== undefined ? `${show(kind, one.searchesBefore)} before` : id === 'meanMs' ? `at most ${show(kind, one.maxMs)}` : undefined} />)}<Figure label="Clicks" value={show('count', one.clicks)} /></Figures>
      )}</Loaded>
      <section class="stack tight">
        <h3>What it finds now</h3>
        <Loaded of={found} lines={SHOWN}>{answer => (
          <>
            {answer.hits.length > 0 && <ol class="analytics-hits">{answer.hits.map((hit, place) => {
              const id = primaryKey ? String(hit[primaryKey]) : '', why = { view: 'search', params: { ...params, why: id } };
              return <li key={place}><span class="count">{place + 1}</span><span class="grow" dir="auto">{titleOf(hit, primaryKey, settings.searchableAttributes).slice(0, 200)}</span>{id && <Link href={hrefOf(why)} onGo={() => go(why)}>Why?</Link>}</li>;
            })}</ol>}
            <p class="muted">{answer.hits.length ? plural(answer.estimatedTotalHits ?? answer.totalHits ?? answer.hits.length, 'hit') : 'Nothing.'}{meant && <> Did you mean <Link href={hrefOf({ params: { query: meant } })} onGo={() => setParams({ query: meant })}>{meant}</Link>?</>}</p>
          </>
        )}</Loaded>
      </section>
    </Drawer>
  );
}
