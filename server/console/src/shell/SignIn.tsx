// The server wants a key. It is tried before the page goes on.
import { useState } from 'preact/hooks';
import { get, post, Refused, route } from '../api/client';
import { bump } from '../api/tasks';
import { messageOf } from '../lib/text';
import { address, go } from '../state/address';
import { signedIn, signIn, wantsKey } from '../state/session';
import { Button, Mark, TextField } from '../ui';

export function SignIn() {
  const [text, setText] = useState(''), [index, setIndex] = useState(address.value.index), [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false), [isNarrow, setNarrow] = useState(false);
  const submit = async () => {
    setBusy(true);
    setError(null);
    signIn(text.trim());
    try {
      if (isNarrow && index) {
        await post(route('indexes', index, 'search'), { limit: 0 });
        go({ index });
      } else await get('/indexes', { query: { limit: 1 } });
      signedIn();
      bump();
    } catch (failure) {
      // A key that may only search is refused the list of indexes: it says which one it is for.
      if (failure instanceof Refused && failure.status === 403) setNarrow(true);
      setError(messageOf(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="gate">
      <form onSubmit={event => { event.preventDefault(); void submit(); }}>
        <Mark />
        <div><h1>Sign in</h1><p class="muted">{wantsKey.value}</p></div>
        <TextField label="API key" type="password" value={text} onInput={now => { setText(now); setError(null); }} error={error} hint="It stays in this tab, and is gone when the tab is closed." autoFocus />
        {isNarrow && <TextField label="Index" value={index} onInput={setIndex} hint="If the key may only search: the index that it is for." />}
        <Button kind="primary" type="submit" busy={busy} off={!text.trim() && 'Enter a key first.'}>Sign in</Button>
      </form>
    </main>
  );
}
