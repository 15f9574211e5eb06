// Why a document is a hit at its place, or is none.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { atControls, post, route } from '../../api/client';
import { useResource } from '../../api/resource';
import type { Hit, JsonObject, ListOf, SearchAnswer, Settings } from '../../api/types';
import { titleOf } from '../../lib/documents';
import { msOf, plural } from '../../lib/text';
import { address, go, setParams } from '../../state/address';
import { Badge, Button, classes, Drawer, Loaded, Meter, TextField } from '../../ui';
import { NO_KEY } from './Hits';
import { selectionOf, usualWay, type Asked } from './query';
import { decidedBy, howOf, inOrder, REASONS, ruleTitle, sentenceOf, stageTitle, type Rules, type Stage, type WordSeen } from './sentences';

interface HitSeen { words: WordSeen[] | null; rules: Rules; pinnedBy?: string }
interface DocumentSeen {
  isHit: boolean; reason: string; position?: number; failingFilters?: string[]; excludedWords?: string[]; missingWords?: string[]; words?: WordSeen[]; rankingScore?: number; rules?: Rules;
  nearness?: { similarity: number | null; position: number | null };
}
interface Explanation { words?: string[]; stages?: Stage[]; document?: DocumentSeen; pins?: JsonObject[] }
type Explained = SearchAnswer & { explanation?: Explanation };
type ExplainedHit = Hit & { _explanation?: HitSeen };

/** In the address: a document that is looked for by its title. */
export const PICK = '*';
const NEXT = 2;

interface WhyProps { id: string; index: string; asked: Asked; settings: Settings; primaryKey: string | null; onClose: () => void }

export function Why(props: WhyProps) {
  const { id, onClose } = props;
  return (
    <Drawer title={id === PICK ? 'Why is a document missing?' : 'Explanation'} onClose={onClose} class="why-drawer">
      {id === PICK ? <Pick {...props} /> : <Explain {...props} />}
    </Drawer>
  );
}

const nameOf = (hit: Hit, { primaryKey, settings }: WhyProps) => titleOf(hit, primaryKey, settings.searchableAttributes);

function Pick(props: WhyProps) {
  const { index, primaryKey, asked } = props, [typed, setTyped] = useState('');
  const found = useResource(signal => post<SearchAnswer>(route('indexes', index, 'search'), { q: typed, limit: 8 }, { signal }), [index, typed], { keep: true });
  return (
    <>
      <p class="muted">Find a document by its title to see why {asked.q ? `“${asked.q}”` : 'this search'} does not return it.</p>
      <TextField label="Title or other words of the document" type="search" value={typed} onInput={setTyped} autoFocus />
      <Loaded of={found} lines={4} isEmpty={answer => answer.hits.length === 0} empty={<p class="muted">No document contains these words: it may not be in the index.</p>}>
        {answer => <ul class="why-picks">{answer.hits.map((hit, place) => (
          <li key={place}><button type="button" class="plain" disabled={!primaryKey} title={primaryKey ? undefined : NO_KEY} onClick={() => setParams({ why: primaryKey ? String(hit[primaryKey]) : null })}><strong dir="auto">{nameOf(hit, props)}</strong> <small class="mono">{primaryKey ? String(hit[primaryKey]) : ''}</small></button></li>
        ))}</ul>}
      </Loaded>
    </>
  );
}

function Explain(props: WhyProps) {
  const { id, index, asked, settings, primaryKey } = props, base = selectionOf(asked, settings);
  const found = useResource(async signal => {
    const ask = (limit: number) => post<Explained>(route('indexes', index, 'search'), { ...base, limit, explain: { documentId: id }, showRankingScore: true }, { signal });
    const first = await ask(asked.limit), place = first.explanation?.document?.position;
    // The one behind it is seen as well: it says where the two part.
    if (place !== undefined && place + NEXT > asked.limit && place < 1000) return { answer: await ask(place + NEXT), missing: undefined };
    // What is no hit has a title all the same.
    return { answer: first, missing: place === undefined ? await post<ListOf<Hit>>(route('indexes', index, 'documents', 'fetch'), { ids: [id], limit: 1 }, { signal }).then(all => all.results[0], () => undefined) : undefined };
  }, [index, id, JSON.stringify(base), asked.limit]);
  return <Loaded of={found} lines={10}>{({ answer, missing }) => <Explained answer={answer} missing={missing} {...props} primaryKey={primaryKey} />}</Loaded>;
}

function Explained({ answer, missing, ...props }: WhyProps & { answer: Explained; missing: Hit | undefined }) {
  const { id, primaryKey } = props, { document, stages = [], words = [] } = answer.explanation ?? {};
  const hits = answer.hits as ExplainedHit[], place = hits.findIndex(hit => primaryKey && String(hit[primaryKey]) === id), hit = hits[place], next = place < 0 ? undefined : hits[place + 1];
  const seen = hit?._explanation, rules = seen?.rules ?? document?.rules, matched = seen?.words ?? document?.words ?? [];
  const total = answer.totalHits ?? answer.estimatedTotalHits ?? hits.length, rank = document?.position ?? place;
  return (
    <>
      <div class="why-head">
        <h3 dir="auto">{hit ?? missing ? nameOf(hit ?? missing ?? {}, props) : <span class="mono">{id}</span>}</h3>
        <p class="row">
          {rank >= 0 && <Badge tone={place >= 0 ? 'good' : 'info'}>{`#${rank + 1} of ${total.toLocaleString('en')}`}</Badge>}
          {place < 0 && document && document.reason !== 'outsideOfPage' && <Badge tone="warn">not a hit</Badge>}
          {(hit?._rankingScore ?? document?.rankingScore) !== undefined && <Badge>score {(hit?._rankingScore ?? document?.rankingScore ?? 0).toFixed(4)}</Badge>}
          {seen?.pinnedBy && <Badge tone="accent">pinned by {seen.pinnedBy}</Badge>}
        </p>
      </div>
      {place < 0 && document && <Reason document={document} {...props} />}
      {(matched.length > 0 || words.length > 0) && <Section title="Matches"><Lines words={matched.length ? matched : words.map(word => ({ word, isMatched: false, matches: [] }))} /></Section>}
      {rules && Object.keys(rules).length > 0 && <Section title="Ranking" about="Each rule breaks the ties that the rules above it leave."><Ladder rules={rules} words={matched} next={next} nextTitle={next ? nameOf(next, props) : ''} rank={rank} /></Section>}
      {document?.nearness && <p class="muted">{document.nearness.similarity === null ? 'It has no vector yet.' : `By vectors alone it ranks #${(document.nearness.position ?? 0) + 1}, with a similarity of ${document.nearness.similarity.toFixed(4)}.`}</p>}
      {stages.length > 0 && <Section title="Time of each stage"><Waterfall stages={stages} /></Section>}
      <p class="row"><Button size="s" icon="eye" onClick={() => setParams({ why: PICK })}>Explain another document</Button></p>
    </>
  );
}

const Section = ({ title, about, children }: { title: string; about?: string; children: preact.ComponentChildren }) => <section class="why-part"><h3>{title}</h3>{about && <p class="muted">{about}</p>}{children}</section>;

function Reason({ document, asked, settings }: WhyProps & { document: DocumentSeen }) {
  const { reason, failingFilters = [], excludedWords = [], missingWords = [], position } = document;
  const all = [...failingFilters, ...excludedWords, ...missingWords], names = [...address.value.params.keys()];
  const unfiltered = Object.fromEntries(names.filter(name => /^[fr]\.|^filter$|^box$/.test(name)).map(name => [name, null]));
  return (
    <div class="why-reason">
      <p><strong>{REASONS[reason] ?? reason}</strong></p>
      {all.length > 0 && <ul class="values">{all.map(one => <li key={one}><code dir="auto">{one}</code></li>)}</ul>}
      <p class="row">
        {reason === 'filteredOut' && <Button size="s" icon="filter" onClick={() => setParams(unfiltered)}>Search without the filters</Button>}
        {reason === 'missingWords' && asked.way !== 'questions' && <Button size="s" icon="search" onClick={() => setParams({ way: usualWay(settings) === 'questions' ? null : 'questions' })}>Match any of the words</Button>}
        {reason === 'missingWords' && <Button size="s" icon="synonyms" onClick={() => go({ view: 'synonyms' })}>Add a synonym</Button>}
        {reason === 'excludedByQuery' && <Button size="s" onClick={() => setParams({ q: asked.q.split(/\s+/).filter(word => !word.startsWith('-')).join(' ') })}>Search without exclusions</Button>}
        {reason === 'outsideOfPage' && position !== undefined && position < 1000 && <Button size="s" onClick={() => setParams({ limit: String(position + 1) })}>Show the hits down to it</Button>}
      </p>
    </div>
  );
}

const FIELDS = 8, TERMS = 12;
/** What words of the query matched in a field: several have matched the same where they were written as one. */
interface Term { words: number[]; text: string; how: string; times: number }

/** The words of the query on the left, and lines to what they matched in each field on the right. */
function Lines({ words }: { words: readonly WordSeen[] }) {
  const box = useRef<HTMLDivElement>(null), [paths, setPaths] = useState<{ d: string; isLoose: boolean; key: string }[]>([]);
  const fields = new Map<string, Term[]>();
  words.forEach((one, word) => {
    for (const { attribute, term, match, positions } of one.matches) {
      const terms = fields.get(attribute) ?? [], text = term ?? 'hidden', there = terms.find(other => other.text === text && other.how === match);
      if (!there) terms.push({ words: [word], text, how: match, times: positions?.length ?? 1 });
      else if (there.words.includes(word)) there.times += positions?.length ?? 1;
      else there.words.push(word);
      fields.set(attribute, terms);
    }
  });
  const all = [...fields], key = JSON.stringify(words.map(one => [one.word, one.matches.length]));
  const draw = () => {
    const here = box.current?.getBoundingClientRect();
    if (!box.current || !here) return;
    const words = new Map([...box.current.querySelectorAll<HTMLElement>('[data-word]')].map(one => [one.dataset['word'], one.getBoundingClientRect()]));
    setPaths([...box.current.querySelectorAll<HTMLElement>('[data-of]')].flatMap((one, place) => {
      const to = one.getBoundingClientRect();
      return (one.dataset['of'] ?? '').split(' ').flatMap(word => {
        const from = words.get(word);
        if (!from) return [];
        const x1 = from.right - here.left, y1 = from.top + from.height / 2 - here.top, x2 = to.left - here.left, y2 = to.top + to.height / 2 - here.top, bend = Math.max(12, (x2 - x1) / 2);
        return [{ key: place + ' ' + word, isLoose: one.dataset['loose'] !== undefined, d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` }];
      });
    }));
  };
  useLayoutEffect(draw, [key]);
  useEffect(() => {
    const watch = new ResizeObserver(draw);
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, [key]);
  return (
    <div class="lines" ref={box}>
      <svg aria-hidden="true">{paths.map(one => <path key={one.key} class={classes(one.isLoose && 'loose')} d={one.d} />)}</svg>
      <ul class="lines-words" aria-label="Words of the query">{words.map((one, place) => <li key={place}><span data-word={place} class={classes('token', !one.isMatched && 'lost')} dir="auto" title={one.isMatched ? undefined : 'No match in this document'}>{one.word}{!one.isMatched && <span class="unseen"> (no match)</span>}</span></li>)}</ul>
      <ul class="lines-fields" aria-label="Matched words in each field">
        {all.slice(0, FIELDS).map(([attribute, terms]) => (
          <li key={attribute}><small dir="auto">{attribute}</small><span class="terms">{terms.slice(0, TERMS).map((term, place) => {
            const isLoose = !['exact', 'phrase', 'prefix'].includes(term.how);
            return <span key={place} data-of={term.words.join(' ')} data-loose={isLoose ? '' : undefined} class={classes('token', 'found', isLoose && 'loose')} dir="auto">{term.text}{term.how !== 'exact' && <small>{howOf(term.how)}</small>}{term.times > 1 && <small>×{term.times}</small>}</span>;
          })}</span></li>
        ))}
        {all.length === 0 && <li class="muted">No field matches.</li>}
        {all.length > FIELDS && <li class="muted">and {plural(all.length - FIELDS, 'field')} more</li>}
      </ul>
    </div>
  );
}

function Ladder({ rules, words, next, nextTitle, rank }: { rules: Rules; words: readonly WordSeen[]; next: ExplainedHit | undefined; nextTitle: string; rank: number }) {
  const other = next?._explanation, decisive = other ? decidedBy(rules, other.rules) : null;
  const theirs = decisive && other && Object.hasOwn(other.rules, decisive) ? other.rules[decisive] : undefined;
  return (
    <>
      <ol class="ladder">{inOrder(rules).map(([rule, detail]) => {
        const score = typeof detail['score'] === 'number' ? detail['score'] : null;
        return (
          <li key={rule} class={classes(rule === decisive && 'decides')}>
            <strong dir="auto">{ruleTitle(rule)}</strong><span dir="auto">{sentenceOf(rule, detail, words)}</span>{score !== null && <Meter label={ruleTitle(rule)} value={score} text={score.toFixed(3)} />}
            {rule === decisive && next && <p class="beats" dir="auto">Here it beats #{rank + 2} <em>{nextTitle}</em>{theirs ? `: ${sentenceOf(rule, theirs, other?.words ?? [])}` : ''}.</p>}
          </li>
        );
      })}</ol>
      {next && !decisive && <p class="muted" dir="auto">No rule separates it from #{rank + 2} <em>{nextTitle}</em>: ties stay in index order.</p>}
      {!next && <p class="muted">It is the last hit.</p>}
    </>
  );
}

function Waterfall({ stages }: { stages: readonly Stage[] }) {
  const times = stages.map(one => msOf(one.took) ?? 0), total = times.reduce((sum, one) => sum + one, 0) || 1;
  return (
    <table class="waterfall" aria-label="Time of each stage"><tbody>{stages.map((one, place) => {
      const before = times.slice(0, place).reduce((sum, time) => sum + time, 0);
      return (
        <tr key={place}><th scope="row">{stageTitle(one.stage)}{one.documents !== undefined && <small> {one.documents.toLocaleString('en')} left</small>}</th>
          <td class="track-cell"><span style={{ marginInlineStart: before / total * 100 + '%', width: Math.max(0.6, (times[place] ?? 0) / total * 100) + '%' }} /></td><td class="number">{one.took.replace(/(?=[a-zµ]+$)/, ' ')}</td></tr>
      );
    })}</tbody></table>
  );
}

/** What of an error belongs to the filter, and what to the rest. */
export const wrongOf = (error: unknown) => atControls(error, { filter: ['invalid_search_filter'], sort: ['invalid_search_sort'] });
