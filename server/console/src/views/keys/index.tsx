import './keys.css';
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { get, Refused, request, route } from '../../api/client';
import { useResource } from '../../api/resource';
import { bump } from '../../api/tasks';
import type { Key, ListOf } from '../../api/types';
import { ago, when } from '../../lib/text';
import { go } from '../../state/address';
import { toast } from '../../state/toasts';
import { askText, Badge, Button, Chip, CodeBlock, confirm, copy, Empty, Failure, Loaded, Menu, PageHead, Table } from '../../ui';
import type { View } from '../types';
import { said } from './actions';
import { Create } from './Create';
import { Tenant } from './Tenant';

const SOON_MS = 7 * 86_400_000;
const isCreating = signal(false);

function Keys() {
  const found = useResource(signal => get<ListOf<Key>>('/keys', { query: { limit: 1000 }, signal }).catch(error => {
    if (error instanceof Refused && error.code === 'missing_master_key') return null;
    throw error;
  }), []);
  const [tenantOf, setTenantOf] = useState<Key | null>(null), [error, setError] = useState<unknown>(null);
  const remove = async (key: Key) => {
    if (!await confirm({ title: `Delete ${key.name ?? 'this key'}?`, text: 'Programs that use it, and its tenant tokens, are refused at once. It cannot be restored.', action: 'Delete the key', danger: true })) return;
    setError(null);
    await request('DELETE', route('keys', key.uid)).then(() => { toast({ tone: 'good', title: `${key.name ?? 'The key'} is deleted` }); bump(); }, setError);
  };
  const rename = (key: Key) => askText({
    title: 'Rename the key', label: 'Name', action: 'Rename', value: key.name ?? '',
    run: async name => { await request('PATCH', route('keys', key.uid), { body: { name } }); toast({ tone: 'good', title: `The key is called ${name}` }); bump(); },
  });
  const take = async (key: Key) => toast(await copy(key.key) ? { tone: 'good', title: `${key.name ?? 'The key'} is copied` } : { tone: 'warn', title: 'The browser allows copying only over HTTPS', text: 'Create a key, and copy it where it is shown.' });
  const state = (key: Key) => {
    if (!key.expiresAt) return <Badge>never</Badge>;
    const left = Date.parse(key.expiresAt) - Date.now();
    return <span title={when(key.expiresAt)}><Badge tone={left < 0 ? 'bad' : left < SOON_MS ? 'warn' : 'good'}>{left < 0 ? 'expired' : ago(key.expiresAt)}</Badge></span>;
  };
  return (
    <>
      <PageHead title="Keys" about="What each program may do, on which indexes and until when." actions={found.data && <Button kind="primary" icon="plus" onClick={() => { isCreating.value = true; }}>Create a key</Button>} />
      <Failure error={error} />
      <Loaded of={found} isEmpty={all => all !== null && all.results.length === 0} empty={<Empty icon="keys" title="There is no key yet." actions={<Button kind="primary" onClick={() => { isCreating.value = true; }}>Create a key</Button>}>Create one key per program, with only the permissions that it needs.</Empty>}>
        {all => all === null
          ? <Empty icon="keys" title="This server has no master key." actions={<CodeBlock label="With a master key" code="lamina serve --master-key …" />}>Without one there are no keys, and anyone who can reach the server has full access.</Empty>
          : <Table label="Keys" rows={all.results} keyOf={key => key.uid} columns={[
            { id: 'name', title: 'Name', grow: true, cell: key => <div><strong dir="auto">{key.name ?? 'unnamed'}</strong>{key.description && <small style={{ display: 'block' }} dir="auto">{key.description}</small>}</div> },
            { id: 'key', title: 'Key', cell: key => <span class="keys-hidden">{key.key.slice(0, 4)}…{key.key.slice(-4)}</span> },
            { id: 'actions', title: 'Permissions', cell: key => <span class="chips keys-may" title={key.actions.join(', ')}>{said(key.actions).map(one => <Chip key={one} tone={one === 'everything' ? 'accent' : undefined}>{one}</Chip>)}</span> },
            { id: 'indexes', title: 'Indexes', cell: key => <span dir="auto">{key.indexes.includes('*') ? 'all' : key.indexes.join(', ')}</span> },
            { id: 'expires', title: 'Expires', cell: state },
            { id: 'more', title: 'More', hideTitle: true, cell: key => <Menu label={`More for ${key.name ?? key.uid}`} items={[
              { title: 'Copy the key', icon: 'copy', onPick: () => take(key) },
              { title: 'Tenant token …', icon: 'keys', off: !key.actions.some(one => one === 'search' || one === '*') && 'This key may not search.', onPick: () => setTenantOf(key) },
              { title: 'Rename …', icon: 'edit', onPick: () => rename(key) },
              { title: 'Delete …', icon: 'trash', danger: true, onPick: () => remove(key) },
            ]} /> },
          ]} />}
      </Loaded>
      {isCreating.value && <Create onClose={() => { isCreating.value = false; }} />}
      {tenantOf && <Tenant of={tenantOf} onClose={() => setTenantOf(null)} />}
    </>
  );
}

export const view: View = {
  id: 'keys', title: 'Keys', group: 'Operate', icon: 'keys', words: 'api tenant tokens rights access', component: Keys,
  actions: () => [{ id: 'create', title: 'Create a key', icon: 'plus', run: () => { go({ view: 'keys' }); isCreating.value = true; } }],
};
