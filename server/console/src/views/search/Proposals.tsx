// Three settings that the documents suggest, each a click. They stand above the hits until they are taken or put away.
import { get, route } from '../../api/client';
import { useResource } from '../../api/resource';
import { writeAndWait } from '../../api/tasks';
import type { JsonObject, ListOf, Settings } from '../../api/types';
import { signal } from '@preact/signals';
import { useLayoutEffect, useState } from 'preact/hooks';
import { about } from '../../state/indexes';
import { preference } from '../../state/preferences';
import { toast } from '../../state/toasts';
import { Button, Failure, IconButton } from '../../ui';
import { proposalsOf, type Proposal } from './proposals';

const LOOKED_AT = 200, WAIT_MS = 300;
/** The index of which it is known what stands above its hits: until then they would be pushed down. */
export const settled = signal('');
const putAway = preference<string[]>('search.proposals', []);

export function Proposals({ index }: { index: string }) {
  const isHidden = putAway.value.includes(index), { settings, primaryKey, stats } = about.value;
  const found = useResource(signal => isHidden ? Promise.resolve(null) : get<ListOf<JsonObject>>(route('indexes', index, 'documents'), { query: { limit: LOOKED_AT }, signal }).catch(() => null), [index, isHidden, stats?.numberOfDocuments ?? 0], { live: false });
  const isKnown = !found.loading && about.value.state !== 'loading';
  useLayoutEffect(() => {
    const settle = () => { settled.value = index; };
    if (isKnown) return settle();
    const timer = setTimeout(settle, WAIT_MS);
    return () => clearTimeout(timer);
  }, [index, isKnown]);
  useLayoutEffect(() => () => { settled.value = ''; }, []);
  const [busy, setBusy] = useState(''), [error, setError] = useState<unknown>(null);
  if (isHidden || !found.data || about.value.state !== 'ready' || settings.searchableAttributes === undefined) return null;
  const all = proposalsOf(found.data.results, settings, primaryKey);
  if (!all.length) return null;
  const apply = async (chosen: readonly Proposal[]) => {
    const before = about.peek().settings, now: Settings = { ...before };
    const change: Partial<Settings> = {};
    for (const one of chosen) { const part = one.change({ ...now, ...change }); Object.assign(change, part); }
    const undone = Object.fromEntries(Object.keys(change).map(name => [name, before[name] ?? null]));
    setBusy(chosen.length > 1 ? 'all' : chosen[0]?.id ?? '');
    setError(null);
    try {
      await writeAndWait('PATCH', route('indexes', index, 'settings'), {
        title: chosen.length > 1 ? 'Apply the suggestions' : chosen[0]?.action ?? '', done: chosen.length > 1 ? 'The settings are applied' : `Done: ${chosen[0]?.action.toLowerCase()}`,
        undo: () => writeAndWait('PATCH', route('indexes', index, 'settings'), { title: 'Settings as before' }, { body: undone }).catch(() => {}),
      }, { body: change });
    } catch (failure) { setError(failure); } finally { setBusy(''); }
  };
  const hide = () => {
    putAway.value = [...putAway.value, index];
    toast({ title: 'The suggestions are dismissed', undo: () => { putAway.value = putAway.value.filter(one => one !== index); } });
  };
  const off = busy !== '' && 'A change is under way.';
  return (
    <section class="proposals" aria-label="Suggestions">
      <header><h2>Suggested by your data</h2>
        <span class="row">{all.length > 1 && <Button size="s" kind="primary" busy={busy === 'all'} off={off} onClick={() => apply(all)}>Apply all {all.length}</Button>}<IconButton size="s" icon="close" label="Dismiss the suggestions" onClick={hide} /></span></header>
      <Failure error={error} />
      <ul>{all.map(one => <li key={one.id}><div><strong dir="auto">{one.title}</strong><small dir="auto">{one.about}</small></div><Button size="s" busy={busy === one.id} off={off} onClick={() => apply([one])}>{one.action}</Button></li>)}</ul>
    </section>
  );
}
