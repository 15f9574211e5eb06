// Hits as cards, as a table, and as JSON. What is a title, a picture and a price is found in the document, or chosen once.
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Hit, Json, JsonObject, Settings } from '../../api/types';
import { isLink, pictureField, titleField } from '../../lib/documents';
import { plural } from '../../lib/text';
import { preference } from '../../state/preferences';
import { Badge, Icon, IconButton, JsonView, Menu, Table, useWidth, Value, type Column, type MenuItem } from '../../ui';

export type Look = 'cards' | 'table' | 'json';
export const look = preference<Look>('search.look', 'cards');

/** What was chosen for an index; empty: it is found in each document. `none` of a field shows none. */
export interface Chosen { title?: string; picture?: string; price?: string; fields?: string[] }
export const chosenFields = preference<Record<string, Chosen>>('search.fields', {});
export const NONE = '\u0000none';

const own = (hit: JsonObject, name: string | undefined) => name !== undefined && Object.hasOwn(hit, name) && hit[name] !== null ? name : null;
const PRICES = /^(price|cost|amount|preis|prix|precio)$/i, COLUMN_PX = 150, OTHERS_PX = 330, COLUMNS = 9, FIELDS = 5;

export interface Roles { title: string | null; picture: string | null; price: string | null; rest: string[] }
export function rolesOf(hit: Hit, chosen: Chosen, primaryKey: string | null, settings: Settings): Roles {
  const pick = (wanted: string | undefined, found: () => string | null) => wanted === NONE ? null : wanted ? own(hit, wanted) : found();
  const title = pick(chosen.title, () => titleField(hit, primaryKey, settings.searchableAttributes));
  const picture = pick(chosen.picture, () => pictureField(hit));
  const price = pick(chosen.price, () => Object.keys(hit).find(name => PRICES.test(name) && ['number', 'string'].includes(typeof hit[name])) ?? null);
  const taken = new Set([title, picture, price, primaryKey]);
  const rest = (chosen.fields?.length ? chosen.fields.filter(name => own(hit, name)) : Object.keys(hit).filter(name => hit[name] !== null)).filter(name => !name.startsWith('_') && !taken.has(name));
  return { title, picture, price, rest };
}

export const shownPrice = (value: Json | undefined) => typeof value === 'number' ? value.toLocaleString('en', { minimumFractionDigits: Number.isInteger(value) ? 0 : 2, maximumFractionDigits: 2 }) : String(value ?? '');
const firstOf = (value: Json | undefined) => Array.isArray(value) ? value[0] : value;

/** Pictures that did not load, by their addresses: they leave no box behind. */
const lost = signal<ReadonlySet<string>>(new Set());
const LOST_MOST = 1000;
/** Whether the policy of this page has kept a picture away that comes over HTTP. */
export const isHttpBlocked = signal(false);
if (typeof document !== 'undefined') document.addEventListener('securitypolicyviolation', event => {
  if (event.effectiveDirective === 'img-src' && event.blockedURI.startsWith('http:')) isHttpBlocked.value = true;
});

const sourceOf = (hit: Hit, name: string | null): string | null => {
  const source = name === null ? undefined : firstOf(hit[name]);
  return isLink(source) && !lost.value.has(source) ? source : null;
};
const Thumb = ({ source }: { source: string | null }) => source === null ? null
  : <img class="thumb" src={source} alt="" loading="lazy" referrerpolicy="no-referrer" onError={() => { lost.value = new Set([...lost.peek()].slice(-LOST_MOST)).add(source); }} />;

export interface HitsProps {
  hits: readonly Hit[];
  primaryKey: string | null;
  settings: Settings;
  chosen: Chosen;
  onWhy: (hit: Hit) => void;
  actions: (hit: Hit) => readonly MenuItem[];
  /** It was dragged to a place. */
  onPlace: (hit: Hit, place: number) => void;
}
export const keyOf = (hit: Hit, place: number, primaryKey: string | null) => primaryKey && Object.hasOwn(hit, primaryKey) ? String(hit[primaryKey]) : 'place ' + place;

export function Hits(props: HitsProps) {
  const { hits, primaryKey } = props, list = useRef<HTMLOListElement>(null), at = useRef(-1), from = useRef(-1), [over, setOver] = useState(-1);
  const rowOf = (event: Event) => { const row = (event.target as Element).closest('.hits > li'); return { row, place: [...list.current?.children ?? []].indexOf(row as Element) }; };
  const all = () => [...list.current?.querySelectorAll<HTMLElement>('.hit') ?? []];
  // Another answer takes the hit away that has the focus: the one in its place gets it.
  useLayoutEffect(() => { if (at.current >= 0 && document.activeElement === document.body) all()[Math.min(at.current, hits.length - 1)]?.focus(); }, [hits]);
  if (look.value === 'table') return <HitTable {...props} />;
  return (
    <ol ref={list} class={look.value === 'json' ? 'hits as-json' : 'hits'} onKeyDown={onArrows}
      onDragStart={event => { const { row, place } = rowOf(event); if ((event.target as Element).matches('.hit-grip') && row) { from.current = place; event.dataTransfer?.setDragImage(row, 0, 0); } }}
      onDragOver={event => { if (from.current >= 0) { event.preventDefault(); setOver(rowOf(event).place); } }} onDragEnd={() => { from.current = -1; setOver(-1); }}
      onDrop={event => { const hit = hits[from.current]; if (hit && over >= 0) { event.preventDefault(); props.onPlace(hit, over); } }} onFocusIn={event => { at.current = all().indexOf(event.target as HTMLElement); }}
      onFocusOut={event => { const left = event.target as HTMLElement; queueMicrotask(() => { if (left.isConnected && left !== document.activeElement && !all().includes(document.activeElement as HTMLElement)) at.current = -1; }); }}>
      {hits.map((hit, place) => <li key={keyOf(hit, place, primaryKey)} class={place === over ? 'over' : undefined}>{look.value === 'json' ? <AsJson {...props} hit={hit} /> : <Card {...props} hit={hit} />}</li>)}
    </ol>
  );
}

/** Arrows go from hit to hit, and back to the search; Enter explains. */
function onArrows(event: KeyboardEvent) {
  const here = document.activeElement as HTMLElement | null;
  if (!here?.matches('.hit') || !(event.currentTarget instanceof Element)) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('.hit')], at = all.indexOf(here);
  if (event.key === 'ArrowDown' || event.key === 'ArrowRight') all[at + 1]?.focus();
  else if (event.key === 'ArrowUp' || event.key === 'ArrowLeft') (all[at - 1] ?? document.querySelector<HTMLElement>('main [data-search]'))?.focus();
  else if (event.key === 'Escape') document.querySelector<HTMLElement>('main [data-search]')?.focus();
  else if (event.key === 'Enter') here.querySelector<HTMLElement>('[data-why]')?.click();
  else return;
  event.preventDefault();
}

/** Without ids no document can be asked about. */
export const NO_KEY = 'Which field has the ids is not known: this key may not read it, or the index is empty.';
type OneProps = HitsProps & { hit: Hit };

function Score({ hit, onWhy, off }: { hit: Hit; onWhy: (hit: Hit) => void; off: boolean }) {
  const score = hit._rankingScore;
  return (
    <button type="button" class="why" data-why disabled={off} onClick={() => onWhy(hit)} title={off ? NO_KEY : 'Why is this a hit?'}>
      {score !== undefined && <span class="why-bar" aria-hidden="true"><span style={{ width: Math.max(4, score * 100) + '%' }} /></span>}
      <span class="unseen">Why is this a hit? </span><span class="why-score">{score === undefined ? 'Why?' : score.toFixed(2)}</span>
    </button>
  );
}

function Card({ hit, primaryKey, settings, chosen, onWhy, actions }: OneProps) {
  const [isOpen, setOpen] = useState(false);
  const { title, picture, price, rest } = rolesOf(hit, chosen, primaryKey, settings), marked = hit._formatted ?? {};
  const shown = isOpen ? rest : rest.slice(0, FIELDS), id = primaryKey ? String(hit[primaryKey]) : '', source = sourceOf(hit, picture);
  return (
    <article class={source ? 'hit with-thumb' : 'hit'} tabIndex={-1} aria-label={title ? String(hit[title]) : id}>
      {primaryKey && <span class="hit-grip" draggable title="Drag it to its place" aria-hidden="true"><Icon name="grip" /></span>}
      <Thumb source={source} />
      <div class="hit-main">
        <header>
          <div class="hit-title">
            <h3 dir="auto">{title ? <Value value={hit[title] ?? null} formatted={marked[title]} /> : id || 'Document'}</h3>
            {price && <strong class="price" dir="auto" title={price}>{shownPrice(hit[price])}</strong>}
          </div>
          <Score hit={hit} onWhy={onWhy} off={!primaryKey} />
          <Menu label={'More for ' + (title ? String(hit[title]) : id)} items={actions(hit)} />
        </header>
        <dl class="nested hit-fields">{shown.map(name => (
          <div key={name}><dt dir="auto" title={name}>{name}</dt><dd dir="auto" class={isOpen ? undefined : 'clamp'}><Value value={hit[name] ?? null} formatted={marked[name]} /></dd></div>
        ))}</dl>
        <footer class="hit-foot">{title && id && <small class="mono" title={primaryKey ?? undefined}>{id}</small>}
          {(rest.length > FIELDS || isOpen) && <button type="button" class="plain link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{isOpen ? 'Show less' : `${plural(rest.length - FIELDS, 'field')} more`}</button>}
        </footer>
      </div>
    </article>
  );
}

export function withoutMarks(hit: Hit): JsonObject {
  const { _formatted, _rankingScore, _rankingScoreDetails, _explanation, ...document } = hit as Hit & { _explanation?: Json };
  return document as JsonObject;
}

function AsJson({ hit, onWhy, actions, primaryKey }: OneProps) {
  return (
    <article class="hit" tabIndex={-1} aria-label={primaryKey ? String(hit[primaryKey]) : 'Document'}>
      <header class="json-head"><Score hit={hit} onWhy={onWhy} off={!primaryKey} /><Menu label="More" items={actions(hit)} /></header>
      <JsonView value={withoutMarks(hit)} />
    </article>
  );
}

function HitTable({ hits, primaryKey, settings, chosen, onWhy, actions }: HitsProps) {
  const first = hits[0] ?? {}, [place, width] = useWidth<HTMLDivElement>(1000), most = width < 700 ? FIELDS : Math.min(COLUMNS, Math.floor((width - OTHERS_PX) / COLUMN_PX));
  const { title, picture, price, rest } = rolesOf(first, chosen, primaryKey, settings);
  const others = chosen.fields?.length ? chosen.fields.filter(name => ![title, picture, price, primaryKey].includes(name)) : rest;
  const cell = (name: string) => (hit: Hit) => Object.hasOwn(hit, name) ? <div class="clamp" dir="auto"><Value value={hit[name] ?? null} formatted={hit._formatted?.[name]} /></div> : null;
  const columns: Column<Hit>[] = [
    { id: 'title', title: title ?? primaryKey ?? 'Document', cell: hit => title ? cell(title)(hit) : primaryKey ? String(hit[primaryKey]) : '' },
    ...(hits.some(hit => sourceOf(hit, picture)) ? [{ id: 'picture', title: 'Picture', hideTitle: true, cell: (hit: Hit) => <Thumb source={sourceOf(hit, picture)} /> }] : []),
    ...(price ? [{ id: 'price', title: price, number: true, cell: (hit: Hit) => shownPrice(hit[price]) }] : []),
    ...others.slice(0, chosen.fields?.length ? 20 : most).map(name => ({ id: 'field ' + name, title: name, cell: cell(name), number: typeof first[name] === 'number' })),
    ...(first._rankingScore === undefined ? [] : [{ id: 'score', title: 'score', number: true, cell: (hit: Hit) => hit._rankingScore === undefined ? '' : <Badge>{hit._rankingScore.toFixed(2)}</Badge> }]),
    { id: 'more', title: 'More', hideTitle: true, cell: hit => <span class="row nowrap"><IconButton size="s" icon="info" label="Why is this a hit?" off={!primaryKey && NO_KEY} onClick={() => onWhy(hit)} /><Menu label="More" items={actions(hit)} /></span> },
  ];
  return <div ref={place}><Table label="Hits" columns={columns} rows={hits} keyOf={hit => keyOf(hit, hits.indexOf(hit), primaryKey)} onPick={primaryKey ? onWhy : undefined} /></div>;
}
