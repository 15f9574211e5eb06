import './rules.css';
import { get, post, Refused, route } from '../../api/client';
import { useResource, useWork } from '../../api/resource';
import { writeAndWait } from '../../api/tasks';
import type { Hit, Json, JsonObject, ListOf } from '../../api/types';
import { asText, titleField } from '../../lib/documents';
import { go, hrefOf, param, setParams } from '../../state/address';
import { orOff, setFeature } from '../../state/features';
import { about, uid } from '../../state/indexes';
import { Badge, Button, Card, Empty, Failure, IconButton, Link, Loaded, PageHead, Segments, Switch, Table } from '../../ui';
import type { View } from '../types';
import { texts } from '../settings/controls';
import { applySettings } from '../settings/draft';
import { isBoost, sayBoost } from '../settings/patch';
import { Editor } from './Editor';
import { bodyOf, draftOf, EMPTY, LAST, say, timeState, type Draft, type Listed, type Pin } from './rule';

const MOST = 1000, TITLES = 200;
export const ruleRoute = (name: string) => route('dynamic-search-rules', name);
const isOfIndex = (draft: Draft, index: string) => draft.pins.length === 0 || draft.pins.some(pin => pin.index === null || pin.index === index);

/** What documents of pins are called, by index and id. */
async function titles(pins: readonly Pin[], index: string, signal: AbortSignal): Promise<Map<string, string>> {
  const wanted = new Map<string, string[]>(), all = new Map<string, string>();
  for (const pin of pins.slice(0, TITLES)) { const of = pin.index ?? index; if (of) wanted.set(of, [...(wanted.get(of) ?? []), pin.id]); }
  await Promise.all([...wanted].map(([name, ids]) => post<ListOf<Hit>>(route('indexes', name, 'documents', 'fetch'), { ids, limit: ids.length }, { signal }).then(found => {
    const key = name === about.peek().uid ? about.peek().primaryKey : null;
    for (const hit of found.results) {
      const id = key ? String(hit[key]) : ids.find(one => Object.values(hit).some(value => String(value) === one)), title = titleField(hit, key, texts(about.peek().settings.searchableAttributes));
      if (id !== undefined && title) all.set(name + '\n' + id, asText(hit[title]).slice(0, 120));
    }
  }).catch(error => { if (!(error instanceof Refused)) throw error; })));
  return all;
}

function Rules() {
  const index = uid.value, isAll = param('all') !== '', opened = param('rule');
  const found = useResource(signal => orOff(post<ListOf<Listed>>('/dynamic-search-rules', { limit: MOST }, { signal })), []);
  const { error, run } = useWork();
  return (
    <>
      <PageHead title="Rules" about={<>Pin documents to fixed positions, or move them to the end, for the queries that you choose. To move many documents up or down by a condition, <Link href={hrefOf({ view: 'settings', params: { group: 'ranking' } })} onGo={() => go({ view: 'settings', params: { group: 'ranking' } })}>add a boost</Link>.</>}
        actions={found.data && index ? <Button kind="primary" icon="plus" onClick={() => setParams({ rule: 'new', pin: null, at: null }, { replace: false })}>Create a rule</Button> : undefined} />
      <Failure error={error} />
      <Loaded of={found}>{rules => rules === null
        ? <Empty icon="rules" title="Rules are turned off." actions={<Button kind="primary" onClick={() => run(() => setFeature('dynamicSearchRules', true))}>Turn rules on</Button>}>Rules are an experimental feature of this server.</Empty>
        : <All all={rules.results} index={index} isAll={isAll} opened={opened} />}</Loaded>
      <Boosts index={index} />
    </>
  );
}

/** What moves documents of every search up and down: it is among the ranking rules, and belongs to what people look for here. */
function Boosts({ index }: { index: string }) {
  const all = (about.value.settings.rankingRules ?? []).filter(isBoost), ranking = { view: 'settings', params: { group: 'ranking' } };
  if (!all.length) return null;
  const remove = (boost: Json) => applySettings(index, before => {
    const rules = before.rankingRules ?? [], at = rules.findIndex(one => JSON.stringify(one) === JSON.stringify(boost));
    return { ...before, rankingRules: rules.filter((_, place) => place !== at) };
  }).catch(() => { /* A message says so. */ });
  return (
    <Card class="rules-boosts" title={`Boosts in every search of ${index}`} actions={<Link href={hrefOf(ranking)} onGo={() => go(ranking)}>Ranking settings</Link>}>
      <ul>{all.map((one, place) => <li key={place}><span class="grow" dir="auto">{sayBoost(one)}</span><IconButton size="s" icon="trash" label={`Delete the boost ${sayBoost(one)}`} onClick={() => remove(one)} /></li>)}</ul>
    </Card>
  );
}

function All({ all, index, isAll, opened }: { all: readonly Listed[]; index: string; isAll: boolean; opened: string }) {
  const drafts = all.map(draftOf).sort((one, other) => (one.precedence ?? Infinity) - (other.precedence ?? Infinity) || 0), here = drafts.filter(one => isOfIndex(one, index)), shown = isAll || !index ? drafts : here;
  const pins = shown.flatMap(one => one.pins), known = useResource(signal => titles(pins, index, signal), [index, JSON.stringify(pins), about.value.state], { keep: true, live: false });
  const titleOf = (pin: Pin) => known.data?.get((pin.index ?? index) + '\n' + pin.id) ?? pin.id;
  const edited = opened === 'new' ? { ...EMPTY, words: param('q'), when: param('pin') && !param('q') ? 'empty' as const : EMPTY.when, pins: param('pin') ? [{ id: param('pin'), index, position: param('at') === 'last' ? LAST : Math.abs(Math.trunc(Number(param('at')))) || 0 }] : [] } : drafts.find(one => one.uid === opened);
  const change = (before: Draft, after: Draft, title: string): Promise<unknown> => writeAndWait('PATCH', ruleRoute(before.uid), { title, undo: () => change(after, before, `Undo: ${title}`) }, { body: bodyOf(after) }).catch(() => { /* A message says so. */ });
  const remove = async ({ uid }: Draft) => {
    // As the server has it: this list may be older, and what has no field here comes back as well.
    const before = await get<JsonObject>(ruleRoute(uid)).then(({ uid: _, lastUpdatedAt: __, ...rule }) => rule, () => null);
    const undo = () => writeAndWait('PATCH', ruleRoute(uid), { title: `Bring the rule ${uid} back` }, { body: before ?? {} }).catch(() => { /* A message says so. */ });
    await writeAndWait('DELETE', ruleRoute(uid), { title: `Delete the rule ${uid}`, done: `The rule ${uid} is deleted`, undo: before ? undo : undefined }).catch(() => { /* A message says so. */ });
  };
  return (
    <div class="stack">
      {index && drafts.length > here.length && <div><Segments label="Which rules" value={isAll ? 'all' : 'here'} options={[{ id: 'here', title: `Of ${index}` }, { id: 'all', title: 'All' }]} onChange={now => setParams({ all: now === 'all' ? '1' : null })} /></div>}
      {shown.length === 0 ? <Empty icon="rules" title={drafts.length ? `No rule applies to ${index}.` : 'There is no rule yet.'} actions={index ? <Button onClick={() => setParams({ rule: 'new', pin: null, at: null }, { replace: false })}>Create a rule</Button> : undefined}>For example: “space ship” → Alien first.</Empty> : (
        <Table label="Rules" rows={shown} keyOf={rule => rule.uid} picked={opened} onPick={rule => setParams({ rule: rule.uid, pin: null, at: null }, { replace: false })} columns={[
          { id: 'rule', title: 'Rule', grow: true, cell: rule => { const { when, then } = say(rule, titleOf); return <span class="sentence"><span dir="auto">{when}</span><span class="arrow" aria-label="then">→</span><strong dir="auto">{then}</strong>{rule.description && <small dir="auto">{rule.description}</small>}</span>; } },
          { id: 'name', title: 'Name', cell: rule => <code>{rule.uid}</code> },
          { id: 'precedence', title: 'Precedence', number: true, cell: rule => rule.precedence ?? '–' },
          { id: 'state', title: 'Status', cell: rule => <span class="row nowrap"><Switch label={rule.active ? 'on' : 'off'} checked={rule.active} onChange={active => void change(rule, { ...rule, active }, `Turn the rule ${rule.uid} ${active ? 'on' : 'off'}`)} />{rule.active && timeState(rule, Date.now()) !== 'now' && <Badge tone="warn">{timeState(rule, Date.now()) === 'over' ? 'expired' : 'scheduled'}</Badge>}</span> },
          { id: 'do', title: 'Actions', hideTitle: true, cell: rule => <IconButton size="s" icon="trash" label={`Delete the rule ${rule.uid}`} onClick={() => remove(rule)} /> },
        ]} />
      )}
      {all.length === MOST && <p class="hint">Only the first {MOST} rules are shown.</p>}
      {opened && opened !== 'new' && !edited && <Empty icon="rules" title={`There is no rule “${opened}”.`} actions={<Button onClick={() => setParams({ rule: null })}>Show all</Button>}>It may have been deleted.</Empty>}
      {edited && index && <Editor key={opened} first={edited} isNew={opened === 'new'} index={index} taken={drafts.map(one => one.uid)} onClose={() => setParams({ rule: null, pin: null, at: null })} />}
    </div>
  );
}

export const view: View = {
  id: 'rules', title: 'Rules', group: 'Relevance', icon: 'rules', words: 'pin merchandise promote featured curation', component: Rules,
  actions: () => uid.value ? [{ id: 'rule', title: 'Create a rule', icon: 'pin', run: () => go({ view: 'rules', params: { rule: 'new' } }) }] : [],
};
