// Dialogs and drawers: the browser keeps the focus inside and gives it back. `confirm` and `askText` are awaited, in place of the browser's own.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../lib/text';
import { Button, classes, IconButton } from './controls';
import { TextField } from './fields';

export interface DialogProps {
  title: ComponentChildren;
  onClose: () => void;
  children: ComponentChildren;
  /** What stands below, to the right: Cancel first, then what is done. */
  actions?: ComponentChildren;
  size?: 's' | 'm' | 'l';
  /** From the side, over the page: what is beside it stays as it is. */
  drawer?: boolean;
  /** Something was written that is not saved: Escape and a click beside it ask first. */
  unsaved?: boolean;
  class?: string;
}

export function Dialog({ title, onClose, children, actions, size = 'm', drawer, unsaved, class: name }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null), id = useId();
  const leave = async () => { if (!unsaved || await confirm({ title: 'Discard your changes?', text: 'They are not saved.', action: 'Discard them', danger: true })) onClose(); };
  // Before it is seen: a key that is pressed then goes to it.
  useLayoutEffect(() => {
    const here = element.current, before = document.activeElement as HTMLElement | null;
    if (here && !here.open) here.showModal();
    return () => {
      if (here?.open) here.close();
      if (before?.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog ref={element} class={classes('dialog', drawer ? 'drawer' : 'size-' + size, name)} aria-labelledby={id}
      onCancel={event => { event.preventDefault(); void leave(); }} onMouseDown={event => { if (event.target === element.current) void leave(); }}>
      <div class="dialog-inside">
        <header><h2 id={id}>{title}</h2><IconButton icon="close" label="Close" onClick={leave} /></header>
        <div class="dialog-body">{children}</div>
        {actions && <footer>{actions}</footer>}
      </div>
    </dialog>
  );
}

export const Drawer = (props: Omit<DialogProps, 'drawer' | 'size'>) => <Dialog {...props} drawer />;

export interface Question {
  title: string;
  text?: ComponentChildren;
  /** What the button says: a verb. */
  action: string;
  danger?: boolean;
  /** What must be typed before: for what cannot be undone at all. */
  type?: string;
}
export interface TextQuestion {
  title: string;
  label: string;
  action: string;
  value?: string;
  hint?: string;
  /** Does it. A refusal that it throws is shown at the field, and the dialog stays. */
  run: (text: string) => Promise<unknown>;
}

const question = signal<(Question & { end: (isSo: boolean) => void }) | null>(null);
const textQuestion = signal<TextQuestion | null>(null);

export const confirm = (asked: Question) => new Promise<boolean>(resolve => {
  question.peek()?.end(false);
  question.value = { ...asked, end: isSo => { question.value = null; resolve(isSo); } };
});
export const askText = (asked: TextQuestion) => { textQuestion.value = asked; };

/** Stands once in the page. */
export function Questions() {
  return <>{question.value && <Confirm {...question.value} />}{textQuestion.value && <Ask {...textQuestion.value} />}</>;
}

function Confirm({ title, text, action, danger, type, end }: Question & { end: (isSo: boolean) => void }) {
  const [typed, setTyped] = useState('');
  const off = type !== undefined && typed !== type && `Type ${type} first.`;
  return (
    <Dialog title={title} size="s" onClose={() => end(false)} actions={<>
      <Button onClick={() => end(false)}>Cancel</Button>
      <Button kind={danger ? 'danger' : 'primary'} off={off} onClick={() => end(true)}>{action}</Button>
    </>}>
      {text && <p>{text}</p>}
      {type !== undefined && <TextField label={`Type “${type}” to confirm`} value={typed} onInput={setTyped} onEnter={() => { if (!off) end(true); }} />}
    </Dialog>
  );
}

function Ask({ title, label, action, value = '', hint, run }: TextQuestion) {
  const [text, setText] = useState(value), [error, setError] = useState<string | null>(null), [busy, setBusy] = useState(false);
  const close = () => { textQuestion.value = null; };
  const submit = async () => {
    if (busy || !text) return;
    setBusy(true);
    try {
      await run(text);
      close();
    } catch (failure) {
      setError(messageOf(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} size="s" onClose={close} actions={<>
      <Button onClick={close}>Cancel</Button>
      <Button kind="primary" busy={busy} off={!text && 'Enter something first.'} onClick={submit}>{action}</Button>
    </>}>
      <TextField label={label} value={text} onInput={now => { setText(now); setError(null); }} hint={hint} error={error} onEnter={submit} autoFocus />
    </Dialog>
  );
}
