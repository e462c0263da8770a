/** Where the console is not that of one person on loopback, everybody looks with a token of their own. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { post } from './store.ts';

export function SignIn({ onDone }: { onDone: () => void }): JSX.Element {
  const [token, setToken] = useState('');
  const [told, setTold] = useState('');
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setTold('…');
    const { ok, text } = await post('session', { token: token.trim() });
    setTold(ok ? '' : text);
    if (ok) onDone();
  };
  return (
    <main class="sign-in">
      <h1>Fenceline</h1>
      <p>
        You see and do what your own rights in this cluster allow. The token is kept by the console, for as long as you
        are signed in.
      </p>
      <form onSubmit={(event) => void submit(event)}>
        <label>
          Bearer token
          <input
            type="password"
            value={token}
            autocomplete="off"
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
        <p role="alert">{told}</p>
      </form>
      <p class="soft">
        A token for an hour: <code>kubectl create token NAME -n NAMESPACE</code>
      </p>
    </main>
  );
}
