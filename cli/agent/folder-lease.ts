import { DriftlessError, sleepOn } from '#base';
import type { Clock, JsonObject } from '#base';
import { apiResource, isAlreadyExists, isConflict, isNotFound } from '#kube';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';

const leases = apiResource('coordination.k8s.io/v1', 'Lease', 'leases', 'namespaced');
const sourceAnnotation = 'driftless.io/agent-source';
const leaseSeconds = 30;
const renewMs = 10_000;
const retryMs = 2000;

export interface FolderLeaseDeps {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace'>;
  readonly clock: Clock;
  readonly namespace: string;
  /** Name of the agent; the lease is `driftless-agent-<name>`. */
  readonly name: string;
  /** Identity of this process. */
  readonly holder: string;
  /** The folder, as one text without credentials. */
  readonly source: string;
  /** Called once for each other process that holds the lease. */
  readonly onHeld: (holder: string) => void;
}

/**
 * A Lease in the cluster that lets one agent at a time keep a folder. It prevents two agents from
 * taking turns in overwriting each other, and two folders from sharing a name, which would prune
 * each other's objects. Like client-go's leader election, it judges expiry by its own clock.
 */
export class FolderLease {
  readonly #deps: FolderLeaseDeps;
  #seen: { readonly version: string; readonly at: number } | undefined;
  #reported = '';
  #held: KubeObject | undefined;

  constructor(deps: FolderLeaseDeps) {
    this.#deps = deps;
  }

  /**
   * Waits until this process holds the lease.
   * @throws DriftlessError if the name belongs to another folder.
   */
  async acquire(signal: AbortSignal): Promise<void> {
    while (!(await this.#tryAcquire(signal))) await sleepOn(this.#deps.clock, retryMs, signal);
  }

  /**
   * Renews until `signal` aborts.
   * @throws DriftlessError when the lease is lost, or was not renewed in time.
   */
  async keep(signal: AbortSignal): Promise<void> {
    const { clock, holder } = this.#deps;
    for (let renewedAt = clock.monotonic(); await isAwake(clock, renewMs, signal);) {
      const sentAt = clock.monotonic();
      try {
        await this.#write(holder, signal);
        renewedAt = sentAt;
      } catch (error) {
        if (isNotFound(error)) throw this.#lost('it was deleted', error);
        if (isConflict(error) && (await this.#isTaken(signal))) throw this.#lost('another process has it', error);
        if (clock.monotonic() - renewedAt > (leaseSeconds - 10) * 1000)
          throw this.#lost('it could not be renewed in time', error);
      }
    }
  }

  /** Gives the lease up, so that the next agent need not wait for its expiry. */
  async release(signal: AbortSignal): Promise<void> {
    if (this.#held === undefined) return;
    // If this fails, the lease expires by itself.
    await this.#write('', signal).finally(() => (this.#held = undefined));
  }

  async #tryAcquire(signal: AbortSignal): Promise<boolean> {
    const { client, namespace } = this.#deps;
    try {
      const found = await client.get(leases, { namespace, name: this.#name }, { signal });
      this.#checkSource(found);
      if (!this.#isFree(found)) return false;
      this.#held = found;
      await this.#write(this.#deps.holder, signal);
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      if (!isNotFound(error)) throw error;
    }
    try {
      this.#held = await client.create(leases, this.#body(this.#deps.holder), { signal });
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }

  /**
   * After a conflict. Not taken: an earlier write of ours landed without its answer, or the lease
   * cannot be read now.
   */
  async #isTaken(signal: AbortSignal): Promise<boolean> {
    const { client, namespace, holder } = this.#deps;
    const at = { namespace, name: this.#name };
    const found = await client.get(leases, at, { signal, deadlineMs: renewMs }).catch(() => undefined);
    if (found === undefined) return false;
    if (specOf(found)['holderIdentity'] !== holder) return true;
    this.#held = found;
    return false;
  }

  get #name(): string {
    return `driftless-agent-${this.#deps.name}`;
  }

  #checkSource(found: KubeObject): void {
    const { source, name, namespace } = this.#deps;
    const other = found.metadata.annotations?.[sourceAnnotation];
    if (other === undefined || other === source) return;
    throw new DriftlessError(
      'AGENT_NAME_TAKEN',
      `the name ${name} belongs to ${other}, not to ${source}: set another --name, or delete lease/${this.#name} in namespace ${namespace} if that folder is no longer kept`,
      { retry: 'never' },
    );
  }

  /** Free: given up, our own, or unchanged for its whole duration while we watched it. */
  #isFree(found: KubeObject): boolean {
    const { clock, holder, onHeld } = this.#deps;
    const spec = specOf(found);
    const current = typeof spec['holderIdentity'] === 'string' ? spec['holderIdentity'] : '';
    if (current === '' || current === holder) return true;
    const version = found.metadata.resourceVersion ?? '';
    if (this.#seen?.version !== version) this.#seen = { version, at: clock.monotonic() };
    const seconds = Number(spec['leaseDurationSeconds'] ?? leaseSeconds);
    if (clock.monotonic() - this.#seen.at > seconds * 1000) return true;
    if (this.#reported !== current) onHeld(current);
    this.#reported = current;
    return false;
  }

  async #write(holder: string, signal: AbortSignal): Promise<void> {
    const resourceVersion = this.#held?.metadata.resourceVersion;
    const body = this.#body(holder, resourceVersion === undefined ? {} : { resourceVersion });
    this.#held = await this.#deps.client.replace(leases, body, { signal, deadlineMs: renewMs });
  }

  #body(holder: string, version: { readonly resourceVersion?: string } = {}): KubeObject {
    const { namespace, source, clock } = this.#deps;
    const now = new Date(clock.now()).toISOString().replace('Z', '000Z');
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: this.#name, namespace, annotations: { [sourceAnnotation]: source }, ...version },
      spec: { holderIdentity: holder, leaseDurationSeconds: leaseSeconds, renewTime: now },
    };
  }

  #lost(why: string, cause: unknown): DriftlessError {
    return new DriftlessError('AGENT_LEASE_LOST', `lost lease/${this.#name} (${why}): start the agent again`, {
      retry: 'never',
      cause,
    });
  }
}

/** Waits; false if the signal aborted. */
async function isAwake(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  await sleepOn(clock, ms, signal).catch(() => undefined);
  return !signal.aborted;
}

function specOf(lease: KubeObject): JsonObject {
  return (lease['spec'] ?? {}) as JsonObject;
}
