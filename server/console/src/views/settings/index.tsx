import { get, route } from '../../api/client';
import { useResource } from '../../api/resource';
import type { Json, Settings } from '../../api/types';
import { uid } from '../../state/indexes';
import { Card, JsonView, Loaded, PageHead } from '../../ui';
import type { View } from '../types';

function SettingsView() {
  const index = uid.value;
  const found = useResource(signal => get<Settings>(route('indexes', index, 'settings'), { signal }), [index]);
  return (
    <>
      <PageHead title="Settings" about={<>How <strong>{index}</strong> is searched.</>} />
      <Loaded of={found} lines={12}>
        {settings => <div class="grid">{Object.entries(settings).map(([name, value]) => <Card key={name} title={name}><JsonView value={value as Json} /></Card>)}</div>}
      </Loaded>
    </>
  );
}

export const view: View = { id: 'settings', title: 'Settings', group: 'Relevance', icon: 'settings', needsIndex: true, words: 'facets ranking embedders typo filterable sortable', component: SettingsView };
