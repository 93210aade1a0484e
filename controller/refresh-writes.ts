import { isAbort, messageOf } from '#base';
import { appKeyOf, instanceName } from '#model';
import type { AppKey, Application, ApplicationStatus } from '#model';
import type { Fence, Publisher } from '#publish';
import type { AddOptions } from '#queues';
import type { AutosyncDecision } from './autosync.ts';
import { compareLevel, refreshAnnotation } from './freshness.ts';
import type { RefreshRequest } from './freshness.ts';
import { withSyncError } from './refresh.ts';
import type { Assessment, Begun, Pass, RefreshEffects, Settled } from './refresh.ts';
import type { ApplicationStore } from './application-store.ts';
import { statusPatch } from './status-patch.ts';

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

type StartDecision = AutosyncDecision & { readonly do: 'start' };

/** An automated sync that begins, and the status that says why. */
interface Start {
  readonly before: Application;
  readonly status: ApplicationStatus;
  readonly decision: StartDecision;
}

/**
 * Whether what a pass publishes may come a moment later: nobody asked for it, and no status is written after it. Argo CD's API server puts the tree's health
 * of each resource into the Application that it shows when a status is written; who reads an old one then is not told again.
 */
function mayWait({ asked, refresh, before }: Pass, { status, found }: Assessment): boolean {
  const isLive = asked === undefined && refresh.level <= compareLevel.recent;
  return isLive && found?.decision?.do !== 'start' && statusPatch(before.status, status) === undefined;
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

  async begin(app: Application): Promise<Begun> {
    const { store } = this.#deps;
    const request = refreshAnnotation(app);
    const asked = request === undefined ? undefined : await store.markRefresh(app, request);
    return { asked, before: await store.normalize(store.get(appKeyOf(app)) ?? app) };
  }

  /** Redis down: the UI is blind, reconciling goes on. */
  async publish(pass: Pass, assessment: Assessment, signal: AbortSignal): Promise<void> {
    const { publisher, namespace, fence } = this.#deps;
    const { tree, managed } = assessment;
    const terms = { signal, fence: fence(pass.key), mayWait: mayWait(pass, assessment) };
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

  /** What nobody asked for waits for the end of an operation that is being written: it was found against a status that is over then. */
  async settle(pass: Pass, { status, found }: Assessment): Promise<Settled> {
    if (pass.asked === undefined && pass.memory.ending === true)
      return { app: pass.before, answered: true, again: true };
    const before =
      found?.finalizers === undefined ? pass.before : await this.#setHookFinalizers(pass, found.finalizers);
    const decision = found?.decision;
    if (decision !== undefined) delete pass.memory.waiting;
    if (decision?.do === 'start') return this.#start(pass, { before, status, decision });
    const settled = await this.#deps.store.settle(before, status, pass.asked);
    if (decision?.do === 'wait') {
      pass.memory.waiting = { what: decision.reason, since: pass.now, until: pass.now + decision.ms };
      const payload = { level: compareLevel.latest, reason: decision.reason };
      this.#deps.requeue(pass.key, { delayMs: decision.ms, priority: 'live', payload });
    }
    return settled;
  }

  /** The request is taken away after the start: who waits for that then finds the operation. */
  async #start(pass: Pass, { before, status, decision }: Start): Promise<Settled> {
    const { store } = this.#deps;
    try {
      const { result, app } = await store.startOperation(before, decision.operation, status);
      if (result === 'changed')
        this.#deps.requeue(pass.key, { payload: { level: compareLevel.latest, reason: 'the last operation changed' } });
      if (result === 'started') {
        pass.memory.telling = {};
        this.#announceStart(pass, app, decision);
      }
      return { app, answered: pass.asked === undefined || (await store.consumeRefresh(app, pass.asked)) };
    } catch (error) {
      if (isAbort(error)) throw error;
      await store.persistStatus(before, withSyncError(status, { do: 'refuse', message: messageOf(error) }, pass.time));
      throw error;
    }
  }

  /** Before the status, as Argo CD: an application with delete hooks must not be deleted without them. A failure is only logged. */
  async #setHookFinalizers(pass: Pass, names: readonly string[]): Promise<Application> {
    try {
      const stored = await this.#deps.store.setFinalizers(pass.before, names);
      // Of the version that is stored now, with the status that this pass has read: differences are found against that one.
      return stored === undefined ? pass.before : { ...pass.before, metadata: stored.metadata };
    } catch (error) {
      if (isAbort(error)) throw error;
      pass.logger.warn('Unable to update finalizers of delete hooks', { error });
      return pass.before;
    }
  }

  #announceStart(pass: Pass, app: Application, decision: StartDecision): void {
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
