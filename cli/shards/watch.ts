import { abortable, isObject, systemClock, systemRandom } from '#base';
import { createInformer, createKubeClient } from '#kube';
import type { Informer } from '#kube';
import { heldSlots, parseSlots, parseTable, slotsConfigMap, tableConfigMap } from '#sharding';
import { silentLogger } from '#telemetry';
import { hubKinds, loadConnection } from '../process/hub.ts';
import type { CommandOutput } from '../process/output.ts';
import { progressJson, progressLines, progressOf, progressTable } from './progress.ts';
import type { FleetProgress } from './progress.ts';

export interface WatchQuery {
  /** Empty: the in-cluster configuration. */
  readonly kubeconfig: string;
  readonly context: string;
  readonly namespace: string;
  readonly isJson: boolean;
  readonly output: CommandOutput;
  readonly signal: AbortSignal;
}

/** Debounce: a hand-over consists of several writes within a fraction of a second. */
const settleMs = 50;
const clearScreen = '\u001b[H\u001b[J';

/**
 * Follows shard holders and moves until `signal` aborts: as a redrawn table on a terminal, a line
 * per changed shard in a pipe, an object per change with `-o json`. Reads two ConfigMaps only.
 */
export async function watchShards(query: WatchQuery): Promise<void> {
  const { kubeconfig, context, output, signal } = query;
  const loaded = await loadConnection(kubeconfig, context);
  const surroundings = { clock: systemClock, random: systemRandom, logger: silentLogger };
  const client = createKubeClient(loaded.connection, { ...surroundings, userAgent: 'driftless-shards' });
  const namespace = query.namespace === '' ? loaded.namespace : query.namespace;
  const [slots, table] = [slotsConfigMap, tableConfigMap].map((name) =>
    createInformer({
      ...surroundings,
      client,
      resource: hubKinds.configMaps,
      namespace,
      fieldSelector: `metadata.name=${name}`,
    }),
  ) as [Informer, Informer];
  const screen = new TerminalScreen(query);
  // Also shows an empty state.
  let hasNews = true;
  const stops = [slots, table].map((informer) => informer.onEvent(() => (hasNews = true)));
  const draw = (): void => {
    for (const informer of [slots, table]) {
      const state = informer.state();
      if ('message' in state) output.progress(`driftless: cannot watch namespace ${namespace}: ${state.message}`);
    }
    if (!hasNews || !slots.synced() || !table.synced()) return;
    hasNews = false;
    screen.draw(progressIn({ slots, table, namespace }));
  };
  try {
    const running = Promise.all([slots, table].map((informer) => informer.run(signal)));
    const looking = (async () => {
      while (!signal.aborted) {
        draw();
        await systemClock.sleep(settleMs, signal);
      }
    })();
    await abortable(Promise.all([running, looking]), signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    for (const stop of stops) stop();
    await client.close();
  }
}

interface WatchedConfigMaps {
  readonly slots: Informer;
  readonly table: Informer;
  readonly namespace: string;
}

function progressIn({ slots, table, namespace }: WatchedConfigMaps): FleetProgress {
  const data = slots.get(`${namespace}/${slotsConfigMap}`)?.['data'];
  const holders = parseSlots(isObject(data) ? data : {});
  const object = table.get(`${namespace}/${tableConfigMap}`);
  const found = object === undefined ? undefined : parseTable(object as Parameters<typeof parseTable>[0]);
  return progressOf(
    holders.state === 'ok' ? heldSlots(holders.value) : new Map(),
    found?.state === 'ok' ? found.value : undefined,
  );
}

/** Shows each state once. */
class TerminalScreen {
  readonly #query: Pick<WatchQuery, 'isJson' | 'output'>;
  #last: FleetProgress | undefined;
  #text = '';

  constructor(query: Pick<WatchQuery, 'isJson' | 'output'>) {
    this.#query = query;
  }

  draw(progress: FleetProgress): void {
    const text = JSON.stringify(progress);
    if (text === this.#text) return;
    const { isJson, output } = this.#query;
    const time = new Date(systemClock.now()).toISOString();
    const lines = progressLines(this.#last, progress, time);
    [this.#last, this.#text] = [progress, text];
    if (isJson) output.out(JSON.stringify(progressJson(progress, time)));
    else if (output.screen === true) output.out(clearScreen + progressTable(progress, time).join('\n'));
    else for (const line of lines) output.out(line);
  }
}
