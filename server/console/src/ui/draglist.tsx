// A list in an order that people choose: by dragging the handle, or with the arrows while it has the focus.
import './draglist.css';
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { classes } from './controls';
import { Icon } from './icons';

/** The list with one entry at another place. */
export function moved<T>(items: readonly T[], from: number, to: number): T[] {
  const list = [...items], [one] = list.splice(from, 1);
  if (one !== undefined) list.splice(Math.max(0, Math.min(list.length, to)), 0, one);
  return list;
}

export function DragList<T>({ label, items, keyOf, nameOf, render, onChange }: {
  label: string; items: readonly T[]; keyOf: (item: T) => string; nameOf: (item: T) => string; render: (item: T, place: number) => ComponentChildren; /** The list in its new order, and what was moved where. */
  onChange: (items: T[], item: T, to: number) => void;
}) {
  const list = useRef<HTMLOListElement>(null), [drag, setDrag] = useState<{ from: number; to: number } | null>(null), [said, setSaid] = useState('');
  const move = (from: number, to: number) => {
    const item = items[from];
    if (item === undefined || to < 0 || to >= items.length || from === to) return;
    onChange(moved(items, from, to), item, to);
    setSaid(`${nameOf(item)}: position ${to + 1} of ${items.length}`);
    setTimeout(() => list.current?.querySelectorAll<HTMLElement>('.grip')[to]?.focus());
  };
  const placeAt = (y: number) => {
    const rows = [...list.current?.children ?? []];
    const at = rows.findIndex(row => { const box = row.getBoundingClientRect(); return y < box.top + box.height / 2; });
    return at < 0 ? rows.length - 1 : at;
  };
  const shown = drag ? moved(items, drag.from, drag.to) : items;
  return (
    <>
      <ol class="drag-list" aria-label={label} ref={list}>
        {shown.map((item, place) => (
          <li key={keyOf(item)} class={classes(drag?.to === place && 'dragged')}>
            <button type="button" class="grip" aria-label={`Move ${nameOf(item)}, position ${place + 1} of ${items.length}: arrow keys`} title="Drag, or use the arrow keys"
              onKeyDown={event => {
                const to = { ArrowUp: place - 1, ArrowDown: place + 1, Home: 0, End: items.length - 1 }[event.key];
                if (to === undefined) return;
                event.preventDefault();
                move(place, to);
              }}
              onPointerDown={event => { event.currentTarget.setPointerCapture(event.pointerId); setDrag({ from: place, to: place }); }}
              onPointerMove={event => { if (drag) { const to = placeAt(event.clientY); if (to !== drag.to) setDrag({ ...drag, to }); } }}
              onPointerUp={() => { if (drag) { setDrag(null); move(drag.from, drag.to); } }} onPointerCancel={() => setDrag(null)}><Icon name="grip" /></button>
            <div class="drag-item">{render(item, place)}</div>
          </li>
        ))}
      </ol>
      <span class="unseen" role="status">{said}</span>
    </>
  );
}
