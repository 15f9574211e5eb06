// Experimental features, each with a switch.
import { useState } from 'preact/hooks';
import { get, Refused, request } from '../../api/client';
import { useResource } from '../../api/resource';
import { bump } from '../../api/tasks';
import { toast } from '../../state/toasts';
import { Card, Failure, Loaded, Switch } from '../../ui';

const ABOUT: Record<string, string> = {
  metrics: 'Metrics for Prometheus, at /metrics', chatCompletions: 'Conversations with a language model', dynamicSearchRules: 'Rules that pin documents', containsFilter: 'CONTAINS in filters',
  editDocumentsByFunction: 'Edit documents with a function', tasksStreamingRoute: 'A stream of task events', logsRoute: 'Read logs over HTTP', network: 'Search across several servers', multimodal: 'Images in embedders',
  compositeEmbedders: 'Different embedders for indexing and search', foreignKeys: 'Join documents of another index', getTaskDocumentsRoute: 'The documents of a waiting task', taskQueueCompactionRoute: 'Reclaim the space of deleted tasks', renderRoute: 'Render templates',
};

export function Features() {
  const found = useResource(signal => get<Record<string, boolean>>('/experimental-features', { signal }).catch(error => { if (error instanceof Refused) return null; throw error; }), []);
  const [error, setError] = useState<unknown>(null);
  const set = async (name: string, isOn: boolean) => {
    setError(null);
    try {
      await request('PATCH', '/experimental-features', { body: { [name]: isOn } });
      toast({ tone: 'good', title: `${name} is ${isOn ? 'on' : 'off'}`, undo: () => set(name, !isOn) });
      bump();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Loaded of={found}>{all => all && (
      <Card title="Experimental features">
        {error !== null && <Failure error={error} />}
        <div class="server-features">{Object.entries(all).map(([name, isOn]) => <Switch key={name} label={name} hint={Object.hasOwn(ABOUT, name) ? ABOUT[name] : undefined} checked={isOn} onChange={now => set(name, now)} />)}</div>
      </Card>
    )}</Loaded>
  );
}
