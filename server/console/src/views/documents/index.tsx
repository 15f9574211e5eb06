import { post, route } from '../../api/client';
import { useResource } from '../../api/resource';
import type { JsonObject, ListOf } from '../../api/types';
import { asText, titleField } from '../../lib/documents';
import { plural } from '../../lib/text';
import { param, setParams } from '../../state/address';
import { about, uid } from '../../state/indexes';
import { Button, Card, Empty, JsonView, Loaded, PageHead } from '../../ui';
import type { View } from '../types';

const PAGE = 20;

function Documents() {
  const index = uid.value, offset = Math.max(0, Number(param('offset')) || 0), { primaryKey } = about.value;
  const found = useResource(signal => post<ListOf<JsonObject>>(route('indexes', index, 'documents', 'fetch'), { offset, limit: PAGE }, { signal }), [index, offset]);
  return (
    <>
      <PageHead title="Documents" about={found.data?.total === undefined ? undefined : plural(found.data.total, 'document')} />
      <Loaded of={found} isEmpty={all => all.results.length === 0} empty={<Empty icon="documents" title="There are no documents here." />}>
        {all => (
          <div class="stack">
            {all.results.map((document, place) => { const title = titleField(document, primaryKey); return <Card key={offset + place} title={<span dir="auto">{asText(title ? document[title] : primaryKey ? document[primaryKey] : 'Document')}</span>}><JsonView value={document} /></Card>; })}
            <div class="row centre">
              <Button icon="left" off={offset === 0 && 'This is the beginning.'} onClick={() => setParams({ offset: offset > PAGE ? String(offset - PAGE) : null })}>Before</Button>
              <Button off={offset + PAGE >= (all.total ?? 0) && 'This is the end.'} onClick={() => setParams({ offset: String(offset + PAGE) })}>Next</Button>
            </div>
          </div>
        )}
      </Loaded>
    </>
  );
}

export const view: View = { id: 'documents', title: 'Documents', group: 'Data', icon: 'documents', needsIndex: true, words: 'browse import upload edit delete', component: Documents };
