import '../settings/settings.css';
import './compare.css';
import { useEffect, useState } from 'preact/hooks';
import { isAborted, Refused } from '../../api/client';
import { useResource, useWork } from '../../api/resource';
import type { Hit, SearchAnswer, SearchQuery, Settings } from '../../api/types';
import { titleOf } from '../../lib/documents';
import { plural } from '../../lib/text';
import { go, hrefOf, param, setParams } from '../../state/address';
import { about, known, uid } from '../../state/indexes';
import { recentOf } from '../../state/recent';
import { search } from '../../state/trials';
import { Badge, Button, Chip, Combobox, copy, Dialog, Empty, Failure, Icon, IconButton, Link, Loaded, Loading, Menu, PageHead } from '../../ui';
import { toast } from '../../state/toasts';
import { costOfNames, Difference } from '../settings/Bar';
import { texts } from '../settings/controls';
import { applySettings } from '../settings/draft';
import { loadMeta, meta } from '../settings/known';
import { patchOf, over, settingOf } from '../settings/patch';
import type { View } from '../types';
import { graded, gradeIn, judgedOf, judgementsOf, keep } from './judgements';
import { Measure, type Way } from './Measured';
import { SideForm } from './SideForm';
import { appliedOf, movedTo, NONE, parametersOf, sayOf, sideOf, textOf, type Side } from './sides';
import { useTrial, type Trial } from './trial';

const SHOWN = 10, NAMES = ['A', 'B'] as const, PARAMS = ['a', 'b'] as const;
/** What is compared at first: the index as it is, with words that may all be missing. */
const FIRST = '{"strategy":"any"}';

type Found = { answer: SearchAnswer; error?: undefined } | { answer?: undefined; error: unknown };

function Compare() {
  const index = uid.value, { settings, primaryKey, state, uid: loaded } = about.value;
  useEffect(() => { void loadMeta(); }, []);
  return (
    <>
      <PageHead title="Compare" about="Run the same query with two configurations. Settings are tried on a clone; the index does not change until you apply them."
        actions={<Button icon="compare" onClick={() => setParams({ a: param('b') || FIRST, b: param('a') || '{}' })}>Swap sides</Button>} />
      {state === 'loading' || loaded !== index ? <Loading lines={8} /> : <Experiment key={index} index={index} settings={settings} primaryKey={primaryKey} />}
    </>
  );
}

function Experiment({ index, settings, primaryKey }: { index: string; settings: Settings; primaryKey: string | null }) {
  const q = param('q'), [isOpen, setOpen] = useState([false, false]), [applied, setApplied] = useState<0 | 1 | null>(null);
  const sides: [Side, Side] = [sideOf(param('a')), sideOf(param('b') || FIRST)], put = (place: 0 | 1, side: Side) => setParams({ [PARAMS[place]]: textOf(side) || '{}' });
  const at = known.value.list.find(one => one.uid === index)?.updatedAt ?? '';
  const trials: [Trial, Trial] = [useTrial(index, at, settings, sides[0].settings), useTrial(index, at, settings, sides[1].settings)];
  const asked = sides.map((side, place): [string, SearchQuery] => [trials[place as 0 | 1].uid, { q, limit: SHOWN, showRankingScore: true, ...parametersOf(side) }]);
  const found = useResource(signal => Promise.all(asked.map(([name, query]): Promise<Found> => search<SearchAnswer>(name, query, signal).then(answer => ({ answer }), error => {
    if (isAborted(error) || !(error instanceof Refused)) throw error;
    return { error };
  }))), [JSON.stringify(asked), trials[0].version, trials[1].version], { keep: true });
  const judged = judgementsOf(index), queries = [...new Set([...judged.map(one => one.q), ...recentOf(index)])].filter(Boolean);
  const idOf = (hit: Hit) => primaryKey ? String(hit[primaryKey]) : '';
  const ids = found.data?.map(one => one.answer?.hits.map(idOf) ?? []) ?? [[], []];
  const judge = (id: string, grade: number | null) => keep(index, graded(judgementsOf(index), q, id, grade));
  const ways: [Way, Way] = [0, 1].map(place => ({ uid: trials[place as 0 | 1].uid, parameters: parametersOf(sides[place as 0 | 1]), title: NAMES[place as 0 | 1] })) as [Way, Way];
  return (
    <div class="stack">
      <Combobox label="Query" hideLabel free isSearch placeholder={`Search ${index}`} value={q} options={queries.map(value => ({ value, about: judgedOf(judged, value) ? 'judged' : undefined }))} onInput={now => setParams({ q: now })} onChange={now => setParams({ q: now })} />
      <div class="sides">
        {([0, 1] as const).map(place => {
          const side = sides[place], said = sayOf(side), one = found.data?.[place], trial = trials[place];
          const refused = trial.error ?? one?.error, name = refused instanceof Refused ? settingOf(refused.code, Object.keys({ ...meta.value, ...side.settings })) ?? (refused.code === 'invalid_search_matching_strategy' ? 'matchingStrategy' : undefined) : undefined;
          const error = refused instanceof Error ? { name, text: refused.message } : null;
          return (
            <section class="side card" key={place} aria-label={'Side ' + NAMES[place]}>
              <header>
                <div class="row grow"><i class={'dot ' + (place ? 'b' : 'a')} aria-hidden="true" /><h2>{NAMES[place]}</h2>{said.length ? <span class="chips">{said.slice(0, 6).map(text => <Chip key={text} tone="accent">{text}</Chip>)}{said.length > 6 && <span class="muted">and {said.length - 6} more</span>}</span> : <span class="muted">current settings</span>}</div>
                <div class="row">
                  <Button icon="settings" size="s" aria-expanded={isOpen[place]} onClick={() => setOpen(isOpen.map((now, other) => other === place ? !now : now))}>{isOpen[place] ? 'Close' : `Change ${NAMES[place]}`}</Button>
                  <Menu label={`More of ${NAMES[place]}`} items={[
                    ...presets(settings).map(([title, preset]) => ({ title, onPick: () => put(place, preset) })),
                    { title: 'Copy as parameters', icon: 'copy', onPick: async () => { if (await copy(JSON.stringify(parametersOf(side)))) toast({ tone: 'good', title: 'Copied' }); } },
                    { title: `Apply to ${index}`, icon: 'check', off: Object.keys(appliedOf(side, settings)).length === 0 && 'It changes no setting.', onPick: () => setApplied(place) },
                  ]} />
                </div>
              </header>
              {isOpen[place] ? <SideForm index={index} side={side} settings={settings} onChange={now => put(place, now)} error={error} />
                : <div class="side-rest">{refused !== undefined ? <Failure error={refused} /> : isOpen[1 - place] && <p class="muted">{said.length ? 'Searches with the changes above.' : 'Searches with the current settings.'}</p>}</div>}
              <div class="side-found"><p class="muted side-about" role="status">{trial.busy ? 'Trying the settings on a clone …' : one?.answer ? `${plural(one.answer.totalHits ?? one.answer.estimatedTotalHits ?? 0, 'hit')} in ${one.answer.processingTimeMs} ms` : ''}{trial.uid !== index && !trial.busy && ' · on a clone'}</p>
              {one?.answer?.hits.length === 0 && <Empty title={q ? `No results for “${q}”` : 'No results'} />}
              {!one && found.error === undefined && <Loading lines={16} />}
              <ol class="side-hits">{one?.answer?.hits.map((hit, rank) => <SideHit key={idOf(hit) || rank} hit={hit} rank={rank} id={idOf(hit)} primaryKey={primaryKey} order={texts(settings.searchableAttributes)} other={ids[1 - place]?.indexOf(idOf(hit)) ?? -1} grade={gradeIn(judgedOf(judged, q), idOf(hit))} onGrade={grade => judge(idOf(hit), grade)} q={q} index={index} />)}</ol></div>
            </section>
          );
        })}
      </div>
      {found.error !== undefined && <Loaded of={found}>{() => null}</Loaded>}
      {primaryKey && <Measure index={index} primaryKey={primaryKey} ways={ways} off={trials.some(one => one.busy) && 'The settings are being tried.'} onApply={setApplied} />}
      {applied !== null && <Apply index={index} side={sides[applied]} name={NAMES[applied]} settings={settings} onClose={() => setApplied(null)} onDone={() => put(applied, { ...(sides[applied].embedder ? { embedder: sides[applied].embedder, ratio: sides[applied].ratio } : {}), settings: {} })} />}
    </div>
  );
}

function presets(settings: Settings): [string, Side][] {
  const embedder = Object.keys(settings.embedders ?? {})[0];
  return [['Current settings', NONE], ['All words', { strategy: 'all', settings: {} }], ['Any word, for questions', { strategy: 'any', settings: {} }], ['Frequent words optional', { strategy: 'frequency', settings: {} }],
    ...(embedder ? [['Words and meaning', { embedder, ratio: 0.5, settings: {} }], ['Meaning alone', { embedder, ratio: 1, settings: {} }]] as [string, Side][] : [])];
}

interface SideHitProps { hit: Hit; rank: number; id: string; primaryKey: string | null; order: readonly string[]; other: number; grade: number | undefined; onGrade: (grade: number | null) => void; q: string; index: string }
function SideHit({ hit, rank, id, primaryKey, order, other, grade, onGrade, q, index }: SideHitProps) {
  const text = titleOf(hit, primaryKey, order).slice(0, 200), moved = movedTo(rank, other);
  const pin = { view: 'rules', params: { rule: 'new', pin: id, q } };
  return (
    <li class={grade === undefined ? '' : grade > 0 ? 'is-good' : 'is-bad'}>
      <span class="rank">{rank + 1}</span>
      <span class="grow"><span dir="auto" class="hit-title">{text}</span> <small>{id}</small></span>
      {moved && <Badge tone={moved.tone}><span aria-hidden="true">{moved.text}</span><span class="unseen">{moved.say}</span></Badge>}
      {grade !== undefined && <Badge tone={grade > 0 ? 'good' : 'bad'}>{grade > 0 ? <><span class="unseen">grade </span>{grade}</> : 'not relevant'}</Badge>}
      {id && <span class="thumbs">
        <IconButton size="s" icon="thumbUp" label={`Relevant to “${q}”: ${text.slice(0, 60)}`} aria-pressed={(grade ?? 0) > 0} onClick={() => onGrade((grade ?? 0) > 0 ? null : 1)} />
        <IconButton size="s" icon="thumbDown" label={`Not relevant to “${q}”: ${text.slice(0, 60)}`} aria-pressed={grade === 0} onClick={() => onGrade(grade === 0 ? null : 0)} />
        {q && <Link class="button quiet small only-icon" href={hrefOf({ index, ...pin })} onGo={() => go(pin)}><span class="unseen">Pin {text.slice(0, 60)} by a rule</span><Icon name="pin" /></Link>}
      </span>}
    </li>
  );
}

function Apply({ index, side, name, settings, onClose, onDone }: { index: string; side: Side; name: string; settings: Settings; onClose: () => void; onDone: () => void }) {
  const { busy, error, run } = useWork(), wanted = appliedOf(side, settings), names = Object.keys(patchOf(settings, over(settings, wanted))), cost = costOfNames(names);
  const apply = () => run(async () => {
    await applySettings(index, before => over(before, appliedOf(side, before)));
    onDone();
    onClose();
  });
  return (
    <Dialog title={`Apply ${name} to ${index}`} size="l" onClose={onClose} actions={<><Button onClick={onClose}>Cancel</Button><Button kind="primary" busy={busy} off={!names.length && 'The index has these settings already.'} onClick={apply}>Apply {plural(names.length, 'change')}</Button></>}>
      <Failure error={error} />
      <p>Cost: <span class={cost.isFree ? 'good-text' : 'warn-text'}>{cost.text}</span>. You can undo it.</p>
      {names.map(one => <Difference key={one} name={one} before={settings[one]} after={wanted[one]} />)}
      {side.embedder && <p class="note">The semantic ratio is a parameter of each search, not a setting. Send it with your searches: <code>{JSON.stringify({ hybrid: parametersOf(side).hybrid })}</code></p>}
    </Dialog>
  );
}

export const view: View = { id: 'compare', title: 'Compare', group: 'Relevance', icon: 'compare', needsIndex: true, words: 'experiment evaluate ndcg judged measure judgements', component: Compare };
