// Addresses that the server tells of finished batches.
import { useState } from 'preact/hooks';
import { atControls, get, orNothing, request, route } from '../../api/client';
import { useResource, useWork } from '../../api/resource';
import { bump } from '../../api/tasks';
import type { ListOf } from '../../api/types';
import { toast } from '../../state/toasts';
import { Badge, Button, Card, confirm, Dialog, Failure, IconButton, Loaded, Table, TextField } from '../../ui';

interface Webhook { uuid: string; isEditable: boolean; url: string; headers: Record<string, string> }

export function Webhooks() {
  const found = useResource(signal => orNothing(get<ListOf<Webhook>>('/webhooks', { query: { limit: 100 }, signal })), []), [isAdding, setAdding] = useState(false), [error, setError] = useState<unknown>(null);
  const remove = async (one: Webhook) => {
    if (!await confirm({ title: 'Delete this webhook?', text: one.url, action: 'Delete it', danger: true })) return;
    setError(null);
    await request('DELETE', route('webhooks', one.uuid)).then(() => { toast({ tone: 'good', title: 'The webhook is deleted' }); bump(); }, setError);
  };
  return (
    <Loaded of={found}>{all => all && (
      <Card title="Webhooks" flush={all.results.length > 0} actions={<Button size="s" icon="plus" onClick={() => setAdding(true)}>Add</Button>}>
        <Failure error={error} />
        {all.results.length === 0 ? <p class="muted">No webhooks. The server can notify an address of each finished batch.</p> : <Table label="Webhooks" rows={all.results} keyOf={one => one.uuid} columns={[
          { id: 'url', title: 'Address', grow: true, cell: one => <span dir="auto">{one.url}</span> },
          { id: 'headers', title: 'Headers', cell: one => Object.keys(one.headers).join(', ') || 'none' },
          { id: 'delete', title: 'Delete', hideTitle: true, cell: one => one.isEditable ? <IconButton size="s" icon="trash" label={`Delete the webhook ${one.url}`} onClick={() => remove(one)} /> : <Badge>launch option</Badge> },
        ]} />}
        {isAdding && <Add onClose={() => setAdding(false)} />}
      </Card>
    )}</Loaded>
  );
}

function Add({ onClose }: { onClose: () => void }) {
  const [url, setUrl] = useState(''), [name, setName] = useState(''), [value, setValue] = useState(''), { busy, error, run } = useWork();
  const wrong = atControls(error, { url: ['invalid_webhook_url', 'missing_webhook_url'], header: ['invalid_webhook_headers', 'invalid_webhooks_headers'] });
  const add = () => run(async () => {
    await request('POST', '/webhooks', { body: { url, ...(name ? { headers: { [name]: value } } : {}) } });
    toast({ tone: 'good', title: 'The webhook is added' });
    bump();
    onClose();
  });
  return (
    <Dialog title="Add a webhook" onClose={onClose} actions={<><Button onClick={onClose}>Cancel</Button><Button kind="primary" busy={busy} off={!url && 'Enter the address first.'} onClick={add}>Add</Button></>}>
      <TextField label="Address" type="url" value={url} onInput={setUrl} error={wrong.url} hint="Receives the tasks of each finished batch as NDJSON." onEnter={add} />
      <TextField label="Header (optional)" value={name} onInput={setName} placeholder="Authorization" error={wrong.header} />
      {name && <TextField label="Value of the header" type="password" value={value} onInput={setValue} />}
      <Failure error={wrong.rest} />
    </Dialog>
  );
}
