// The key that this tab works with. It is in the tab's storage, and gone when the tab is closed.
import { signal } from '@preact/signals';

const NAME = 'key';

function stored(): string {
  try { return sessionStorage.getItem(NAME) ?? ''; } catch { return ''; }
}

export const key = signal(stored());

/** Why the server wants a key, or another one; null while it wants none. */
export const wantsKey = signal<string | null>(null);

/** The key that the server has accepted for something. */
let proven: string | null = null;

export function proveKey(used: string) {
  if (used !== key.peek()) return;
  if (used) proven = used;
}

/** Signs in on a refusal that is about the key as a whole. A known key that lacks one right shows that where it is lacking. */
export function needKey(error: { code: string; message: string }) {
  if (error.code === 'missing_authorization_header') wantsKey.value = 'This server needs a key.';
  else if (error.code === 'invalid_api_key' && proven !== key.peek()) {
    wantsKey.value = key.peek() ? 'This key is not accepted: ' + error.message : 'This server needs a key.';
  }
}

export function signIn(value: string) {
  proven = null;
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
