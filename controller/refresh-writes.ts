import { isAbort, messageOf } from '#base';
import { appKeyOf, instanceName } from '#model';
import type { AppKey, Application } from '#model';
import type { Fence, Publisher } from '#publish';
import type { AddOptions } from '#queues';
import type { AutosyncDecision } from './autosync.ts';
import { compareLevel, refreshAnnotation } from './freshness.ts';
import type { AskedRefresh, RefreshRequest } from './freshness.ts';
import { withSyncError } from './refresh.ts';
import type { Assessment, Found, Pass, RefreshEffects } from './refresh.ts';
import type { ApplicationStore } from './application-store.ts';

export interface RefreshWritesDeps {
  readonly store: ApplicationStore;
  readonly publisher: Publisher;
  /** Around what is published of an application: for as long as it is this replica's. */
  readonly fence: (key: AppKey) => Fence;
  readonly requeue: (key: AppKey, options: AddOptions<RefreshRequest>) => void;
  readonly startOperation: (key: AppKey) => void;
  /** The controller's own namespace. */
  readonly namespace: string;
}

/** The effects of the controller in charge: they publish, write what differs, and start automated syncs. */
export class RefreshWrites implements RefreshEffects {
  readonly #deps: RefreshWritesDeps;

  constructor(deps: RefreshWritesDeps) {
    this.#deps = deps;
  }

  request(_key: AppKey, queued: RefreshRequest | undefined): RefreshRequest | undefined {
    return queued;
  }

  async begin(app: Application): Promise<{ readonly before: Application; readonly asked: AskedRefresh | undefined }> {
    const { store } = this.#deps;
    const request = refreshAnnotation(app);
    const asked = request === undefined ? undefined : await store.markRefresh(app, request);
    return { asked, before: await store.normalize(store.get(appKeyOf(app)) ?? app) };
  }

  /** Redis down: the UI is blind, reconciling goes on. */
  async publish(pass: Pass, { tree, managed }: Assessment, signal: AbortSignal): Promise<void> {
    const { publisher, namespace, fence } = this.#deps;
    const terms = { signal, fence: fence(pass.key) };
    const instance = instanceName(pass.key, namespace);
    try {
      await publisher.setTree(instance, tree, terms);
      if (managed === undefined) return;
      await publisher.setManagedResources(instance, managed === 'none' ? undefined : managed, terms);
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
      pass.logger.warn('Unable to publish the state of an application', { error });
    }
  }

  async store(pass: Pass, { status, found }: Assessment): Promise<Application> {
    if (found?.finalizers !== undefined) await this.#setHookFinalizers(pass, found.finalizers);
    // By difference to what this pass read: what others wrote since (history, the operation) is not in the patch, and so not undone.
    return this.#deps.store.persistStatus(pass.before, status);
  }

  async act(pass: Pass, app: Application, { decision }: Found): Promise<void> {
    if (decision === undefined) return;
    delete pass.memory.waiting;
    if (decision.do === 'wait') {
      pass.memory.waiting = { what: decision.reason, since: pass.now, until: pass.now + decision.ms };
      const payload = { level: compareLevel.latest, reason: decision.reason };
      this.#deps.requeue(pass.key, { delayMs: decision.ms, priority: 'live', payload });
    }
    if (decision.do !== 'start') return;
    try {
      const result = await this.#deps.store.startOperation(app, decision.operation);
      if (result === 'changed')
        this.#deps.requeue(pass.key, { payload: { level: compareLevel.latest, reason: 'the last operation changed' } });
      if (result !== 'started') return;
      this.#announceStart(pass, app, decision);
    } catch (error) {
      if (isAbort(error)) throw error;
      const failed = withSyncError(app.status ?? {}, { do: 'refuse', message: messageOf(error) }, pass.time);
      await this.#deps.store.persistStatus(app, failed);
      throw error;
    }
  }

  answer(stored: Application, asked: AskedRefresh): Promise<boolean> {
    return this.#deps.store.consumeRefresh(stored, asked);
  }

  /** Before the status, as Argo CD: an application with delete hooks must not be deleted without them. A failure is only logged. */
  async #setHookFinalizers(pass: Pass, names: readonly string[]): Promise<void> {
    try {
      await this.#deps.store.setFinalizers(pass.before, names);
    } catch (error) {
      if (isAbort(error)) throw error;
      pass.logger.warn('Unable to update finalizers of delete hooks', { error });
    }
  }

  #announceStart(pass: Pass, app: Application, decision: AutosyncDecision & { readonly do: 'start' }): void {
    const sync = decision.operation.sync;
    const revisions = (sync?.revisions ?? [sync?.revision ?? '']).join(', ');
    pass.logger.info('Initiated automated sync', { reason: decision.reason });
    this.#deps.store.announce(app, {
      type: 'Normal',
      reason: 'OperationStarted',
      message: `Initiated automated sync to '${revisions}'`,
    });
    this.#deps.startOperation(pass.key);
  }
}
