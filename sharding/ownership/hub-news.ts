import { isAbort } from '#base';
import type { Runnable } from '#base';
import { HubConfigMaps } from './config-maps.ts';
import type { HubConfigMapsDeps } from './config-maps.ts';
import { hubHints, relevantState } from '../documents/hub-hints.ts';
import type { HubHintsDeps } from '../documents/hub-hints.ts';
import { parseSlots, slotsConfigMap } from '../documents/slots-document.ts';

interface HubPolls extends HubConfigMapsDeps, Pick<HubHintsDeps, 'onSlots' | 'onNews'> {
  readonly pollMs: number;
}

/** After news more follows: the next owners acknowledge, and the planner publishes. */
const newsPollMs = 50;
const newsLastMs = 1000;

/** Hints by watches, or by polls if the hub cannot be watched. */
export function hubNews({
  pollMs,
  ...deps
}: HubHintsDeps & HubConfigMapsDeps & { readonly pollMs: number | undefined }): readonly Runnable[] {
  if (pollMs === undefined) return hubHints(deps);
  return [{ name: 'polls of the hub', run: (signal) => pollHub({ ...deps, pollMs }, signal) }];
}

/** Reads the slots only: they also show a new table, since its planner acknowledges it there. */
async function pollHub(deps: HubPolls, signal: AbortSignal): Promise<void> {
  const { clock, pollMs, onSlots, onNews } = deps;
  const configMaps = new HubConfigMaps(deps);
  let known: string | undefined;
  let newsAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    try {
      const isRecent = clock.monotonic() - newsAt < newsLastMs;
      await clock.sleep(isRecent ? Math.min(newsPollMs, pollMs) : pollMs, signal);
      const { found, object } = await configMaps.read(slotsConfigMap, ({ data = {} }) => parseSlots(data), signal);
      if (found.state === 'ok' && object !== undefined) onSlots(found.value, object);
      const news = found.state === 'ok' ? relevantState(found.value) : found.state;
      if (news === known) continue;
      if (known !== undefined) {
        newsAt = clock.monotonic();
        onNews('slots');
        onNews('table');
      }
      known = news;
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      // The coordinator reports what it cannot read.
    }
  }
}
