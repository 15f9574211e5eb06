// "3 changes · cost: none": what people have prepared, how it differs, what it would do, and that it is done.
import { useEffect, useState } from 'preact/hooks';
import { post, route } from '../../api/client';
import type { Hit, SearchAnswer, Settings } from '../../api/types';
import { messageOf, plural } from '../../lib/text';
import { go } from '../../state/address';
import { about } from '../../state/indexes';
import { recentOf } from '../../state/recent';
import { carryOut, cloneOf, dropTrial } from '../../state/trials';
import { Badge, Button, Dialog, Empty, Failure, IconButton, Table } from '../../ui';
import { applyDraft, discard, draftOf, leaveOut, refusal } from './draft';
import { loadMeta, meta, titleOfSetting } from './known';
import { costOf, linesOf, over, patchOf } from './patch';

export const costOfNames = (names: readonly string[]) => costOf(names.map(name => meta.value[name]?.cost));

export function DraftBar({ index, settings }: { index: string; settings: Settings }) {
  const [isOpen, setOpen] = useState(false), [busy, setBusy] = useState(false);
  const draft = draftOf(index), names = Object.keys(draft), cost = costOfNames(names), refused = refusal.value?.index === index ? refusal.value : null;
  useEffect(() => { void loadMeta(); }, []);
  const apply = async () => {
    setBusy(true);
    await applyDraft(index);
    setBusy(false);
    setOpen(false);
  };
  if (!names.length) return null;
  return (
    <>
      <section class="draft-bar" aria-label="Pending changes">
        {refused && <Failure error={refused.name ? `${titleOfSetting(refused.name)}: ${messageOf(refused.error)}` : refused.error} />}
        <div class="row spread">
          <span role="status"><strong>{plural(names.length, 'change')}</strong> · cost: <span class={cost.isFree ? 'good-text' : 'warn-text'}>{cost.text}</span></span>
          <span class="row">
            <Button kind="quiet" onClick={() => discard(index)}>Discard</Button>
            <Button onClick={() => setOpen(true)}>Review</Button>
            <Button kind="primary" busy={busy} onClick={apply}>Apply</Button>
          </span>
        </div>
      </section>
      {isOpen && (
        <Dialog title={`Changes to ${index}`} size="l" onClose={() => setOpen(false)} actions={<><Button onClick={() => setOpen(false)}>Keep editing</Button><Button kind="primary" busy={busy} onClick={apply}>Apply {plural(names.length, 'change')}</Button></>}>
          {names.map(name => <Difference key={name} name={name} before={settings[name]} after={draft[name]} onLeaveOut={() => { leaveOut(index, name); if (names.length === 1) setOpen(false); }} />)}
          <WhatChanges index={index} settings={settings} draft={draft} />
        </Dialog>
      )}
    </>
  );
}

export function Difference({ name, before, after, onLeaveOut }: { name: string; before: unknown; after: unknown; onLeaveOut?: () => void }) {
  const lines = linesOf(before, after), cost = meta.value[name]?.cost;
  return (
    <section class="difference">
      <header class="row spread"><h3>{titleOfSetting(name)} <code>{name}</code></h3><span class="row">{cost && <Badge tone={cost.startsWith('none') ? 'good' : 'warn'}>{cost.startsWith('none') ? 'immediate' : cost}</Badge>}
        {onLeaveOut && <IconButton size="s" icon="undo" label={`Revert ${titleOfSetting(name)}`} onClick={onLeaveOut} />}</span></header>
      <pre class="diff" tabIndex={0} aria-label={`Difference of ${name}`}>{lines.length === 0 ? 'Reset to the default' : lines.slice(0, 400).map((line, place) => <div key={place} class={{ '+': 'added', '-': 'removed', ' ': '' }[line.sign]}>{line.sign} {line.text}</div>)}</pre>
    </section>
  );
}

export interface Moved { q: string; found: number; foundNow: number; added: string[]; gone: string[]; isOther: boolean }
/** What is new and gone among the first hits of a query. */
export function movedIn(q: string, before: { ids: readonly string[]; total: number }, after: { ids: readonly string[]; total: number }): Moved {
  return {
    q, found: before.total, foundNow: after.total, added: after.ids.filter(id => !before.ids.includes(id)), gone: before.ids.filter(id => !after.ids.includes(id)),
    isOther: before.total !== after.total || before.ids.join('\n') !== after.ids.join('\n'),
  };
}

const TRIED = 40, SHOWN = 10, AT_ONCE = 20;
async function tryOn(index: string, trial: string, queries: readonly string[], primaryKey: string): Promise<Moved[]> {
  const all: Moved[] = [];
  for (let from = 0; from < queries.length; from += AT_ONCE) {
    const some = queries.slice(from, from + AT_ONCE), body = { queries: some.flatMap(q => [index, trial].map(indexUid => ({ indexUid, q, limit: SHOWN, attributesToRetrieve: [primaryKey] }))) };
    const { results } = await post<{ results: SearchAnswer[] }>('/multi-search', body);
    const seen = (answer: SearchAnswer | undefined) => ({ ids: answer?.hits.map((hit: Hit) => String(hit[primaryKey])) ?? [], total: answer?.estimatedTotalHits ?? 0 });
    some.forEach((q, place) => all.push(movedIn(q, seen(results[place * 2]), seen(results[place * 2 + 1]))));
  }
  return all;
}

/** The queries of late, with the changes and without them. */
export function WhatChanges({ index, settings, draft }: { index: string; settings: Settings; draft: Settings }) {
  const [state, setState] = useState<{ for: string; found?: Moved[]; error?: unknown } | null>(null), [busy, setBusy] = useState(false);
  const queries = recentOf(index).slice(0, TRIED), primaryKey = about.value.primaryKey, body = patchOf(settings, over(settings, draft)), sent = JSON.stringify(body);
  const off = !queries.length ? 'Run some searches first: changes are tried on your recent queries.' : !primaryKey ? 'This index has no documents yet.' : !Object.keys(body).length && 'There are no changes yet.';
  const run = async () => {
    if (!primaryKey) return;
    setBusy(true);
    let trial = '';
    try {
      trial = await cloneOf(index);
      await carryOut('PATCH', route('indexes', trial, 'settings'), body);
      setState({ for: sent, found: await tryOn(index, trial, queries, primaryKey) });
    } catch (error) {
      setState({ for: sent, error });
    } finally {
      if (trial) void dropTrial(trial);
      setBusy(false);
    }
  };
  const shown = state?.for === sent ? state : null, other = shown?.found?.filter(one => one.isOther) ?? [];
  return (
    <section class="stack tight">
      <div class="row spread">
        <h3>Effect on recent queries</h3>
        <Button icon="eye" busy={busy} off={off} onClick={run}>{queries.length ? `Try on ${plural(queries.length, 'recent query')}` : 'Try on recent queries'}</Button>
      </div>
      {off && <p class="hint">{off}</p>}
      {!off && !shown && <p class="hint">Applies the changes to a temporary clone of the index.{costOfNames(Object.keys(draft)).isFree ? '' : ' These changes take a while there, too.'}</p>}
      <Failure error={shown?.error} />
      {shown?.found && (other.length === 0 ? <p role="status">The first {SHOWN} hits of {plural(shown.found.length, 'query')} stay the same.</p> : (
        <>
          <p role="status">{other.length} of {plural(shown.found.length, 'query')} would change.</p>
          <Table label="Queries that would change" rows={other} keyOf={one => one.q} columns={[
            { id: 'q', title: 'Query', grow: true, cell: one => <button type="button" class="plain" dir="auto" onClick={() => go({ view: 'compare', params: { q: one.q } })}>{one.q}</button> },
            { id: 'hits', title: 'Hits', number: true, cell: one => one.found === one.foundNow ? String(one.found) : `${one.found} → ${one.foundNow}` },
            { id: 'first', title: `First ${SHOWN}`, cell: one => one.added.length || one.gone.length ? `${one.added.length} new, ${one.gone.length} gone` : 'reordered' },
          ]} />
        </>
      ))}
      {shown?.found?.length === 0 && <Empty title="No query was tried" />}
    </section>
  );
}
