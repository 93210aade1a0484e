import { useEffect, useState } from 'preact/hooks';
import type { IncompletePart } from '../../../api/types.ts';
import { ownershipVersion } from './applications.ts';
import { getPage } from './client.ts';
import { token } from './storage.ts';
import { sleep } from './time.ts';

export interface PolledPage<T> {
  readonly page: T | undefined;
  /** Why the last request failed; the page before it stays. */
  readonly problem: string | undefined;
}

/** The members that each page of the API has. */
export interface AnyPage {
  readonly time: string;
  readonly incomplete: readonly IncompletePart[];
}

interface PolledState<T> extends PolledPage<T> {
  readonly path: string;
}

/** A page of the API, read again while this component is shown and the tab is visible. "": none. */
export function usePage<T extends AnyPage>(path: string, intervalMs: number): PolledPage<T> {
  const [state, setState] = useState<PolledState<T>>({ path, page: undefined, problem: undefined });
  const owners = ownershipVersion.value;
  const signedIn = token.value;
  useEffect(() => {
    if (path === '') return undefined;
    const stop = new AbortController();
    const run = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        if (!document.hidden) await readOnce<T>(path, stop.signal, setState);
        await sleep(intervalMs, stop.signal);
      }
    };
    void run();
    return () => stop.abort();
  }, [path, intervalMs, owners, signedIn]);
  return state.path === path ? state : { page: undefined, problem: undefined };
}

async function readOnce<T extends AnyPage>(
  path: string,
  signal: AbortSignal,
  setState: (update: (before: PolledState<T>) => PolledState<T>) => void,
): Promise<void> {
  try {
    const page = await getPage<T>(path, signal);
    if (!signal.aborted) setState(() => ({ path, page, problem: undefined }));
  } catch (error) {
    if (signal.aborted) return;
    const problem = error instanceof Error ? error.message : 'The page cannot be read.';
    setState((before) => ({ path, page: before.path === path ? before.page : undefined, problem }));
  }
}
