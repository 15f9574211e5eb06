import { go, hrefOf } from '../state/address';
import { closeToast, holdToast, releaseToast, toasts, type Toast } from '../state/toasts';
import { Button, IconButton, Link } from './controls';
import { Icon } from './icons';

/** Stands once in the page. Failures are read out at once, the rest when there is a pause. */
export function Toasts() {
  return (
    <section class="toasts" aria-label="Messages">
      <div role="status">{toasts.value.filter(one => one.tone !== 'bad').map(one => <One key={one.id} one={one} />)}</div>
      <div role="alert">{toasts.value.filter(one => one.tone === 'bad').map(one => <One key={one.id} one={one} />)}</div>
    </section>
  );
}

const ICONS = { info: 'info', good: 'check', warn: 'warn', bad: 'warn' } as const;

function One({ one }: { one: Toast }) {
  const task = one.task === undefined ? null : { view: 'tasks', params: { task: String(one.task) } };
  return (
    <div class={'toast ' + one.tone} onMouseEnter={() => holdToast(one.id)} onMouseLeave={() => releaseToast(one.id)} onFocusCapture={() => holdToast(one.id)} onBlurCapture={() => releaseToast(one.id)}>
      {one.tone === 'busy' ? <span class="spinner" aria-hidden="true" /> : <Icon name={ICONS[one.tone]} />}
      <div>
        <strong>{one.title}</strong>
        {one.text && <p dir="auto">{one.text}</p>}
        {(task || one.link || one.undo) && (
          <p class="toast-links">
            {one.undo && <Button size="s" icon="undo" onClick={() => { closeToast(one.id); void one.undo?.(); }}>Undo</Button>}
            {task && <Link href={hrefOf(task)} onGo={() => go(task)}>Task {one.task}</Link>}
            {one.link && <Link href={one.link} external>What to do</Link>}
          </p>
        )}
      </div>
      <IconButton icon="close" label="Close this message" size="s" onClick={() => closeToast(one.id)} />
    </div>
  );
}
