import type { Clock, RandomSource } from '#base';
import { ApplyGate } from '#controller';
import type { ApplyIntent, WriterGate } from '#controller';
import { appKey } from '#model';
import type { GateMetrics, GateOptions, SyncGate } from './types.ts';

const defaultMaxEntries = 100_000;

/** The hash gate of the controller, for the writers of any number of clusters. */
export class OpenedGate implements SyncGate {
  readonly #gate: ApplyGate;
  readonly #misses = new Map<string, number>();
  readonly #servers = new Set<string>();
  #hits = 0;

  constructor({ maxEntries = defaultMaxEntries }: GateOptions, deps: { clock: Clock; random: RandomSource }) {
    const counts = {
      hit: () => {
        this.#hits += 1;
      },
      miss: (reason: string) => void this.#misses.set(reason, (this.#misses.get(reason) ?? 0) + 1),
    };
    this.#gate = new ApplyGate({ ...deps, counts, maxEntries });
  }

  metrics(): GateMetrics {
    const { size: entries, bytes } = this.#gate;
    return { hits: this.#hits, misses: Object.fromEntries(this.#misses), entries, bytes };
  }

  forget(): void {
    for (const server of this.#servers) this.#gate.forget(appKey('', server));
    this.#servers.clear();
  }

  /** @param manager field manager of the writes: each one owns fields of its own. */
  of(server: string, manager: string): WriterGate {
    const app = appKey('', server);
    const question = (intent: ApplyIntent): Parameters<ApplyGate['ask']>[0] => {
      this.#servers.add(server);
      return { ...intent, app, server, user: manager, differs: false };
    };
    return {
      ask: (intent) => this.#gate.ask(question(intent)),
      merged: (intent, unchanged) => this.#gate.merged(question(intent), unchanged),
    };
  }
}
