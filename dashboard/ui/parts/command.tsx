import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

/** A command for a terminal, with a button that copies it. */
export function Command({ text }: { text: string }): JSX.Element {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready');
  const copy = (): void => {
    // Without HTTPS, a browser has no clipboard for pages.
    const written = (navigator as { clipboard?: Clipboard }).clipboard?.writeText(text) ?? Promise.reject(new Error());
    written.then(
      () => setState('copied'),
      () => setState('failed'),
    );
  };
  const action = state === 'copied' ? 'Copied' : 'Copy';
  return (
    <p class="command">
      <code>{text}</code>
      <button type="button" class="quiet" onClick={copy} aria-label={`${action} ${text}`}>
        {action}
      </button>
      {state === 'failed' && <small role="status">The browser does not permit it: select the text.</small>}
    </p>
  );
}

/** A word of a shell command: quoted unless it is plain. */
export function shellWord(word: string): string {
  return /^[\w./:@=,+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
