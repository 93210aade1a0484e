import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** A component whose code is loaded when it is shown first. */
export function lazy<P extends object>(load: () => Promise<(props: P) => JSX.Element>): ComponentType<P> {
  let loaded: ((props: P) => JSX.Element) | undefined;
  return function Lazy(props: P): JSX.Element {
    const [state, setState] = useState<'loading' | 'ready' | 'failed'>(loaded === undefined ? 'loading' : 'ready');
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then(
        (component) => {
          loaded = component;
          setState('ready');
        },
        () => setState('failed'),
      );
    }, []);
    if (loaded !== undefined) {
      const Component = loaded;
      return <Component {...props} />;
    }
    return (
      <p class="muted" role="status">
        {state === 'failed' ? 'This part of the page cannot be loaded. Reload the page.' : 'Loading …'}
      </p>
    );
  };
}
