import { post, route } from '../../api/client';
import { useResource } from '../../api/resource';
import type { SearchAnswer } from '../../api/types';
import { asText, titleField } from '../../lib/documents';
import { plural } from '../../lib/text';
import { param, setParams } from '../../state/address';
import { about, uid } from '../../state/indexes';
import { Card, Empty, Loaded, PageHead, TextField } from '../../ui';
import type { View } from '../types';

const SIDES = [{ title: 'Last words optional', parameters: {} }, { title: 'Any words', parameters: { matchingStrategy: 'any' } }];

function Compare() {
  const q = param('q'), index = uid.value;
  const found = useResource(signal => Promise.all(SIDES.map(side => post<SearchAnswer>(route('indexes', index, 'search'), { q, limit: 10, ...side.parameters }, { signal }))), [index, q], { keep: true });
  const { primaryKey } = about.value;
  return (
    <>
      <PageHead title="Compare" about="One query, searched in two ways." />
      <div class="stack">
        <TextField label="Query" hideLabel type="search" isSearch placeholder={`Search ${index}`} value={q} onInput={now => setParams({ q: now })} />
        <Loaded of={found}>{answers => <div class="grid">{answers.map((answer, place) => (
          <Card key={place} title={SIDES[place]?.title} actions={<small>{plural(answer.estimatedTotalHits ?? 0, 'hit')}</small>}>
            {answer.hits.length === 0 ? <Empty title="Nothing is found." /> : <ol class="stack tight">{answer.hits.map((hit, number) => { const title = titleField(hit, primaryKey); return <li key={number} dir="auto">{asText(title ? hit[title] : primaryKey ? hit[primaryKey] : hit)}</li>; })}</ol>}
          </Card>
        ))}</div>}</Loaded>
      </div>
    </>
  );
}

export const view: View = { id: 'compare', title: 'Compare', group: 'Relevance', icon: 'compare', needsIndex: true, words: 'experiment evaluate ndcg judged', component: Compare };
