import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { fetchAnswer, route } from '../../api/client';
import { useResource } from '../../api/resource';
import type { Hit, SearchAnswer, Settings } from '../../api/types';
import { titleOf } from '../../lib/documents';
import { CLOSE, OPEN } from '../../lib/marks';
import { count, plural } from '../../lib/text';
import { address, go, param, setParams } from '../../state/address';
import { about, uid } from '../../state/indexes';
import { copy, Button, Chip, Drawer, Empty, IconButton, Loaded, Segments, Select, Skeleton, Slider, useFollowed, type MenuItem } from '../../ui';
import { toast } from '../../state/toasts';
import { BoostLike } from './BoostLike';
import { CodeDrawer } from './CodeDrawer';
import { FieldsDialog } from './FieldsDialog';
import { Facets } from './Facets';
import { FilterField } from './FilterField';
import { chosenFields, Hits, isHttpBlocked, look, NO_KEY, withoutMarks, type Chosen } from './Hits';
import { traitsOf } from './like';
import { Places } from './Places';
import { Proposals, settled } from './Proposals';
import { SearchField } from './SearchField';
import { Why, PICK, wrongOf } from './Why';
import { askedOf, chipsOf, countsOf, embeddersOf, facetNames, facetsOf, filtersPlaces, MOST, narrowed, PAGE, plainSearch, selectionOf, type Asked, type FacetCounts, type Way } from './query';

interface Found { answer: SearchAnswer & { didYouMean?: { q: string; estimatedTotalHits: number } }; facets: FacetCounts[]; degraded: string[] }

export function Search() {
  const index = uid.value, { settings, primaryKey, state } = about.value, asked = askedOf(address.value.params, settings);
  const [liked, setLiked] = useState<Hit | null>(null), [isFieldsOpen, setFieldsOpen] = useState(false), [isCodeOpen, setCodeOpen] = useState(false), [isNarrowOpen, setNarrowOpen] = useState(false);
  const key = JSON.stringify([asked.q, asked.limit, asked.sort, asked.way, asked.embedder, asked.ratio, [...asked.narrowing.chosen], [...asked.narrowing.ranges], asked.narrowing.filter, asked.box, facetNames(settings), settings['matchingStrategy']]);
  // Settings say what can be asked for: without them the first answer would lack its facets.
  const asking = useResource(signal => state === 'loading' ? new Promise<Found>(() => {}) : ask(index, asked, signal), [index, key, state], { keep: true });
  const found = settled.value === index ? asking : { ...asking, data: undefined };
  const wrong = wrongOf(found.error), chips = chipsOf(asked), why = param('why');
  const chosen: Chosen = chosenFields.value[index] ?? {};
  const total = found.data ? found.data.answer.totalHits ?? found.data.answer.estimatedTotalHits ?? found.data.answer.hits.length : 0;
  const onWhy = (hit: Hit) => { if (primaryKey) setParams({ why: String(hit[primaryKey]) }, { replace: false }); };
  const counts = (name: string) => Object.keys(found.data?.facets.find(one => one.name === name)?.counts ?? {});
  const names = facetNames(settings).flatMap(name => name === '*' ? found.data?.facets.map(one => one.name) ?? [] : [name]);
  const facets = found.data === undefined ? (found.error === undefined ? <Skeleton lines={6} /> : null) : <Facets index={index} asked={asked} settings={settings} facets={found.data.facets} />;
  return (
    <div class="search">
      <div class="search-bar">
        <SearchField index={index} value={asked.q} onInput={q => setParams({ q, limit: null })} />
        <Ways asked={asked} />
      </div>
      <Proposals index={index} />
      <div class={settled.value === index ? 'search-columns' : 'search-columns waits'}>
        <aside class="search-facets" aria-label="Facets">{facets}</aside>
        <div class="search-found">
          <div class="search-tools">
            <Button size="s" icon="filter" class="narrow-only" onClick={() => setNarrowOpen(true)}>Facets{chips.length > 0 && ` (${chips.length})`}</Button>
            <FilterField index={index} names={names} counts={counts} error={wrong.filter} />
            <Sorts error={wrong.sort} />
            <Segments label="How hits are shown" value={look.value} onChange={now => { look.value = now; }} options={[{ id: 'cards', title: 'Cards', icon: 'cards' }, { id: 'table', title: 'Table', icon: 'table' }, { id: 'json', title: 'JSON', icon: 'braces' }]} />
            <IconButton icon="settings" label="Choose the title, picture, price and fields" onClick={() => setFieldsOpen(true)} />
            <IconButton icon="terminal" label="This search as code" onClick={() => setCodeOpen(true)} />
          </div>
          {chips.length > 0 && <div class="row search-chips" aria-label="Active filters" role="group">
            {chips.map(one => <Chip key={one.id} tone="accent" label={one.text} onRemove={() => setParams({ ...one.change, limit: null })}>{one.text}</Chip>)}
            {chips.length > 1 && <Button size="s" kind="quiet" onClick={() => setParams(cleared(false))}>Remove all</Button>}
          </div>}
          {wrong.rest === undefined && found.error !== undefined && found.data === undefined ? (
            <Empty icon="filter" title="The server rejected this search." actions={<Button onClick={() => setParams({ ...cleared(false), sort: null })}>Search without filters</Button>}>See the message at the {wrong.sort ? 'order' : 'filter'} above.</Empty>
          ) : <Loaded of={wrong.rest === undefined && found.error ? { ...found, error: undefined } : found} lines={8}>
            {({ answer, degraded }) => (
              <>
                <p class="search-about" role="status"><span>{plural(total, 'hit')}<span class="muted"> in {answer.processingTimeMs} ms{answer.semanticHitCount ? `, ${count(answer.semanticHitCount)} by meaning` : ''}</span></span>
                  <button type="button" class="plain link" onClick={() => setParams({ why: PICK }, { replace: false })}>Is a document missing?</button></p>
                {degraded.length > 0 && <p class="search-degraded" role="status">Incomplete results: {degraded.join(', ')}</p>}
                {answer.didYouMean && <p class="did-you-mean">Did you mean <button type="button" class="plain link" dir="auto" onClick={() => setParams({ q: answer.didYouMean?.q ?? '', limit: null })}>{answer.didYouMean.q}</button>? <small>{plural(answer.didYouMean.estimatedTotalHits, 'hit')}</small></p>}
                {filtersPlaces(settings) && <Places index={index} asked={asked} settings={settings} onPick={onWhy} titleOf={hit => titleOf(hit, primaryKey, settings.searchableAttributes)} />}
                {isHttpBlocked.value && <p class="hint">Pictures over HTTP are not loaded. A server that is started with <code>--console-http-pictures</code> allows them.</p>}
                {answer.hits.length === 0 ? <Nothing asked={asked} isNarrowed={chips.length > 0} />
                  : <Hits hits={answer.hits} primaryKey={primaryKey} settings={settings} chosen={chosen} onWhy={onWhy} onPlace={(hit, place) => pin(hit, primaryKey, String(place))} actions={hit => actionsOf(hit, primaryKey, settings, () => setLiked(hit))} />}
                {answer.hits.length < total && asked.limit < MOST && <More busy={found.loading} shown={answer.hits.length} onMore={() => setParams({ limit: String(asked.limit + PAGE) })} />}
              </>
            )}
          </Loaded>}
        </div>
      </div>
      {isNarrowOpen && <Drawer title="Facets" onClose={() => setNarrowOpen(false)} actions={<Button kind="primary" onClick={() => setNarrowOpen(false)}>{plural(total, 'hit')}</Button>}>{facets}</Drawer>}
      {liked && primaryKey && <BoostLike hit={liked} index={index} asked={asked} settings={settings} primaryKey={primaryKey} onClose={() => setLiked(null)} />}
      {isFieldsOpen && <FieldsDialog index={index} onClose={() => setFieldsOpen(false)} />}
      {isCodeOpen && <CodeDrawer index={index} query={plainSearch(asked, settings)} onClose={() => setCodeOpen(false)} />}
      {why && state === 'ready' && <Why key={why} id={why} index={index} asked={asked} settings={settings} primaryKey={primaryKey} onClose={() => setParams({ why: null })} />}
    </div>
  );
}

/** One request: the hits, and for each field that is narrowed the counts without its own condition. */
async function ask(index: string, asked: Asked, signal: AbortSignal): Promise<Found> {
  const { settings } = about.peek(), names = facetNames(settings), beside = narrowed(asked.narrowing, names);
  const main = { ...selectionOf(asked, settings), limit: asked.limit, facets: names, attributesToHighlight: ['*'], highlightPreTag: OPEN, highlightPostTag: CLOSE, showRankingScore: asked.q.trim() !== '', didYouMean: asked.q.trim() !== '' };
  const others = beside.map(name => ({ ...countsOf(asked, settings, name), facets: [name] }));
  const body = { queries: [main, ...others].map(query => ({ indexUid: index, ...query })) };
  const response = beside.length ? await fetchAnswer('POST', '/multi-search', { body, signal }) : await fetchAnswer('POST', route('indexes', index, 'search'), { body: main, signal });
  const json: unknown = await response.json(), answers = beside.length ? (json as { results: Found['answer'][] }).results : [json as Found['answer']];
  const answer = answers[0] as Found['answer'] & { degradedReasons?: string[] };
  return { answer, facets: facetsOf(answers, response.headers.get('Lamina-Limits'), names), degraded: answer.degradedReasons ?? [] };
}

const cleared = (withQuery: boolean) => Object.fromEntries([...address.value.params.keys()].filter(name => withQuery || /^[fr]\.|^(filter|box|limit)$/.test(name)).map(name => [name, null]));

function Ways({ asked }: { asked: Asked }) {
  const { settings } = about.value, embedders = embeddersOf(settings);
  const options: { id: Way; title: string }[] = [{ id: 'words', title: 'Words' }, { id: 'questions', title: 'Question' }];
  if (embedders.length) options.push({ id: 'meaning', title: 'Meaning' });
  const [ratio, setRatio] = useFollowed(asked.ratio);
  return (
    <div class="ways">
      <Segments label="How to search" value={asked.way} options={options} onChange={way => setParams({ way, limit: null })} />
      {asked.way === 'meaning' && <div class="ratio">
        <Slider label="Meaning" value={ratio} step={0.05} low="words" high="meaning" show={value => Math.round(value * 100) + ' %'} onInput={now => { setRatio(now); setParams({ ratio: String(now) }); }} />
        {embedders.length > 1 && <Select label="Embedder" hideLabel value={asked.embedder} options={embedders.map(value => ({ value, title: value }))} onChange={embedder => setParams({ embedder })} />}
      </div>}
    </div>
  );
}

function Sorts({ error }: { error?: string }) {
  const fields = (about.value.settings.sortableAttributes ?? []).filter(name => name !== '_geo' && !name.includes('*'));
  if (!fields.length && !error) return null;
  const options = [{ value: '', title: 'Most relevant first' }, ...fields.flatMap(name => [{ value: name + ':asc', title: `${name}, ascending` }, { value: name + ':desc', title: `${name}, descending` }])];
  const here = param('sort');
  if (here && !options.some(one => one.value === here)) options.push({ value: here, title: here });
  return <Select label="Order" hideLabel value={here} options={options} error={error} onChange={sort => setParams({ sort: sort || null, limit: null })} />;
}

function Nothing({ asked, isNarrowed }: { asked: Asked; isNarrowed: boolean }) {
  return (
    <Empty title={asked.q ? `No results for “${asked.q}”` : 'No results'} actions={<>
      {isNarrowed && <Button onClick={() => setParams(cleared(false))}>Search without the filters</Button>}
      {asked.q && asked.way === 'words' && /\s/.test(asked.q.trim()) && <Button onClick={() => setParams({ way: 'questions' })}>Match any of the words</Button>}
      {(asked.q || isNarrowed) && <Button onClick={() => setParams(cleared(true))}>Show all documents</Button>}
    </>}>{isNarrowed ? 'The filters may exclude what you are looking for.' : asked.q ? 'If you expected a document, open “Is a document missing?” to see why it does not match.' : 'Documents become searchable as soon as their task ends.'}</Empty>
  );
}

/** More hits; the focus goes to the first new one when the button is gone. */
function More({ busy, onMore, shown }: { busy: boolean; onMore: () => void; shown: number }) {
  const place = useRef<HTMLDivElement>(null), last = useRef(shown), wasPressed = useRef(false);
  last.current = shown;
  useLayoutEffect(() => () => {
    if (wasPressed.current && (document.activeElement === document.body || place.current?.contains(document.activeElement))) setTimeout(() => document.querySelectorAll<HTMLElement>('.hit, .search-found tbody .plain')[last.current]?.focus());
  }, []);
  return <div class="row centre" ref={place}><Button busy={busy} onClick={() => { wasPressed.current = true; onMore(); }}>Show more</Button></div>;
}

/** A rule for what is searched that puts a hit somewhere; `at` is a place, or the end. */
const pin = (hit: Hit, primaryKey: string | null, at: string | null) => go({ view: 'rules', params: { rule: 'new', pin: String(hit[primaryKey ?? '']), at, q: param('q') } });

function actionsOf(hit: Hit, primaryKey: string | null, settings: Settings, onBoost: () => void): MenuItem[] {
  const id = primaryKey ? String(hit[primaryKey]) : null, off = id === null && NO_KEY, q = param('q');
  const rule = (at: string | null) => pin(hit, primaryKey, at), of = q ? 'for this query' : 'for the empty query';
  return [
    { title: 'Explain the ranking', icon: 'info', off, onPick: () => setParams({ why: id }, { replace: false }) },
    { title: `Pin ${of} …`, icon: 'pin', off, onPick: () => rule(null) },
    { title: `Move to the end ${of} …`, icon: 'last', off, onPick: () => rule('last') },
    { title: 'Boost documents like this …', icon: 'up', off: off || traitsOf(hit, primaryKey, settings).length === 0 && 'It has no value in a filterable field.', onPick: onBoost },
    { title: 'Open the document', icon: 'documents', off, onPick: () => go({ view: 'documents', params: { doc: id } }) },
    { title: 'Copy as JSON', icon: 'copy', onPick: async () => toast(await copy(JSON.stringify(withoutMarks(hit), null, 2)) ? { tone: 'good', title: 'Copied' } : { tone: 'warn', title: 'The browser does not allow copying', text: 'It does over HTTPS and on this machine. Show the hits as JSON and select the text.' }) },
  ];
}
