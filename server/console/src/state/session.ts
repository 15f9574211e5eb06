// The key that this tab works with. It is in the tab's storage, and gone when the tab is closed.
import { signal } from '@preact/signals';

const NAME = 'key';

function stored(): string {
  try { return sessionStorage.getItem(NAME) ?? ''; } catch { return ''; }
}

export const key = signal(stored());

/** Why the server wants a key, or another one; null while it wants none. */
export const wantsKey = signal<string | null>(null);

/** What the server has accepted the key for: methods with their paths. */
const accepted = new Set<string>();
const ACCEPTED_MOST = 1000;

export function proveKey(used: string, what: string) {
  if (!used || used !== key.peek()) return;
  if (accepted.size >= ACCEPTED_MOST) accepted.clear();
  accepted.add(what);
}

/** Asks for a key on a refusal that is about the key as a whole. One that lacks a right shows that where it is lacking; one that is refused what it could do before has expired. */
export function needKey(error: { code: string; message: string }, what: string) {
  if (error.code === 'missing_authorization_header') wantsKey.value = 'This server needs a key.';
  else if (error.code !== 'invalid_api_key') return;
  else if (accepted.size === 0) wantsKey.value = key.peek() ? 'This key is not accepted: ' + error.message : 'This server needs a key.';
  else if (accepted.has(what) && !/cannot acces/.test(error.message)) wantsKey.value = 'This key is no longer accepted: it has expired, or somebody has deleted it.';
}

export function signIn(value: string) {
  accepted.clear();
  try { sessionStorage.setItem(NAME, value); } catch { /* The key then lasts as long as the page. */ }
  key.value = value;
}

export function signedIn() {
  wantsKey.value = null;
}

export function signOut() {
  try { sessionStorage.removeItem(NAME); } catch { /* It was never there. */ }
  location.reload();
}
