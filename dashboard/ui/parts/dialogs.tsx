import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { signIn, signInReason } from '../data/storage.ts';

/** Asks for a token. It stays in this tab. */
export function SignIn(): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    const text = field.current?.value ?? '';
    if (text.trim() !== '') signIn(text);
  };
  return (
    <main class="sign-in" id="main">
      <form class="panel" onSubmit={submit}>
        <h1>Driftless</h1>
        <p role="status">{signInReason.value}</p>
        <label for="token">Kubernetes token</label>
        <textarea id="token" ref={field} rows={4} autocomplete="off" spellcheck={false} aria-describedby="token-help" />
        <p id="token-help" class="muted">
          For example of <code>kubectl create token NAME</code>. You see what the API server shows to this token. It is
          kept in this tab only.
        </p>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
    </main>
  );
}

const shortcuts = [
  ['/', 'Search Applications'],
  ['j, k', 'Next or previous Application'],
  ['Enter', 'Open it'],
  ['s', 'Add to or remove from favourites'],
  ['g then f, a, c, t', 'Go to Fleet, Applications, Clusters, Time'],
  ['?', 'Show this list'],
  ['Esc', 'Close it, or leave the search'],
] as const;

export function Help({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="help-title">
      <h2 id="help-title">Keyboard shortcuts</h2>
      <dl class="keys">
        {shortcuts.map(([keys, text]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </dialog>
  );
}
