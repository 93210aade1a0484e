import type { SyncedApplication } from './applications.ts';
import type { Server } from './support/index.ts';

/** The operations of each Application, by their start, with the last phase of each. */
export class OperationsSeen {
  readonly #seen = new Map<string, Map<string, string>>();
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  constructor(server: Server) {
    this.#watching = this.#watch(server).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) throw error;
    });
  }

  /** Phases, in the order of their starts. */
  of(name: string): readonly string[] {
    return [...(this.#seen.get(name) ?? [])].sort().map(([, phase]) => phase);
  }

  close(): Promise<void> {
    this.#stop.abort();
    return this.#watching;
  }

  async #watch(server: Server): Promise<void> {
    const path = '/apis/argoproj.io/v1alpha1/namespaces/argocd/applications?watch=true';
    for await (const { object } of server.api.watch(path, this.#stop.signal)) {
      const { metadata, status } = object as unknown as SyncedApplication;
      if (status?.operationState === undefined) continue;
      const { startedAt, phase, message } = status.operationState;
      const known = this.#seen.get(metadata.name) ?? new Map<string, string>();
      this.#seen.set(metadata.name, known.set(startedAt, phase === 'Succeeded' ? phase : `${phase}: ${message}`));
    }
  }
}
