import { route } from '../../api/client';
import { write } from '../../api/tasks';
import { bytes, count, ago } from '../../lib/text';
import { go } from '../../state/address';
import { known, loadIndexes, switchIndex } from '../../state/indexes';
import { askText, Button, Card, confirm, Empty, Facts, Failure, Loading, Menu, PageHead } from '../../ui';
import type { View } from '../types';

const create = () => askText({
  title: 'Create an index', label: 'Name', action: 'Create', hint: 'Letters, digits, - and _',
  run: async uid => { await write('POST', '/indexes', { title: `Create ${uid}`, done: `${uid} is created` }, { body: { uid } }); },
});

async function remove(uid: string) {
  if (await confirm({ title: `Delete ${uid}?`, text: 'Its documents and settings are gone, and searches of it are refused.', action: 'Delete the index', danger: true, type: uid })) {
    await write('DELETE', route('indexes', uid), { title: `Delete ${uid}`, done: `${uid} is deleted` });
  }
}

function Indexes() {
  const { state, list, stats, error } = known.value;
  return (
    <>
      <PageHead title="Indexes" about="What can be searched on this server." actions={<Button kind="primary" icon="plus" onClick={create}>Create an index</Button>} />
      {state === 'loading' && <Loading />}
      {state === 'refused' && <Failure error={error} onRetry={loadIndexes} />}
      {state === 'ready' && list.length === 0 && <Empty icon="indexes" title="There is no index yet." actions={<Button kind="primary" onClick={() => go({ view: 'search' })}>Load the first documents</Button>} />}
      <div class="grid">{list.map(({ uid, updatedAt, primaryKey }) => {
        const one = stats?.indexes[uid];
        return (
          <Card key={uid} title={<span dir="auto">{uid}</span>} actions={<Menu label={`More for ${uid}`} items={[
            { title: 'Search it', icon: 'search', onPick: () => { switchIndex(uid); go({ view: 'search' }); } },
            { title: 'Delete …', icon: 'trash', danger: true, onPick: () => remove(uid) },
          ]} />}>
            <Facts facts={[['Documents', one ? count(one.numberOfDocuments) : '–'], ['Documents’ size', one?.rawDocumentDbSize === undefined ? '–' : bytes(one.rawDocumentDbSize)], ['Primary key', primaryKey ?? '–'], ['Last change', ago(updatedAt)]]} />
          </Card>
        );
      })}</div>
    </>
  );
}

export const view: View = {
  id: 'indexes', title: 'Indexes', group: 'Data', icon: 'indexes', words: 'aliases clones history segments sizes', component: Indexes,
  actions: () => [{ id: 'create', title: 'Create an index', icon: 'plus', run: create }],
};
