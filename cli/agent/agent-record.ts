import { DriftlessError, messageOf, omit, sleepOn } from '#base';
import type { Clock } from '#base';
import { isAlreadyExists, isConflict, isForbidden, isNotFound, unlessNotFound } from '#kube';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import { isPassing } from '../process/hub.ts';
import type { FormerLease } from './former-lease.ts';
import {
  bindingText,
  isSameBinding,
  newMark,
  reachIdOf,
  readRecord,
  recordAnnotations,
  recordedAs,
  recordName,
  recordNamespace,
  takeOverCommand,
} from './identity.ts';
import type { AgentBinding } from './identity.ts';
import { keptAs, readKept } from './kept-revision.ts';
import type { KeptRevision } from './kept-revision.ts';
import { kindsAs, readKinds } from './recorded-kinds.ts';
import { clusterIdOf, createRecordNamespace, protectRecordNamespace } from './record-namespace.ts';
import { LeaseHolder, leases, leaseSeconds, specOf } from './lease-holder.ts';

const renewMs = 10_000;
const retryMs = 2000;
const renewAttempts = 3;

export interface AgentRecordDeps {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace' | 'patch'>;
  readonly clock: Clock;
  readonly name: string;
  readonly binding: AgentBinding;
  /** The namespaces that the agent reads; empty: the whole cluster. */
  readonly namespaces: readonly string[];
  /** Identity of this process. */
  readonly holder: string;
  readonly former: Pick<FormerLease, 'holder' | 'remove'>;
  /** Called for each new reason to wait. */
  readonly onWaiting: (reason: string) => void;
  /** Called when a user requests a refresh with an annotation of the record. */
  readonly onRefresh: () => void;
}

/** Facts that one process stores in the record, and the next one reads. */
interface RecordContent {
  readonly revision?: KeptRevision | undefined;
  readonly kinds?: readonly string[] | undefined;
}

/**
 * The record of an identity: one Lease per name, in a fixed namespace of the cluster. It binds the
 * name to a repository, a path and a namespace, so that no other folder prunes by this name; it has
 * the mark of the objects; and its holder is the one process that keeps the folder. A Lease,
 * because agents never apply or prune Leases: no folder can contain the record of its agent.
 */
export class AgentRecord {
  readonly #deps: AgentRecordDeps;
  readonly #holder: LeaseHolder;
  #reported = '';
  #held: KubeObject | undefined;
  #mark = '';
  #renewedAt = -Infinity;
  #content: RecordContent = {};
  #storedContent = this.#content;
  #keptRefusal: string | undefined;
  /** The last write of this process: one at a time. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(deps: AgentRecordDeps) {
    this.#deps = deps;
    this.#holder = new LeaseHolder(deps.clock);
  }

  /**
   * Waits until this process holds the record. Resolves with the mark of its objects.
   * @throws DriftlessError if the name is bound to something else, or the record is unusable.
   */
  async acquire(signal: AbortSignal): Promise<string> {
    while (!(await this.#attempt(signal))) await sleepOn(this.#deps.clock, retryMs, signal);
    return this.#mark;
  }

  /**
   * Renews until `signal` aborts.
   * @throws DriftlessError when the record is lost, or was not renewed in time.
   */
  async keep(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (await isAwake(clock, renewMs, signal)) {
      try {
        await this.#inTurn(() => this.#renew(signal));
      } catch (error) {
        if (error instanceof LostRecord) throw error;
        if (isNotFound(error)) throw this.#lost('it was deleted', error);
        if (clock.monotonic() - this.#renewedAt > (leaseSeconds - 10) * 1000)
          throw this.#lost(`it could not be renewed in time: ${messageOf(error)}`, error);
      }
    }
  }

  /** @throws LostRecord once another process may hold the record: nothing may be written then. */
  check(): void {
    if (this.#deps.clock.monotonic() - this.#renewedAt >= leaseSeconds * 1000)
      throw this.#lost('it was not renewed in time', undefined);
  }

  /**
   * The commit of the folder in the acquired record. A refusal tells why the one that is there is
   * not used.
   */
  get kept(): { readonly revision?: KeptRevision | undefined; readonly refusal?: string | undefined } {
    return { revision: this.#content.revision, refusal: this.#keptRefusal && `${this.#where()}: ${this.#keptRefusal}` };
  }

  /** The commit from which objects are applied from now on. */
  keepRevision(kept: KeptRevision): void {
    const { revision, source } = this.#content.revision ?? {};
    if (revision !== kept.revision || source !== kept.source) this.#content = { ...this.#content, revision: kept };
  }

  /** The kinds that may have objects of this agent; undefined: any. */
  get kinds(): readonly string[] | undefined {
    return this.#content.kinds;
  }

  keepKinds(kinds: readonly string[]): void {
    this.#content = { ...this.#content, kinds };
  }

  /**
   * Waits until the record names the commit in force and the kinds. Without that, a later process
   * could repair drift by an older commit, or never find an object that left the folder.
   */
  async stored(signal: AbortSignal): Promise<void> {
    if (this.#content === this.#storedContent) return;
    await this.#inTurn(async () => {
      if (this.#content !== this.#storedContent) await this.#renew(signal);
    });
  }

  /** Gives the record up, so that the next agent need not wait for its expiry. */
  async release(signal: AbortSignal): Promise<void> {
    if (this.#held === undefined) return;
    // If this fails, the holder expires by itself.
    await this.#inTurn(() => this.#write('', signal)).finally(() => (this.#held = undefined));
  }

  async #attempt(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#tryAcquire(signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DriftlessError && error.code.startsWith('AGENT_')) throw error;
      if (!isPassing(error)) throw this.#unusable(messageOf(error), error);
      this.#report(`${this.#where()} cannot be used: ${messageOf(error)}`);
      return false;
    }
  }

  async #tryAcquire(signal: AbortSignal): Promise<boolean> {
    const { client, holder, former } = this.#deps;
    const earlier = await former.holder(signal);
    if (earlier !== undefined) return this.#wait(`agent ${earlier} of version 0.2`);
    const found = await unlessNotFound(client.get(leases, this.#at, { signal }));
    if (found !== undefined) {
      this.#mark = this.#markIn(found);
      this.#readContent(found);
      const other = this.#holder.of(found);
      if (other !== undefined && other !== holder) return this.#wait(`agent ${other}`);
    }
    try {
      if (found === undefined) await this.#create(signal);
      else this.#held = found;
      if (found !== undefined) await this.#write(holder, signal);
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error)) return false;
      throw error;
    }
    await protectRecordNamespace(client, signal);
    if (await former.remove(signal)) return true;
    await this.release(signal);
    return false;
  }

  #readContent(found: KubeObject): void {
    this.#content = { kinds: readKinds(found, this.#reachIdOf(found)) };
    this.#keptRefusal = undefined;
    try {
      this.#content = { ...this.#content, revision: readKept(found) };
    } catch (error) {
      this.#keptRefusal = messageOf(error);
    }
  }

  #wait(who: string): boolean {
    this.#report(`${who} keeps ${bindingText(this.#deps.binding)}`);
    return false;
  }

  #report(reason: string): void {
    if (this.#reported !== reason) this.#deps.onWaiting(reason);
    this.#reported = reason;
  }

  /** The mark in a record. @throws DriftlessError if the record is not one of this binding. */
  #markIn(found: KubeObject): string {
    const { name, binding } = this.#deps;
    const record = readRecord(found.metadata.annotations);
    if (record === undefined)
      throw this.#unusable(
        'its annotations driftless.io/agent-… are incomplete or were edited: restore them, or delete it; the agent then gives its objects a new mark',
      );
    if (isSameBinding(record.binding, binding)) return record.mark;
    throw new DriftlessError(
      'AGENT_NAME_TAKEN',
      `the name ${name} belongs to ${bindingText(record.binding)}, not to ${bindingText(binding)}: set another --name. ` +
        `To take the name over with its objects (with --prune, those that are not in this folder are deleted): ${takeOverCommand(name, binding)}`,
      { retry: 'never' },
    );
  }

  async #create(signal: AbortSignal): Promise<void> {
    const { client, binding, holder } = this.#deps;
    this.#mark = newMark(await clusterIdOf(client, signal), binding);
    // There may have been a record before, which was deleted.
    this.#content = {};
    this.#storedContent = this.#content;
    const create = (): Promise<KubeObject> => client.create(leases, this.#body(holder, undefined), { signal });
    this.#renewedAt = this.#deps.clock.monotonic();
    const created = await unlessNotFound(create());
    if (created === undefined) await createRecordNamespace(client, signal);
    this.#held = created ?? (await create());
  }

  #inTurn(write: () => Promise<void>): Promise<void> {
    const written = this.#writing.then(write);
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #renew(signal: AbortSignal): Promise<void> {
    if (this.#held === undefined) throw this.#lost('it was given up', undefined);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#write(this.#deps.holder, signal);
        return;
      } catch (error) {
        if (!isConflict(error) || attempt === renewAttempts) throw error;
        await this.#readAgain(error, signal);
      }
    }
  }

  /** A conflict means that an earlier write of ours had no response, or that a user edited it. */
  async #readAgain(cause: unknown, signal: AbortSignal): Promise<void> {
    const { client, holder, binding, onRefresh } = this.#deps;
    const found = await client.get(leases, this.#at, { signal, deadlineMs: renewMs });
    const record = readRecord(found.metadata.annotations);
    if (record === undefined) throw this.#lost('its annotations were edited', cause);
    if (!isSameBinding(record.binding, binding))
      throw this.#lost(`it was given to ${bindingText(record.binding)}`, cause);
    if (record.mark !== this.#mark) throw this.#lost('its mark was edited', cause);
    if (specOf(found)['holderIdentity'] !== holder) throw this.#lost('another process has it', cause);
    this.#held = found;
    if (found.metadata.annotations?.[recordAnnotations.refresh] !== undefined) onRefresh();
  }

  get #at(): { readonly namespace: string; readonly name: string } {
    return { namespace: recordNamespace, name: recordName(this.#deps.name) };
  }

  #reachIdOf({ metadata }: KubeObject): string {
    return reachIdOf(metadata.uid ?? '', this.#deps.binding, this.#deps.namespaces);
  }

  #where(): string {
    return `lease/${recordName(this.#deps.name)} in namespace ${recordNamespace}`;
  }

  async #write(holder: string, signal: AbortSignal): Promise<void> {
    const content = this.#content;
    const body = this.#body(holder, this.#held);
    const sentAt = this.#deps.clock.monotonic();
    this.#held = await this.#deps.client.replace(leases, body, { signal, deadlineMs: renewMs });
    this.#renewedAt = sentAt;
    this.#storedContent = content;
  }

  #body(holder: string, before: KubeObject | undefined): KubeObject {
    const { binding, clock } = this.#deps;
    const now = new Date(clock.now()).toISOString().replace('Z', '000Z');
    const { refresh, ...ours } = recordAnnotations;
    const annotations = omit(before?.metadata.annotations ?? {}, refresh, ours.revision, ours.kinds);
    const { revision, kinds } = this.#content;
    const { resourceVersion, labels } = before?.metadata ?? {};
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        ...this.#at,
        ...(labels && { labels }),
        annotations: {
          ...annotations,
          ...recordedAs(binding, this.#mark),
          ...(revision && keptAs(revision, now)),
          ...(kinds && before && kindsAs(kinds, this.#reachIdOf(before), now)),
        },
        ...(resourceVersion && { resourceVersion }),
      },
      spec: { holderIdentity: holder, leaseDurationSeconds: leaseSeconds, renewTime: now },
    };
  }

  #unusable(why: string, cause?: unknown): DriftlessError {
    const needs = isForbidden(cause)
      ? `. The agent needs get, create and update on leases in namespace ${recordNamespace} (manifests/agent.yaml)`
      : '';
    return new DriftlessError(
      'AGENT_RECORD',
      `${this.#where()} cannot be used, so nothing was applied or pruned: ${why}${needs}`,
      { retry: 'never', cause },
    );
  }

  #lost(why: string, cause: unknown): LostRecord {
    return new LostRecord(`lost ${this.#where()} (${why}): nothing is pruned any more; start the agent again`, cause);
  }
}

/** This process must stop: another one may keep the folder, or the name. */
export class LostRecord extends DriftlessError {
  constructor(message: string, cause: unknown) {
    super('AGENT_LEASE_LOST', message, { retry: 'never', cause });
  }
}

/** Waits; false if the signal aborted. */
async function isAwake(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  await sleepOn(clock, ms, signal).catch(() => undefined);
  return !signal.aborted;
}
