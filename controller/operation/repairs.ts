import { isAbort, messageOf, Superseded } from '#base';
import { appKeyOf } from '#model';
import type { AppKey, Application, OperationState } from '#model';
import type { HandlerResult, Priority, WorkerSlot } from '#queues';
import type { Logger } from '#telemetry';
import type { ApplicationStore } from '../application/application-store.ts';
import { startRefusal } from '../application/application-writes.ts';
import { startedEvent } from '../application/events.ts';
import { compareLevel } from '../application/freshness.ts';
import type { RefreshRequest } from '../application/freshness.ts';
import type { AppMemories, UnrecordedRepair } from '../comparison/memory.ts';
import { operationName } from './operation-log.ts';

export interface RepairsDeps {
  readonly refresh: (key: AppKey, request: RefreshRequest, priority?: Priority) => void;
  readonly store: Pick<ApplicationStore, 'get' | 'announce'>;
  readonly memories: Pick<AppMemories, 'note' | 'peek' | 'records'>;
}

/** A repair that has ended, and the pass that records it. */
export interface EndedRepair {
  /** The Application without the operation. */
  readonly stored: Application;
  readonly state: OperationState;
  readonly place: WorkerSlot | undefined;
  readonly signal: AbortSignal;
}

/** The steps around the pass of a self-heal that is recorded after its writes. */
export class Repairs {
  readonly #deps: RepairsDeps;

  constructor(deps: RepairsDeps) {
    this.#deps = deps;
  }

  /** The Application with the operation of its repair; as stored if it has changed since. */
  begin(stored: Application, { before, state }: UnrecordedRepair): Application {
    if (startRefusal(stored, before, 1) === undefined)
      return { ...stored, operation: state.operation, status: { ...stored.status, operationState: state } };
    this.#decideAgain(appKeyOf(stored), 'the application changed before its repair');
    return stored;
  }

  /**
   * Runs the pass of a repair. One that does not succeed is decided again and recorded first, so
   * that messages, retries and waits are those of any operation.
   */
  async run<P>(
    key: AppKey,
    logger: Logger,
    signal: AbortSignal,
    pass: () => Promise<HandlerResult<P>>,
  ): Promise<HandlerResult<P>> {
    const repair = this.#deps.memories.peek(key)?.repair;
    try {
      return await pass();
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) return this.fail(key, logger, messageOf(error));
      this.#decideAgain(key, 'its repair was interrupted');
      throw error;
    } finally {
      // Another one may have been decided since.
      if (this.#deps.memories.peek(key)?.repair === repair) this.#forget(key);
    }
  }

  fail(key: AppKey, logger: Logger, why: string): 'done' {
    logger.info(`The repair is not recorded. What still differs is repaired by an operation: ${why}`);
    this.#deps.memories.note(key, { hasRepairFailed: true });
    this.#decideAgain(key, 'its repair is not recorded');
    return 'done';
  }

  /** Throws before each write of a repair once the Application has changed. */
  mayWrite(stored: Application): () => void {
    const key = appKeyOf(stored);
    return () => {
      const now = this.#deps.store.get(key);
      if (now === undefined || startRefusal(now, stored, 1) !== undefined) throw new Superseded(`the repair of ${key}`);
    };
  }

  /** Records a repair behind those that are due. An Event tells of one whose record is lost. */
  async record<T>({ stored, state, place, signal }: EndedRepair, write: () => Promise<T>): Promise<T> {
    const { store, memories, refresh } = this.#deps;
    const key = appKeyOf(stored);
    const turn = memories.records.wait(key, signal);
    refresh(key, { reason: 'a repair is to be recorded', cause: 'operation' }, 'live');
    try {
      await (place === undefined ? turn : place.releaseWhile(turn));
      store.announce(stored, startedEvent(state.operation));
      return await write();
    } catch (error) {
      const message = `${operationName(state)} succeeded, but is not recorded: ${messageOf(error)}`;
      store.announce(stored, { type: 'Normal', reason: 'OperationCompleted', message });
      throw error;
    }
  }

  #decideAgain(key: AppKey, reason: string): void {
    this.#forget(key);
    this.#deps.refresh(key, { level: compareLevel.recent, reason, cause: 'operation' });
  }

  #forget(key: AppKey): void {
    this.#deps.memories.note(key, { repair: undefined });
    this.#deps.memories.records.end(key);
  }
}
