import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button, classes, IconButton } from './controls';
import { Icon, type IconName } from './icons';

export interface MenuItem { title: string; icon?: IconName; onPick: () => unknown; danger?: boolean; off?: string | false }

const GAP = 4;

/** A button with more to do. Arrows go through it, Escape closes it, and the focus comes back. */
export function Menu({ label, items, icon = 'more', text }: { label: string; items: readonly (MenuItem | false | null)[]; icon?: IconName; text?: string }) {
  const [isOpen, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null), id = useId();
  const shown = items.filter((one): one is MenuItem => Boolean(one));
  const all = () => [...(place.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
  const close = (back: boolean) => {
    setOpen(false);
    if (back) place.current?.querySelector('button')?.focus();
  };
  useLayoutEffect(() => {
    if (!isOpen) return;
    const list = place.current?.querySelector<HTMLElement>('.menu-list'), from = place.current?.getBoundingClientRect();
    if (list && from) {
      // Over everything, as a box that scrolls would cut it off; upwards where the window ends.
      const { width, height } = list.getBoundingClientRect(), bar = document.querySelector<HTMLElement>('.bottom')?.offsetHeight ?? 0, isUp = from.bottom + GAP + height > innerHeight - bar && from.top > height + GAP;
      list.style.left = Math.max(GAP, from.right - width) + 'px';
      list.style.top = (isUp ? from.top - height - GAP : from.bottom + GAP) + 'px';
    }
    all()[0]?.focus({ preventScroll: true });
    const outside = (event: Event) => { if (!place.current?.contains(event.target as Node)) setOpen(false); };
    document.addEventListener('pointerdown', outside);
    const moved = () => { if (place.current?.getBoundingClientRect().top !== from?.top) setOpen(false); };
    document.addEventListener('scroll', moved, true);
    return () => { document.removeEventListener('pointerdown', outside); document.removeEventListener('scroll', moved, true); };
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen) return;
    const there = all(), at = there.indexOf(document.activeElement as HTMLElement), last = there.length - 1;
    const to = { ArrowDown: at >= last ? 0 : at + 1, ArrowUp: at <= 0 ? last : at - 1, Home: 0, End: last }[event.key];
    if (to !== undefined) { event.preventDefault(); there[to]?.focus(); }
    else if (event.key === 'Escape') { event.preventDefault(); event.stopPropagation(); close(true); }
    else if (event.key === 'Tab') setOpen(false);
  };
  const wiring = { 'aria-haspopup': 'menu', 'aria-expanded': isOpen, 'aria-controls': id, onClick: () => setOpen(!isOpen) } as const;
  return (
    <div class="menu" ref={place} onKeyDown={onKeyDown}>
      {text ? <Button icon={icon} {...wiring}>{text}</Button> : <IconButton icon={icon} label={label} {...wiring} />}
      <div class="menu-list" role="menu" id={id} aria-label={label} hidden={!isOpen}>
        {isOpen && shown.map(one => (
          <button key={one.title} type="button" role="menuitem" tabIndex={-1} class={classes(one.danger && 'danger')} aria-disabled={Boolean(one.off) || undefined} title={one.off || undefined}
            onClick={() => { if (one.off) return; close(true); void one.onPick(); }}>
            {one.icon && <Icon name={one.icon} />}{one.title}
          </button>
        ))}
      </div>
    </div>
  );
}
