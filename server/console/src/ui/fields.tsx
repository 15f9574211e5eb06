// Fields: a label, a hint, and what is wrong with the value, in the server's words, at the control.
import type { ComponentChildren, Ref } from 'preact';
import { useId } from 'preact/hooks';
import { Icon } from './icons';

export interface FieldProps {
  label: string;
  /** The label is read to people, and not seen: where the place says what it is. */
  hideLabel?: boolean;
  hint?: ComponentChildren;
  error?: string | null;
}
export interface Wiring { id: string; 'aria-describedby': string | undefined; 'aria-invalid': true | undefined }

export function Field({ label, hideLabel, hint, error, children }: FieldProps & { children: (wiring: Wiring) => ComponentChildren }) {
  const id = useId(), about = id + 'about', wrong = id + 'wrong';
  const described = [hint && about, error && wrong].filter(Boolean).join(' ') || undefined;
  return (
    <div class="field">
      <label for={id} class={hideLabel ? 'unseen' : undefined}>{label}</label>
      {children({ id, 'aria-describedby': described, 'aria-invalid': error ? true : undefined })}
      {error && <p class="wrong" id={wrong} role="alert"><Icon name="warn" />{error}</p>}
      {hint && <p class="hint" id={about}>{hint}</p>}
    </div>
  );
}

export interface TextFieldProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  onEnter?: () => void;
  type?: 'text' | 'search' | 'password' | 'number' | 'date' | 'datetime-local' | 'url';
  placeholder?: string;
  min?: number | string;
  max?: number | string;
  step?: number | 'any';
  mono?: boolean;
  required?: boolean;
  disabled?: boolean;
  autoFocus?: boolean;
  /** `/` goes to it. */
  isSearch?: boolean;
  list?: string;
  inputRef?: Ref<HTMLInputElement>;
}

export function TextField({ value, onInput, onEnter, type = 'text', mono, isSearch, inputRef, label, hideLabel, hint, error, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hideLabel={hideLabel} hint={hint} error={error}>
      {wiring => (
        <input {...wiring} {...rest} ref={inputRef} type={type as 'text'} value={value} class={mono ? 'mono' : undefined} autocomplete="off" spellcheck={false}
          data-search={isSearch || undefined} onInput={event => onInput(event.currentTarget.value)}
          onKeyDown={event => { if (event.key === 'Enter' && onEnter) { event.preventDefault(); onEnter(); } }} />
      )}
    </Field>
  );
}

export interface TextAreaProps extends FieldProps { value: string; onInput: (value: string) => void; rows?: number; mono?: boolean; placeholder?: string; disabled?: boolean }
export function TextArea({ value, onInput, rows = 4, mono, label, hideLabel, hint, error, ...rest }: TextAreaProps) {
  return (
    <Field label={label} hideLabel={hideLabel} hint={hint} error={error}>
      {wiring => <textarea {...wiring} {...rest} rows={rows} value={value} class={mono ? 'mono' : undefined} spellcheck={!mono} onInput={event => onInput(event.currentTarget.value)} />}
    </Field>
  );
}

export interface Option<T extends string = string> { value: T; title: string; disabled?: boolean }
export interface SelectProps<T extends string> extends FieldProps { value: T; options: readonly Option<T>[]; onChange: (value: T) => void; disabled?: boolean }
export function Select<T extends string>({ value, options, onChange, disabled, label, hideLabel, hint, error }: SelectProps<T>) {
  return (
    <Field label={label} hideLabel={hideLabel} hint={hint} error={error}>
      {wiring => (
        <select {...wiring} value={value} disabled={disabled} onChange={event => onChange(event.currentTarget.value as T)}>
          {options.map(one => <option key={one.value} value={one.value} disabled={one.disabled}>{one.title}</option>)}
        </select>
      )}
    </Field>
  );
}
