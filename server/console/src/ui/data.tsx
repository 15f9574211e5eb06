// Tables, cards, figures and small charts.
import type { ComponentChildren } from 'preact';
import type { TaskStatus } from '../api/types';
import { classes } from './controls';

export interface Column<T> { id: string; title: string; cell: (row: T) => ComponentChildren; number?: boolean; hideTitle?: boolean; grow?: boolean }

/** Wide: a table. Narrow: each row is a small card with the names of its columns; nothing is cut off. */
export function Table<T>({ label, columns, rows, keyOf, onPick, picked }: {
  label: string; columns: readonly Column<T>[]; rows: readonly T[]; keyOf: (row: T) => string; onPick?: (row: T) => void; picked?: string | null;
}) {
  return (
    <div class="table-box">
      <table class="table" aria-label={label}>
        <thead><tr>{columns.map(one => (
          <th key={one.id} scope="col" class={classes(one.number && 'number', one.grow && 'grow')}><span class={one.hideTitle ? 'unseen' : undefined}>{one.title}</span></th>
        ))}</tr></thead>
        <tbody>{rows.map(row => {
          const key = keyOf(row);
          return (
            <tr key={key} class={classes(onPick && 'pickable', picked === key && 'picked')} onClick={onPick && (event => {
              // What is inside of the row, and text that is being selected, come first.
              if (!(event.target as Element).closest('a, button, input, select, label') && !getSelection()?.toString()) onPick(row);
            })}>
              {columns.map((one, place) => (
                <td key={one.id} class={classes(one.number && 'number', one.grow && 'grow')} data-title={one.hideTitle ? '' : one.title}>
                  {place === 0 && onPick ? <button type="button" class="plain" onClick={() => onPick(row)}>{one.cell(row)}</button> : one.cell(row)}
                </td>
              ))}
            </tr>
          );
        })}</tbody>
      </table>
    </div>
  );
}

export function Card({ title, actions, children, class: name, flush }: { title?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; class?: string; flush?: boolean }) {
  return (
    <section class={classes('card', flush && 'flush', name)}>
      {(title || actions) && <header><h2>{title}</h2>{actions && <div class="row">{actions}</div>}</header>}
      {children}
    </section>
  );
}

export function PageHead({ title, about, actions }: { title: string; about?: ComponentChildren; actions?: ComponentChildren }) {
  return <header class="page-head"><div><h1>{title}</h1>{about && <p>{about}</p>}</div>{actions && <div class="row">{actions}</div>}</header>;
}

export function Badge({ children, tone = 'plain' }: { children: ComponentChildren; tone?: 'plain' | 'accent' | 'good' | 'warn' | 'bad' | 'info' }) {
  return <span class={'badge ' + tone}>{children}</span>;
}
const TONES: Record<TaskStatus, 'plain' | 'good' | 'bad' | 'warn' | 'info'> = { enqueued: 'plain', processing: 'info', succeeded: 'good', failed: 'bad', canceled: 'warn' };
export const StatusBadge = ({ status }: { status: TaskStatus }) => <Badge tone={TONES[status] ?? 'plain'}>{status}</Badge>;

export function Figure({ label, value, about }: { label: string; value: ComponentChildren; about?: ComponentChildren }) {
  return <div class="figure"><dt>{label}</dt><dd>{value}{about && <small>{about}</small>}</dd></div>;
}
export const Figures = ({ children }: { children: ComponentChildren }) => <dl class="figures">{children}</dl>;

export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return <dl class="facts">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd dir="auto">{value}</dd></div>)}</dl>;
}

export function Meter({ label, value, max = 1, text }: { label: string; value: number; max?: number; text?: string }) {
  const share = max > 0 ? Math.max(0, Math.min(1, value / max)) : 0;
  return <span class="meter" role="meter" aria-label={label} aria-valuenow={value} aria-valuemin={0} aria-valuemax={max} aria-valuetext={text}><span style={{ width: share * 100 + '%' }} /></span>;
}

/** Horizontal bars: the longest fills the place. */
export function Bars({ label, bars, show = String }: { label: string; bars: readonly { name: string; value: number; about?: string }[]; show?: (value: number) => string }) {
  const most = Math.max(...bars.map(one => one.value), 0) || 1;
  return (
    <table class="bars" aria-label={label}><tbody>{bars.map(one => (
      <tr key={one.name} title={one.about}>
        <th scope="row" dir="auto">{one.name}</th>
        <td><span class="bar" style={{ width: Math.max(0.5, one.value / most * 100) + '%' }} /></td>
        <td class="number">{show(one.value)}</td>
      </tr>
    ))}</tbody></table>
  );
}

export function Sparkline({ label, values, show = String, height = 36 }: { label: string; values: readonly (number | null)[]; show?: (value: number) => string; height?: number }) {
  const there = values.filter((one): one is number => one !== null), most = Math.max(...there, 0) || 1, width = 160, last = there.at(-1);
  const points = values.flatMap((one, place) => one === null ? [] : [(values.length < 2 ? width : place * width / (values.length - 1)).toFixed(1) + ',' + (height - 2 - (height - 4) * one / most).toFixed(1)]);
  const text = label + (last === undefined ? ': nothing yet' : `: now ${show(last)}, at most ${show(Math.max(...there))}`);
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={text}>
      {points.length > 1 && <polygon points={`${points[0]?.split(',')[0]},${height} ${points.join(' ')} ${points.at(-1)?.split(',')[0]},${height}`} />}
      <polyline points={points.join(' ')} />
    </svg>
  );
}
