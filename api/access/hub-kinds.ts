import { abortable, newAbortController, withDeadline } from '#base';
import type { Clock } from '#base';
import type { KubeClient } from '#kube';
import type { GroupKind } from '#model';

/** The plural name of a kind in the cluster that answers the reviews; undefined: it has none. */
export type HubKinds = (kind: GroupKind, signal: AbortSignal) => Promise<string | undefined>;

const freshMs = 300_000;
/** A kind that is not known may be new. */
const retryMs = 30_000;
const deadlineMs = 10_000;

/** Reads the kinds of the cluster when they are asked for, and keeps their names. */
export function hubKindsOf(client: Pick<KubeClient, 'discover'>, clock: Clock): HubKinds {
  let known: { readonly at: number; readonly names: Promise<ReadonlyMap<string, string>> } | undefined;
  const read = (): Promise<ReadonlyMap<string, string>> => {
    const names = withDeadline(
      newAbortController().signal,
      { clock, limitMs: deadlineMs, what: 'the discovery of kinds' },
      async (signal) => {
        const { preferred, served } = await client.discover({ signal });
        const found = new Map<string, string>();
        for (const one of [...preferred, ...served]) if (!found.has(keyOf(one))) found.set(keyOf(one), one.resource);
        return found;
      },
    );
    const entry = { at: clock.monotonic(), names };
    known = entry;
    names.catch(() => {
      if (known === entry) known = undefined;
    });
    return names;
  };
  return async (kind, signal) => {
    const age = known === undefined ? Infinity : clock.monotonic() - known.at;
    const names = await abortable(known === undefined || age > freshMs ? read() : known.names, signal);
    const found = names.get(keyOf(kind));
    if (found !== undefined || age < retryMs) return found;
    return (await abortable(read(), signal)).get(keyOf(kind));
  };
}

function keyOf({ group, kind }: GroupKind): string {
  return `${group}/${kind}`;
}
