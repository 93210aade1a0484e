import { DriftlessError } from '#base';
import type { ApplicationCondition } from '#model';
import type { WaitReason } from './waits.ts';

/** When a source or setting that cannot be read is read again. */
export const unreadableRetryMs = 30_000;

/**
 * The Application's project does not allow a write to a managed cluster; the project must change.
 * The message is Argo CD's.
 */
export class PolicyDenied extends DriftlessError {
  constructor(message: string) {
    super('POLICY_DENIED', message, { retry: 'never' });
  }
}

/**
 * The cluster does not serve the object's kind: install its CRD, or correct apiVersion and kind.
 */
export class UnknownKind extends DriftlessError {
  constructor(group: string, kind: string, version: string) {
    super('UNKNOWN_KIND', `the server could not find the requested resource`, { fields: { group, kind, version } });
  }
}

/** The Application changed between our read and our write; the caller must read it again. */
export class ApplicationChanged extends DriftlessError {
  constructor(key: string) {
    super('APPLICATION_CHANGED', `application ${key} changed in the meantime`);
  }
}

/**
 * The source could not be read; its last comparison is recent enough to keep until the next retry.
 */
export class SourceUnavailable extends DriftlessError {
  /** Delay before the retry. */
  readonly afterMs = unreadableRetryMs;
  readonly reason: WaitReason;

  constructor(cause: unknown, what: string) {
    super('SOURCE_UNAVAILABLE', what, { cause, retry: { afterMs: unreadableRetryMs } });
    this.reason = { cause: 'source', what };
  }
}

/** A live object changed while the source was slow: the pass goes on without its answer. */
export class SourceSlow extends DriftlessError {
  constructor() {
    super('SOURCE_SLOW', 'the source has not answered yet');
  }
}

/**
 * The source must not be rendered: the project forbids it, or a signature is missing. Retrying does
 * not help.
 */
export class SourceRefused extends DriftlessError {
  readonly condition: ApplicationCondition;

  constructor(condition: ApplicationCondition) {
    super('SOURCE_REFUSED', condition.message, { retry: 'never' });
    this.condition = condition;
  }
}

/** The project's signature rules conflict or cannot be parsed; the project must change. */
export class IntegrityRulesUnusable extends DriftlessError {
  constructor(message: string) {
    super('INTEGRITY_RULES', message, { retry: 'never' });
  }
}

/**
 * The Application cannot use the AppProject that it names. `missing`: the AppProject does not
 * exist.
 */
export class ProjectUnusable extends DriftlessError {
  readonly missing: boolean;

  constructor(message: string, missing: boolean) {
    super('PROJECT_UNUSABLE', message, { retry: 'never' });
    this.missing = missing;
  }
}

/** A setting that narrows every write cannot be read, and no value of it is known. */
export class SettingsUnreadable extends ProjectUnusable {
  constructor(message: string) {
    super(message, false);
  }
}

/** The deletion of an Application cannot proceed for now; the message becomes its DeletionError. */
export class DeletionBlocked extends DriftlessError {
  constructor(message: string) {
    super('DELETION_BLOCKED', message);
  }
}

/** The cluster adds the finalizers again that a deletion removes. */
export class FinalizersKept extends DeletionBlocked {}

/**
 * The cluster cannot be used yet: its cache is incomplete, or this replica is taking it over. The
 * pass is retried soon.
 */
export class ClusterNotReady extends DriftlessError {
  /** Delay before the retry. */
  readonly afterMs: number;
  readonly reason: WaitReason;

  constructor(server: string, cause: unknown, terms: Partial<WaitReason> & { readonly afterMs?: number } = {}) {
    const { what = `waiting for the cache of cluster ${server} to fill`, afterMs = 1000 } = terms;
    super('CLUSTER_NOT_READY', what, { cause, retry: { afterMs }, fields: { server } });
    this.afterMs = afterMs;
    this.reason = { cause: terms.cause ?? 'cluster', what };
  }
}

/** The cluster does not answer writes: the pass is requeued and holds no slot while it waits. */
export class ClusterStalled extends ClusterNotReady {
  constructor(server: string) {
    const what = `waiting for cluster ${server}, which does not answer writes`;
    super(server, undefined, { what, afterMs: 5000 });
  }
}

/**
 * The server refuses the state of a running operation for its size or content, after everything
 * optional is dropped. The caller ends the operation.
 */
export class StateRefused extends DriftlessError {
  constructor(cause: unknown) {
    super('STATE_REFUSED', 'the state of the operation cannot be stored with the application', { cause });
  }
}
