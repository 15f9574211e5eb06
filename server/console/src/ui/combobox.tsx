// A field that knows the names there are: it offers them while someone types. Chosen names may be many, as chips.
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { best } from '../lib/fuzzy';
import { Chip, classes } from './controls';
import { Field, type FieldProps } from './fields';

export interface Choice { value: string; title?: string; about?: string }
const SHOWN = 50;

interface Usual extends FieldProps {
  options: readonly Choice[];
  placeholder?: string;
  /** Names that are not offered may be written as well. */
  free?: boolean;
  disabled?: boolean;
  /** `/` goes to it. */
  isSearch?: boolean;
}
export interface ComboboxProps extends Usual { value: string; onChange: (value: string) => void; onInput?: (text: string) => void }

export function Combobox({ value, onChange, onInput, options, free, placeholder, disabled, isSearch, ...field }: ComboboxProps) {
  const [text, setText] = useState<string | null>(null);
  const titleOf = (wanted: string) => options.find(one => one.value === wanted)?.title ?? wanted;
  return (
    <Field {...field}>
      {wiring => (
        <Picker wiring={wiring} text={text ?? titleOf(value)} options={options} typed={text ?? ''} placeholder={placeholder} disabled={disabled} isSearch={isSearch}
          onText={now => { setText(now); onInput?.(now); }}
          onPick={one => { setText(null); onChange(one); }}
          onLeave={() => { if (text !== null && free) onChange(text); setText(null); }} free={free} />
      )}
    </Field>
  );
}

export interface ChipsProps extends Usual { values: readonly string[]; onChange: (values: string[]) => void }
/** Several names: Enter or a comma adds one, Backspace in the empty field takes the last away. */
export function Chips({ values, onChange, options, free, placeholder, disabled, ...field }: ChipsProps) {
  const [text, setText] = useState('');
  const add = (one: string) => {
    const name = one.trim();
    setText('');
    if (name && !values.includes(name)) onChange([...values, name]);
  };
  return (
    <Field {...field}>
      {wiring => (
        <div class="chips-field">
          {values.map(one => <Chip key={one} label={one} onRemove={disabled ? undefined : () => onChange(values.filter(other => other !== one))}>{one}</Chip>)}
          <Picker wiring={wiring} text={text} typed={text} options={options.filter(one => !values.includes(one.value))} placeholder={values.length ? '' : placeholder}
            disabled={disabled} free={free} onText={now => { if (free && now.endsWith(',')) add(now.slice(0, -1)); else setText(now); }}
            onPick={add} onLeave={() => { if (free) add(text); else setText(''); }}
            onEmptyBack={() => { if (values.length) onChange(values.slice(0, -1)); }} />
        </div>
      )}
    </Field>
  );
}

interface PickerProps {
  wiring: { id: string; 'aria-describedby': string | undefined; 'aria-invalid': true | undefined };
  text: string;
  typed: string;
  options: readonly Choice[];
  placeholder?: string;
  disabled?: boolean;
  free?: boolean;
  isSearch?: boolean;
  onText: (text: string) => void;
  onPick: (value: string) => void;
  onLeave: () => void;
  onEmptyBack?: () => void;
}

function Picker({ wiring, text, typed, options, placeholder, disabled, free, isSearch, onText, onPick, onLeave, onEmptyBack }: PickerProps) {
  const [isOpen, setOpen] = useState(false), [chosen, setChosen] = useState<string | null>(null);
  const list = useRef<HTMLUListElement>(null), id = useId();
  // Of thousands of names none is looked at before somebody is at the field.
  const offered = isOpen ? best(options, typed, one => one.title ?? one.value, SHOWN) : [];
  // What the arrows stand on stays, when other names are offered meanwhile.
  const at = offered.findIndex(one => one.value === chosen), setAt = (place: number) => setChosen(offered[place]?.value ?? null);
  const isShown = isOpen && offered.length > 0;
  useEffect(() => { list.current?.children[at]?.scrollIntoView({ block: 'nearest' }); }, [at]);
  const pick = (one: Choice) => { setOpen(false); setAt(-1); onPick(one.value); };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      if (!isOpen) setOpen(true);
      setAt(Math.max(-1, Math.min(offered.length - 1, at + step)));
    } else if (event.key === 'Enter') {
      const one = isShown ? offered[at] ?? (free || !typed ? undefined : offered[0]) : undefined;
      if (one) { event.preventDefault(); pick(one); }
      else if (free && text) { event.preventDefault(); setOpen(false); onPick(text); }
    } else if (event.key === 'Escape' && isShown) {
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    } else if (event.key === 'Backspace' && !text) onEmptyBack?.();
  };
  return (
    <div class="picker">
      <input {...wiring} role="combobox" data-search={isSearch || undefined} aria-expanded={isShown} aria-controls={id} aria-autocomplete="list" aria-activedescendant={isShown && at >= 0 ? id + at : undefined}
        value={text} placeholder={placeholder} disabled={disabled} autocomplete="off" spellcheck={false}
        onInput={event => { setOpen(true); setAt(-1); onText(event.currentTarget.value); }}
        onFocus={event => { setOpen(true); event.currentTarget.select(); }} onClick={() => setOpen(true)} onBlur={() => { setOpen(false); onLeave(); }} onKeyDown={onKeyDown} />
      <ul class="listbox" role="listbox" id={id} ref={list} hidden={!isShown} aria-label="Known names">
        {isShown && offered.map((one, place) => (
          <li key={one.value} id={id + place} role="option" aria-selected={place === at} class={classes(place === at && 'at')} dir="auto"
            onMouseDown={event => { event.preventDefault(); pick(one); }}>
            <span>{one.title ?? one.value}</span>{one.about && <small>{one.about}</small>}
          </li>
        ))}
      </ul>
    </div>
  );
}
