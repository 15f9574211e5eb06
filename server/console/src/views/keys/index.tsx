import { get, Refused } from '../../api/client';
import { useResource } from '../../api/resource';
import type { Key, ListOf } from '../../api/types';
import { when } from '../../lib/text';
import { Chip, CodeBlock, Empty, Loaded, PageHead, Table } from '../../ui';
import type { View } from '../types';

function Keys() {
  const found = useResource(signal => get<ListOf<Key>>('/keys', { query: { limit: 1000 }, signal }).catch(error => {
    if (error instanceof Refused && error.code === 'missing_master_key') return null;
    throw error;
  }), []);
  return (
    <>
      <PageHead title="Keys" about="What programs may do, on which indexes, until when." />
      <Loaded of={found} isEmpty={all => all !== null && all.results.length === 0} empty={<Empty icon="keys" title="There is no key yet." />}>
        {all => all === null
          ? <Empty icon="keys" title="This server has no master key." actions={<CodeBlock label="With a master key" code="lamina --master-key …" />}>There are no keys, and everyone who reaches it may do everything.</Empty>
          : <Table label="Keys" rows={all.results} keyOf={key => key.uid} columns={[
            { id: 'name', title: 'Name', cell: key => <strong dir="auto">{key.name ?? key.uid}</strong> },
            { id: 'actions', title: 'May', grow: true, cell: key => <span class="chips">{key.actions.map(one => <Chip key={one}>{one}</Chip>)}</span> },
            { id: 'indexes', title: 'Indexes', cell: key => key.indexes.join(', ') },
            { id: 'expires', title: 'Expires', cell: key => key.expiresAt ? when(key.expiresAt) : 'never' },
          ]} />}
      </Loaded>
    </>
  );
}

export const view: View = { id: 'keys', title: 'Keys', group: 'Operate', icon: 'keys', words: 'api tenant tokens rights', component: Keys };
