import { DriftlessError, systemClock } from '#base';
import type { ApiDiscovery, KubeClient } from '#kube';
import type { KubeObject } from '#model';
import type { ComparisonKind, SyncMethod } from '../../controller/testing/index.ts';
import { planSync, runSync, serverSideDiff } from '../../engine/sync.ts';
import type { SyncInputs } from '../../engine/sync.ts';
import { OpenedWriter } from '../../engine/sync/open-writer.ts';
import type { MatrixComparison, MatrixSync } from './matrix.ts';

const owner = { label: 'example.com/owner', value: 'matrix' };
const fieldManager = 'matrix-agent';

interface EngineSyncDeps {
  readonly client: KubeClient;
  readonly discovery: ApiDiscovery;
  readonly signal: AbortSignal;
}

/** Compares and syncs single objects by the engine, under a manager and an owner of its own. */
export class EngineSync implements MatrixSync {
  readonly #writer: OpenedWriter;
  readonly #signal: AbortSignal;

  constructor({ client, discovery, signal }: EngineSyncDeps) {
    const options = { dryRun: false, denied: () => undefined, gate: undefined, fieldManager };
    this.#writer = new OpenedWriter(client, discovery, options, systemClock);
    this.#signal = signal;
  }

  target(manifest: KubeObject): KubeObject {
    const labels = { ...manifest.metadata.labels, [owner.label]: owner.value };
    return { ...manifest, metadata: { ...manifest.metadata, labels } };
  }

  async compare(
    target: KubeObject,
    _live: KubeObject,
    { method, kind }: { readonly method: SyncMethod; readonly kind: ComparisonKind },
  ): Promise<MatrixComparison> {
    const inputs = this.#inputs(target, method);
    if (kind === 'local') {
      const [task] = await planSync(inputs);
      return { status: task?.action === 'unchanged' ? 'Synced' : 'OutOfSync', why: task?.problem ?? '' };
    }
    const [found] = await serverSideDiff(inputs);
    const why = found?.message ?? found?.diff?.paths.join(' ') ?? '';
    // A refused change is a difference, which the sync tries.
    return { status: found?.change === 'unchanged' ? 'Synced' : 'OutOfSync', why };
  }

  async sync(target: KubeObject, _live: KubeObject | null, method: SyncMethod): Promise<KubeObject> {
    const { phase, message, results } = await runSync(this.#inputs(target, method));
    const stored = await this.#writer.get(target, this.#signal);
    if (phase === 'Succeeded' && stored !== null) return stored;
    throw new DriftlessError('SYNC_FAILED', results[0]?.message ?? message);
  }

  #inputs(target: KubeObject, method: SyncMethod): SyncInputs {
    const options = {
      serverSideApply: method === 'server',
      replace: method === 'replace' || method === 'force replace',
      force: method === 'force' || method === 'force replace',
    };
    const [writer, signal] = [this.#writer, this.#signal];
    return { targets: [target], writer, namespace: 'cases', owner, options, signal, onWarning: () => undefined };
  }
}
