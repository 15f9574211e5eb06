// Experimental features, each with a switch.
import { get, orNothing } from '../../api/client';
import { useResource, useWork } from '../../api/resource';
import { setFeature } from '../../state/features';
import { Card, Failure, Loaded, Switch } from '../../ui';

const ABOUT: Record<string, string> = {
  metrics: 'Metrics for Prometheus, at /metrics', chatCompletions: 'Conversations with a language model', dynamicSearchRules: 'Rules that pin documents', containsFilter: 'CONTAINS in filters',
  editDocumentsByFunction: 'Edit documents with a function', tasksStreamingRoute: 'A stream of task events', logsRoute: 'Read logs over HTTP', network: 'Search across several servers', multimodal: 'Images in embedders',
  compositeEmbedders: 'Different embedders for indexing and search', foreignKeys: 'Join documents of another index', getTaskDocumentsRoute: 'The documents of a waiting task', taskQueueCompactionRoute: 'Reclaim the space of deleted tasks', renderRoute: 'Render templates',
};

export function Features() {
  const found = useResource(signal => orNothing(get<Record<string, boolean>>('/experimental-features', { signal })), []);
  const { error, run } = useWork();
  return (
    <Loaded of={found}>{all => all && (
      <Card title="Experimental features">
        <Failure error={error} />
        <div class="server-features">{Object.entries(all).map(([name, isOn]) => <Switch key={name} label={name} hint={Object.hasOwn(ABOUT, name) ? ABOUT[name] : undefined} checked={isOn} onChange={now => run(() => setFeature(name, now))} />)}</div>
      </Card>
    )}</Loaded>
  );
}
