// What people press, switch, slide and choose.
import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { Icon, type IconName } from './icons';

export const classes = (...names: (string | false | null | undefined)[]) => names.filter(Boolean).join(' ');

export interface ButtonProps {
  children?: ComponentChildren;
  /** `primary` once a view; `danger` for what cannot be undone. */
  kind?: 'usual' | 'primary' | 'quiet' | 'danger';
  size?: 'm' | 's';
  icon?: IconName;
  type?: 'button' | 'submit';
  /** It works on it: it cannot be pressed again, and says so. */
  busy?: boolean;
  /** Why it cannot be pressed now; people read it when they point at it. */
  off?: string | false | null;
  onClick?: (event: MouseEvent) => unknown;
  title?: string;
  class?: string;
  [aria: `aria-${string}`]: string | boolean | undefined;
}

/** One that is busy keeps the focus: whoever pressed it by keyboard stays where they are. */
export function Button({ children, kind = 'usual', size = 'm', icon, type = 'button', busy, off, onClick, title, class: name, ...rest }: ButtonProps) {
  return (
    <button type={type} class={classes('button', kind, size === 's' && 'small', name)} disabled={!busy && Boolean(off)} aria-disabled={busy || undefined} aria-busy={busy || undefined}
      title={off || title} onClick={busy ? event => event.preventDefault() : onClick} {...rest}>
      {busy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

export interface IconButtonProps extends Omit<ButtonProps, 'children' | 'icon'> { icon: IconName; label: string }
export function IconButton({ icon, label, kind = 'quiet', class: name, ...rest }: IconButtonProps) {
  return <Button {...rest} kind={kind} icon={icon} class={classes('only-icon', name)} aria-label={label} title={rest.title ?? label} />;
}

/** A link within the console, or out of it. */
export function Link({ href, onGo, children, class: name, external }: { href: string; onGo?: () => void; children: ComponentChildren; class?: string; external?: boolean }) {
  const onClick = (event: MouseEvent) => {
    if (!onGo || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    onGo();
  };
  return <a href={href} class={name} onClick={onClick} {...(external ? { target: '_blank', rel: 'noopener noreferrer' } : {})}>{children}</a>;
}

export function Switch({ label, checked, onChange, hint, disabled }: { label: string; checked: boolean; onChange: (now: boolean) => void; hint?: string; disabled?: boolean }) {
  const id = useId();
  return (
    <label class="switch">
      <input type="checkbox" role="switch" checked={checked} disabled={disabled} aria-describedby={hint ? id : undefined}
        onChange={event => onChange(event.currentTarget.checked)} />
      <span class="track" aria-hidden="true" />
      <span>{label}{hint && <small class="hint" id={id}>{hint}</small>}</span>
    </label>
  );
}

export function Checkbox({ label, checked, onChange, count }: { label: ComponentChildren; checked: boolean; onChange: (now: boolean) => void; count?: string }) {
  return (
    <label class="checkbox">
      <input type="checkbox" checked={checked} onChange={event => onChange(event.currentTarget.checked)} />
      <span dir="auto">{label}</span>
      {count !== undefined && <span class="count">{count}</span>}
    </label>
  );
}

export function Slider({ label, value, onInput, min = 0, max = 1, step = 0.01, low, high, show = String }: {
  label: string; value: number; onInput: (value: number) => void; min?: number; max?: number; step?: number; low?: string; high?: string; show?: (value: number) => string;
}) {
  const id = useId();
  return (
    <div class="slider">
      <label for={id}>{label} <output for={id}>{show(value)}</output></label>
      <input id={id} type="range" min={min} max={max} step={step} value={value} aria-valuetext={show(value)} onInput={event => onInput(Number(event.currentTarget.value))} />
      {(low || high) && <div class="ends" aria-hidden="true"><span>{low}</span><span>{high}</span></div>}
    </div>
  );
}

export function Chip({ children, onRemove, label, tone }: { children: ComponentChildren; onRemove?: () => void; label?: string; tone?: 'accent' }) {
  return (
    <span class={classes('chip', tone)} dir="auto">
      {children}
      {onRemove && <button type="button" aria-label={'Remove ' + (label ?? String(children))} onClick={onRemove}><Icon name="close" /></button>}
    </span>
  );
}

/** A few ways to look at the same thing: one is chosen, arrows go through them. */
export function Segments<T extends string>({ label, value, options, onChange }: {
  label: string; value: T; options: readonly { id: T; title: string; icon?: IconName }[]; onChange: (value: T) => void;
}) {
  const name = useId();
  return (
    <div class="segments" role="radiogroup" aria-label={label}>
      {options.map(one => (
        <label key={one.id} title={one.icon && one.title}>
          <input type="radio" name={name} checked={one.id === value} onChange={() => onChange(one.id)} aria-label={one.title} />
          <span>{one.icon ? <Icon name={one.icon} /> : one.title}</span>
        </label>
      ))}
    </div>
  );
}

export function Tabs<T extends string>({ label, value, options, onChange, children }: {
  label: string; value: T; options: readonly { id: T; title: string; count?: number }[]; onChange: (value: T) => void; children: ComponentChildren;
}) {
  const id = useId(), list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const place = options.findIndex(one => one.id === value), last = options.length - 1;
    const to = { ArrowRight: place === last ? 0 : place + 1, ArrowLeft: place <= 0 ? last : place - 1, Home: 0, End: last }[event.key];
    const next = to === undefined ? undefined : options[to];
    if (!next || to === undefined) return;
    event.preventDefault();
    onChange(next.id);
    (list.current?.children[to] as HTMLElement | undefined)?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {options.map(one => (
          <button key={one.id} type="button" role="tab" id={id + one.id} aria-selected={one.id === value} aria-controls={id} tabIndex={one.id === value ? 0 : -1}
            onClick={() => onChange(one.id)}>
            {one.title}{one.count !== undefined && <span class="count">{one.count}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={id} aria-labelledby={id + value} tabIndex={0}>{children}</div>
    </div>
  );
}
