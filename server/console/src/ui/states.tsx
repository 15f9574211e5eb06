// Every state that something loaded can be in: under way, empty, failed, there.
import type { ComponentChildren } from 'preact';
import { Away, Refused } from '../api/client';
import type { Resource } from '../api/resource';
import { messageOf } from '../lib/text';
import { wantsKey } from '../state/session';
import { Button, Link } from './controls';
import { Icon, type IconName } from './icons';

export function Empty({ icon = 'search', title, children, actions }: { icon?: IconName; title: string; children?: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <div class="empty">
      <span class="empty-icon"><Icon name={icon} /></span>
      <h2>{title}</h2>
      {children && <div class="empty-text">{children}</div>}
      {actions && <div class="row centre">{actions}</div>}
    </div>
  );
}

/** A failure, in the server's words, with what to do; nothing where nothing failed. Where a control is to blame, say it there instead: `atControls`. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const isKey = error instanceof Refused && error.status === 403;
  return error === null || error === undefined ? null : (
    <div class="failure" role="alert">
      <Icon name="warn" />
      <div>
        <p dir="auto">{messageOf(error)}</p>
        <p class="row">
          {error instanceof Refused && error.link && <Link href={error.link} external>What to do</Link>}
          {isKey && <Button size="s" icon="keys" onClick={() => { wantsKey.value = error.message; }}>Use another key</Button>}
          {onRetry && !isKey && <Button size="s" icon="refresh" onClick={onRetry}>Try again</Button>}
        </p>
      </div>
    </div>
  );
}

export function Skeleton({ lines = 3, height }: { lines?: number; height?: number }) {
  return <div class="skeleton" aria-hidden="true">{Array.from({ length: lines }, (_, place) => <span key={place} style={height ? { height: height + 'px' } : undefined} />)}</div>;
}

export function Loading({ what = 'Loading', lines }: { what?: string; lines?: number }) {
  return <div class="loading" role="status" aria-label={what}><Skeleton lines={lines ?? 4} /></div>;
}

/** What a resource has, in each of its states. What was there stays while it loads anew, and beside a failure. */
export function Loaded<T>({ of, children, isEmpty, empty, lines }: {
  of: Resource<T>; children: (data: T) => ComponentChildren; isEmpty?: (data: T) => boolean; empty?: ComponentChildren; lines?: number;
}) {
  const { data, error, reload } = of;
  return (
    <>
      {error !== undefined && !(error instanceof Away && data !== undefined) && <Failure error={error} onRetry={reload} />}
      {data === undefined ? (error === undefined && <Loading lines={lines} />) : isEmpty?.(data) ? empty : children(data)}
    </>
  );
}
