// Both sides measured with judged queries: figures, whether chance could make them, and each query as a dumbbell.
import { useState } from 'preact/hooks';
import { post } from '../../api/client';
import type { JsonObject, SearchAnswer, SearchQuery } from '../../api/types';
import { save as saveFile } from '../../lib/files';
import { messageOf, plural } from '../../lib/text';
import { setParams } from '../../state/address';
import { Badge, Button, Card, Dialog, Empty, Failure, Figure, Figures, Icon, Switch, TextArea } from '../../ui';
import { toast } from '../../state/toasts';
import { judgementsOf, keep } from './judgements';
import { compare, DEPTH, interval, mean, measuresOf, P_MOST, readJudged, writeJudged, type Judgement, type Measures } from './measures';

export interface Way { uid: string; parameters: SearchQuery; title: string }
interface Outcome { q: string; sides: [Measures, Measures] }
const AT_ONCE = 25, ENDS = 5;

async function measure(ways: readonly [Way, Way], judged: readonly Judgement[], primaryKey: string, onStep: (done: number) => void): Promise<Outcome[]> {
  const all: Outcome[] = [];
  for (let from = 0; from < judged.length; from += AT_ONCE) {
    onStep(from);
    const some = judged.slice(from, from + AT_ONCE), queries = some.flatMap(one => ways.map(way => ({ ...way.parameters, ...one.search, q: one.q, limit: DEPTH, indexUid: way.uid, attributesToRetrieve: [primaryKey] })));
    const { results } = await post<{ results: SearchAnswer[] }>('/multi-search', { queries });
    some.forEach((one, place) => {
      const of = (side: number) => measuresOf(one.relevant, results[place * 2 + side]?.hits.map(hit => String((hit as JsonObject)[primaryKey])) ?? [], DEPTH, one.unjudged);
      all.push({ q: one.q, sides: [of(0), of(1)] });
    });
  }
  return all;
}

const signed = (value: number, digits = 3) => (value > 0 ? '+' : value < 0 ? '−' : '±') + Math.abs(value).toFixed(digits);
const MEASURES: readonly [keyof Measures, string][] = [['ndcg', `nDCG@${DEPTH}`], ['mrr', 'MRR'], ['recall', `Recall@${DEPTH}`], ['precision', `P@${DEPTH}`]];

export function Measure({ index, primaryKey, ways, off, onApply }: { index: string; primaryKey: string; ways: readonly [Way, Way]; off: string | false; onApply: (side: 0 | 1) => void }) {
  const judged = judgementsOf(index), [isEdited, setEdited] = useState(false), [state, setState] = useState<{ for: string; found?: Outcome[]; error?: unknown } | null>(null), [done, setDone] = useState<number | null>(null);
  const sent = JSON.stringify([index, ways, judged]), why = off || (!judged.length && 'Judge some hits first, with thumbs up and thumbs down.');
  const run = async () => {
    setDone(0);
    try {
      setState({ for: sent, found: await measure(ways, judged, primaryKey, setDone) });
    } catch (error) {
      setState({ for: sent, error });
    }
    setDone(null);
  };
  return (
    <Card title="Evaluation" actions={<>{judged.length > 0 && <Button icon="edit" onClick={() => setEdited(true)}>{plural(judged.length, 'judged query')}</Button>}<Button kind="primary" icon="compare" busy={done !== null} off={why} onClick={run}>Measure</Button></>}>
      {done !== null && <p role="status" class="muted">{done} of {plural(judged.length, 'query')} …</p>}
      <Failure error={state?.error} onRetry={run} />
      {state?.found ? <>{state.for !== sent && <p class="hint">The configurations have changed since: measure again.</p>}<Report all={state.found} ways={ways} onApply={onApply} isOld={state.for !== sent} /></>
        : done === null && state?.error === undefined && (judged.length ? <p class="muted">Runs every judged query on both sides and compares the ranks of relevant documents, as <code>lamina evaluate</code> does.</p>
          : <Empty icon="compare" title="Judge hits to measure which side is better" actions={<Button onClick={() => setEdited(true)}>Enter judgements</Button>}>Mark hits above with thumbs up and down, or enter judged queries.</Empty>)}
      {isEdited && <Edit index={index} all={judged} onClose={() => setEdited(false)} />}
    </Card>
  );
}

function Report({ all, ways, onApply, isOld }: { all: readonly Outcome[]; ways: readonly [Way, Way]; onApply: (side: 0 | 1) => void; isOld: boolean }) {
  const [isAll, setAll] = useState(false), of = (side: 0 | 1, name: keyof Measures) => all.map(one => one.sides[side][name]);
  const found = compare(of(0, 'ndcg'), of(1, 'ndcg')), isSure = found.p <= P_MOST && found.difference !== 0, better = found.difference > 0 ? 1 : 0;
  const range = (side: 0 | 1) => { const { low, high } = interval(of(side, 'ndcg')); return `${low.toFixed(3)} to ${high.toFixed(3)}`; };
  const sorted = [...all].sort((one, other) => change(other) - change(one)), changed = sorted.filter(one => Math.abs(change(one)) > 1e-9);
  const best = changed.filter(one => change(one) > 0).slice(0, ENDS), worst = changed.filter(one => change(one) < 0).slice(-ENDS).reverse();
  return (
    <div class="stack">
      <div class={'verdict ' + (isSure ? 'sure' : '')} role="status">
        <Icon name={isSure ? 'check' : 'info'} />
        <p>{found.difference === 0 ? 'Both are equally good.' : isSure ? <><strong>{ways[better].title} is better</strong>: nDCG {signed(Math.abs(found.difference))}, p = {found.p.toFixed(4)}.</>
          : <>{ways[better].title} has {signed(Math.abs(found.difference))} nDCG, but <strong>that may be chance</strong>: p = {found.p.toFixed(3)}. {all.length < 50 && 'Judge more queries to be sure.'}</>}</p>
        {isSure && !isOld && <Button onClick={() => onApply(better)}>Apply {ways[better].title}</Button>}
      </div>
      <Figures>
        <Figure label={`nDCG of ${ways[0].title}`} value={mean(of(0, 'ndcg')).toFixed(3)} about={`95 %: ${range(0)}`} />
        <Figure label={`nDCG of ${ways[1].title}`} value={mean(of(1, 'ndcg')).toFixed(3)} about={`95 %: ${range(1)}`} />
        <Figure label="Difference" value={signed(found.difference)} about={`95 %: ${signed(found.low)} to ${signed(found.high)}`} />
        <Figure label="Queries" value={all.length} about={`${found.better} better, ${found.worse} worse`} />
      </Figures>
      <p class="muted">{MEASURES.slice(1).map(([name, title]) => `${title} ${mean(of(0, name)).toFixed(3)} → ${mean(of(1, name)).toFixed(3)}`).join(' · ')}</p>
      {changed.length === 0 ? <p class="muted">Every query scores the same on both sides.</p> : isAll ? <Dumbbells title="All queries" all={sorted} ways={ways} /> : <div class="ends-of">{best.length > 0 && <Dumbbells title={`Best ${best.length}`} all={best} ways={ways} />}{worst.length > 0 && <Dumbbells title={`Worst ${worst.length}`} all={worst} ways={ways} />}</div>}
      {all.length > 1 && <Switch label="Show all queries" checked={isAll} onChange={setAll} />}
    </div>
  );
}
const change = (one: Outcome) => one.sides[1].ndcg - one.sides[0].ndcg;

function Dumbbells({ title, all, ways }: { title: string; all: readonly Outcome[]; ways: readonly [Way, Way] }) {
  return (
    <div>
      <div class="row spread"><h3>{title}</h3><span class="legend" aria-hidden="true"><i class="dot a" />{ways[0].title}<i class="dot b" />{ways[1].title}</span></div>
      <table class="dumbbells" aria-label={`${title}: nDCG of each query`}>
        <thead><tr><th scope="col">Query</th><th scope="col"><span class="axis" aria-hidden="true"><span>0</span><span>0.5</span><span>1</span></span><span class="unseen">From {ways[0].title} to {ways[1].title}</span></th><th scope="col" class="number">Change</th></tr></thead>
        <tbody>{all.slice(0, 500).map((one, place) => {
          const [a, b] = [one.sides[0].ndcg * 100, one.sides[1].ndcg * 100], tone = b > a ? 'up' : b < a ? 'down' : '';
          return (
            <tr key={place} title={`${one.q}: ${(a / 100).toFixed(3)} → ${(b / 100).toFixed(3)}`}>
              <th scope="row"><button type="button" class="plain" dir="auto" onClick={() => { setParams({ q: one.q }); document.getElementById('main')?.scrollIntoView(); }}>{one.q || 'empty query'}</button></th>
              <td><span class={'track-line ' + tone} aria-hidden="true"><i class="bar-line" style={{ insetInlineStart: Math.min(a, b) + '%', width: Math.abs(b - a) + '%' }} /><i class="dot a" style={{ insetInlineStart: a + '%' }} /><i class="dot b" style={{ insetInlineStart: b + '%' }} /></span><span class="unseen">{(a / 100).toFixed(3)} to {(b / 100).toFixed(3)}</span></td>
              <td class="number"><Badge tone={tone === 'up' ? 'good' : tone === 'down' ? 'bad' : 'plain'}>{signed((b - a) / 100, 2)}</Badge></td>
            </tr>
          );
        })}</tbody>
      </table>
    </div>
  );
}

function Edit({ index, all, onClose }: { index: string; all: readonly Judgement[]; onClose: () => void }) {
  const [text, setText] = useState(writeJudged(all)), [error, setError] = useState<string | null>(null);
  const save = () => {
    try {
      const made = readJudged(text);
      keep(index, made);
      toast({ tone: 'good', title: made.length ? plural(made.length, 'judged query') + ' kept in this browser' : 'Judgements removed', undo: () => keep(index, all) });
      onClose();
    } catch (failure) {
      const said = messageOf(failure);
      setError(said[0]?.toUpperCase() + said.slice(1));
    }
  };
  return (
    <Dialog title="Judged queries" size="l" unsaved={text !== writeJudged(all)} onClose={onClose} actions={<><Button icon="download" off={!text.trim() && 'There is nothing to save.'} onClick={() => saveFile(index + '-judged.ndjson', text + '\n', 'application/x-ndjson')}>Save as a file</Button><Button onClick={onClose}>Cancel</Button><Button kind="primary" onClick={save}>Keep</Button></>}>
      <TextArea label="One query per line" mono rows={14} value={text} onInput={now => { setText(now); setError(null); }} error={error} placeholder={'{"q": "space horror", "relevant": {"1": 3, "2": 1}}'}
        hint={<>The format of <code>lamina evaluate</code>: document ids with grades, or a list of ids. They stay in this browser.</>} />
      <label class="button small file">Load a file<input type="file" class="unseen" accept=".ndjson,.jsonl,.json,.txt" onChange={async event => { const file = event.currentTarget.files?.[0]; if (file) { setText((await file.text()).trim()); setError(null); } }} /></label>
    </Dialog>
  );
}
