import { post, route } from '../../api/client';
import { useResource } from '../../api/resource';
import type { Hit, SearchAnswer, SearchQuery } from '../../api/types';
import { pictureField, titleField } from '../../lib/documents';
import { conditions, narrowingOf } from '../../lib/filters';
import { CLOSE, OPEN } from '../../lib/marks';
import { plural } from '../../lib/text';
import { address, param, setParams } from '../../state/address';
import { about, uid } from '../../state/indexes';
import { preference } from '../../state/preferences';
import { Badge, Button, Empty, JsonView, Loaded, Segments, TextField, Value } from '../../ui';

const PAGE = 20, MOST = 1000, FIELDS = 6;
type Look = 'cards' | 'json';
const look = preference<Look>('search.look', 'cards');

export function Search() {
  const q = param('q'), limit = Math.min(MOST, Math.max(PAGE, Number(param('limit')) || PAGE)), index = uid.value;
  const filter = conditions(narrowingOf(address.value.params));
  const query: SearchQuery = { q, limit, filter, attributesToHighlight: ['*'], highlightPreTag: OPEN, highlightPostTag: CLOSE, showRankingScore: true };
  const found = useResource(signal => post<SearchAnswer>(route('indexes', index, 'search'), query, { signal }), [index, JSON.stringify(query)], { keep: true });
  return (
    <div class="stack">
      <div class="search-head">
        <TextField label="Search" hideLabel type="search" isSearch placeholder={`Search ${index}`} value={q} onInput={now => setParams({ q: now, limit: null })} />
        <Segments label="How hits are shown" value={look.value} onChange={now => { look.value = now; }} options={[{ id: 'cards', title: 'Cards', icon: 'cards' }, { id: 'json', title: 'JSON', icon: 'braces' }]} />
      </div>
      <Loaded of={found} lines={8}>
        {answer => {
          const total = answer.totalHits ?? answer.estimatedTotalHits ?? answer.hits.length;
          return (
            <>
              <p class="muted" role="status">{plural(total, 'hit')} in {answer.processingTimeMs} ms</p>
              {answer.hits.length === 0 && <Empty title={q ? `Nothing is found for “${q}”.` : 'No document is found.'} actions={q || filter.length > 0 ? <Button onClick={() => setParams(all())}>Search for everything</Button> : undefined}>
                {filter.length > 0 ? 'The filter may exclude what you look for.' : 'Documents that you load are found as soon as their task has ended.'}</Empty>}
              <ol class="hits">{answer.hits.map((hit, place) => <li key={keyOf(hit, place)}><Card hit={hit} /></li>)}</ol>
              {answer.hits.length < total && limit < MOST && <div class="row centre"><Button busy={found.loading} onClick={() => setParams({ limit: String(limit + PAGE) })}>Show more</Button></div>}
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

const all = () => Object.fromEntries([...address.value.params.keys()].map(name => [name, null]));
const keyOf = (hit: Hit, place: number) => String(about.value.primaryKey ? hit[about.value.primaryKey] : place);

function Card({ hit }: { hit: Hit }) {
  const { primaryKey, settings } = about.value, title = titleField(hit, primaryKey, settings.searchableAttributes), picture = pictureField(hit);
  const marked = hit._formatted ?? {};
  if (look.value === 'json') {
    const { _formatted, _rankingScore, ...document } = hit;
    return <article class="hit"><JsonView value={document as Hit} /></article>;
  }
  const names = Object.keys(hit).filter(name => !name.startsWith('_') && name !== title && name !== primaryKey && name !== picture);
  return (
    <article class="hit">
      <header>
        <h3 dir="auto">{title ? <Value value={hit[title] ?? null} formatted={marked[title]} /> : primaryKey ? String(hit[primaryKey]) : 'Document'}</h3>
        {primaryKey && <small>{String(hit[primaryKey])}</small>}
        {hit._rankingScore !== undefined && <Badge>{hit._rankingScore.toFixed(3)}</Badge>}
      </header>
      <dl class="nested">{names.slice(0, FIELDS).map(name => <div key={name}><dt dir="auto">{name}</dt><dd dir="auto" class="clamp"><Value value={hit[name] ?? null} formatted={marked[name]} /></dd></div>)}</dl>
      {names.length > FIELDS && <small>and {plural(names.length - FIELDS, 'field')} more</small>}
    </article>
  );
}
