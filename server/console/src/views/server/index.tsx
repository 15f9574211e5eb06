import { get, Refused, replica } from '../../api/client';
import { useResource } from '../../api/resource';
import type { Stats, Version } from '../../api/types';
import { ago, bytes, count } from '../../lib/text';
import { Figure, Figures, Loaded, PageHead } from '../../ui';
import type { View } from '../types';

// What a key may not see is left out.
const orNothing = <T,>(work: Promise<T>) => work.catch(error => { if (error instanceof Refused) return null; throw error; });

function Server() {
  const found = useResource(signal => Promise.all([orNothing(get<Version>('/version', { signal })), get<Stats>('/stats', { signal })]), [], { everyMs: 10_000 });
  return (
    <>
      <PageHead title="Server" about="What it is, what it keeps, and what it does now." />
      <Loaded of={found}>
        {([version, stats]) => (
          <Figures>
            <Figure label="Version" value={version?.pkgVersion ?? '–'} about={version?.commitSha.slice(0, 12)} />
            <Figure label="Database" value={bytes(stats.databaseSize)} />
            <Figure label="Documents" value={count(Object.values(stats.indexes).reduce((all, one) => all + one.numberOfDocuments, 0))} />
            <Figure label="Last change" value={ago(stats.lastUpdate)} />
            {replica.value && <Figure label="Generation" value={replica.value.generation ?? '–'} />}
          </Figures>
        )}
      </Loaded>
    </>
  );
}

export const view: View = { id: 'server', title: 'Server', group: 'Operate', icon: 'server', words: 'metrics memory disk replicas webhooks lag version', component: Server };
