import { createHash } from 'node:crypto';
import { splitUserInfo } from '#base';
import type { Clock } from '#base';
import { isConflict, isForbidden, isNotFound } from '#kube';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import { readableStem } from './identity.ts';
import { LeaseHolder, leases } from './lease-holder.ts';

const sourceAnnotation = 'driftless.io/agent-source';
const hashLength = 8;

export interface FormerLeaseDeps {
  readonly client: Pick<KubeClient, 'get' | 'delete'>;
  readonly clock: Clock;
  /** `--namespace`. */
  readonly namespace: string;
  /** `--name`, or "". */
  readonly name: string;
  readonly repository: string;
  readonly path: string;
}

/**
 * The Lease of version 0.2, which lay in the namespace of the objects and whose default name left
 * that namespace out. An agent of that version may still run: this one waits for it, and removes
 * its Lease. Its objects get this agent's mark when they are applied; none of them is pruned.
 */
export class FormerLease {
  readonly #deps: FormerLeaseDeps;
  readonly #holder: LeaseHolder;
  readonly #source: string;
  readonly #at: { readonly namespace: string; readonly name: string };
  #found: KubeObject | undefined;

  constructor(deps: FormerLeaseDeps) {
    const { clock, namespace, name, repository, path } = deps;
    this.#deps = deps;
    this.#holder = new LeaseHolder(clock);
    this.#source = `${splitUserInfo(repository).url}#${path}`;
    const hash = createHash('sha256').update(this.#source).digest('hex').slice(0, hashLength);
    const own = name === '' ? `${readableStem(repository, path)}-${hash}` : name;
    this.#at = { namespace, name: `driftless-agent-${own}` };
  }

  /** The agent that holds it; undefined: none does, or the Lease belongs to another folder. */
  async holder(signal: AbortSignal): Promise<string | undefined> {
    this.#found = await this.#read(signal);
    return this.#found === undefined ? undefined : this.#holder.of(this.#found);
  }

  /** Removes the Lease that `holder` found free. False: an agent took it in the meantime. */
  async remove(signal: AbortSignal): Promise<boolean> {
    const found = this.#found;
    if (found === undefined) return true;
    const { uid, resourceVersion } = found.metadata;
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    try {
      await this.#deps.client.delete(leases, this.#at, { signal, preconditions });
    } catch (error) {
      if (isConflict(error)) return false;
      // It stays free: an agent of that version could start, as it could without a Lease.
      if (!isNotFound(error) && !isForbidden(error)) throw error;
    }
    return true;
  }

  async #read(signal: AbortSignal): Promise<KubeObject | undefined> {
    try {
      const found = await this.#deps.client.get(leases, this.#at, { signal });
      return found.metadata.annotations?.[sourceAnnotation] === this.#source ? found : undefined;
    } catch (error) {
      // Without this right, no agent with this account has run in the namespace.
      if (isNotFound(error) || isForbidden(error)) return undefined;
      throw error;
    }
  }
}
