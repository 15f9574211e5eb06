import './settings.css';
import { useEffect, useState } from 'preact/hooks';
import { get, route } from '../../api/client';
import { useResource } from '../../api/resource';
import type { Json, Settings } from '../../api/types';
import { fits } from '../../lib/fuzzy';
import { param, setParams, go } from '../../state/address';
import { uid } from '../../state/indexes';
import { Badge, Button, Empty, IconButton, Loaded, PageHead, Tabs, TextField } from '../../ui';
import type { View } from '../types';
import { DraftBar } from './Bar';
import { hasJson, SettingControl } from './controls';
import { change, draftOf, leaveOut, refusal } from './draft';
import { History } from './History';
import { groupsOf, loadMeta, meta, titleOfSetting } from './known';
import { over } from './patch';

/** Settings that are shown only while their feature is on are not offered without it. */
const BY_FEATURE = ['foreignKeys', 'chat'];

function SettingsView() {
  const index = uid.value, isHistory = param('history') !== '', words = param('s');
  const found = useResource(signal => get<Settings>(route('indexes', index, 'settings'), { signal }), [index]);
  useEffect(() => { void loadMeta(); }, []);
  return (
    <>
      <PageHead title="Settings" about={<>How <strong dir="auto">{index}</strong> is searched. Changes take effect when you apply them.</>} actions={<>
        <div class="settings-find"><TextField label="Find a setting" hideLabel type="search" isSearch placeholder="Find a setting" value={words} onInput={now => setParams({ s: now })} /></div>
        <Button icon="clock" onClick={() => setParams({ history: '1' })}>History</Button></>} />
      <Loaded of={found} lines={12}>{settings => <All index={index} settings={settings} />}</Loaded>
      {isHistory && <History index={index} onClose={() => setParams({ history: null })} />}
    </>
  );
}

function All({ index, settings }: { index: string; settings: Settings }) {
  const names = Object.keys({ ...meta.value, ...settings }).filter(name => !BY_FEATURE.includes(name) || name in settings), draft = draftOf(index), words = param('s').trim();
  const groups = groupsOf(names), group = groups.find(one => one.id === param('group')) ?? groups[0], refused = refusal.value?.index === index ? refusal.value.name : undefined;
  useEffect(() => {
    const at = groups.find(one => refused && one.names.includes(refused));
    if (!at) return;
    setParams({ group: at.id, s: null });
    setTimeout(() => document.getElementById('setting-' + refused)?.scrollIntoView({ block: 'center' }));
  }, [refused]);
  const row = (name: string) => <Row key={index + name} index={index} name={name} settings={settings} />;
  const hits = words ? groups.flatMap(one => one.names).filter(name => Math.max(fits(titleOfSetting(name), words), fits(name, words)) > 0 || (meta.value[name]?.about ?? '').toLowerCase().includes(words.toLowerCase())) : [];
  return (
    <>
      {words ? (hits.length ? <div class="settings">{hits.map(row)}</div> : <Empty title={`No setting matches “${words}”`} actions={<Button onClick={() => setParams({ s: null })}>Show all</Button>} />) : (
        <Tabs label="Groups of settings" value={group?.id ?? ''} options={groups.map(one => { const changed = one.names.filter(name => name in draft).length; return { id: one.id, title: one.title, ...(changed ? { count: changed } : {}) }; })} onChange={id => setParams({ group: id })}>
          <div class="settings">{group?.names.map(row)}</div>
        </Tabs>
      )}
      <DraftBar index={index} settings={settings} />
    </>
  );
}

function Row({ index, name, settings }: { index: string; name: string; settings: Settings }) {
  const [asJson, setAsJson] = useState(false), draft = draftOf(index), isChanged = name in draft, known = meta.value[name], all = over(settings, draft);
  const refused = refusal.value, error = refused?.index === index && refused.name === name && refused.error instanceof Error ? refused.error.message : null;
  const title = titleOfSetting(name);
  return (
    <section class="setting" id={'setting-' + name} aria-label={title}>
      <header>
        <div class="row"><h2>{title}</h2>{isChanged && <Badge tone="accent">changed</Badge>}</div>
        <p class="muted">{known?.about}</p>
        <p class="row"><code>{name}</code>
          {isChanged && <IconButton size="s" icon="undo" label={`Revert ${title}`} onClick={() => leaveOut(index, name)} />}
          {hasJson(name) && <IconButton size="s" icon="braces" label={asJson ? `${title} as a form` : `${title} as JSON`} aria-pressed={asJson} onClick={() => setAsJson(!asJson)} />}</p>
      </header>
      <div><SettingControl index={index} name={name} label={title} value={all[name] as Json | undefined} settings={all} error={error} asJson={asJson} onChange={value => change(index, settings, name, value)} /></div>
    </section>
  );
}

export const view: View = {
  id: 'settings', title: 'Settings', group: 'Relevance', icon: 'settings', needsIndex: true, words: 'facets ranking embedders typo filterable sortable history', component: SettingsView,
  actions: () => uid.value ? [
    { id: 'embedder', title: 'Add an embedder', icon: 'star', run: () => go({ view: 'settings', params: { group: 'meaning' } }) },
    { id: 'history', title: 'Show the history of the index', icon: 'clock', run: () => go({ view: 'settings', params: { history: '1' } }) },
  ] : [],
};
