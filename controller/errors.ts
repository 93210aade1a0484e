import { DriftlessError } from '#base';
import type { ApplicationCondition } from '#model';

/** The project of an Application does not allow a write to a managed cluster. The message is Argo CD's; the project must change. */
export class PolicyDenied extends DriftlessError {
  constructor(message: string) {
    super('POLICY_DENIED', message, { retry: 'never' });
  }
}

/** The kind of an object is not served by the cluster: install its CRD, or correct apiVersion and kind. */
export class UnknownKind extends DriftlessError {
  constructor(group: string, kind: string, version: string) {
    super('UNKNOWN_KIND', `the server could not find the requested resource`, { fields: { group, kind, version } });
  }
}

/** The Application was changed by someone else between our read and our write; whoever catches it reads again. */
export class ApplicationChanged extends DriftlessError {
  constructor(key: string) {
    super('APPLICATION_CHANGED', `application ${key} was changed meanwhile`);
  }
}

/** The source could not be read, and its last comparison is recent enough to stand until the next try. */
export class SourceUnavailable extends DriftlessError {
  constructor(cause: unknown, message: string) {
    super('SOURCE_UNAVAILABLE', message, { cause, retry: { afterMs: 15_000 } });
  }
}

/** A source that must not be rendered: its project forbids it, or nobody has vouched for it. Waiting does not help. */
export class SourceRefused extends DriftlessError {
  readonly condition: ApplicationCondition;

  constructor(condition: ApplicationCondition) {
    super('SOURCE_REFUSED', condition.message, { retry: 'never' });
    this.condition = condition;
  }
}

/** The rules of a project about signatures contradict each other or cannot be understood: the project must change. */
export class IntegrityRulesUnusable extends DriftlessError {
  constructor(message: string) {
    super('INTEGRITY_RULES', message, { retry: 'never' });
  }
}

/** An AppProject that an Application names cannot be used by it. `missing`: it does not exist. */
export class ProjectUnusable extends DriftlessError {
  readonly missing: boolean;

  constructor(message: string, missing: boolean) {
    super('PROJECT_UNUSABLE', message, { retry: 'never' });
    this.missing = missing;
  }
}

/** The deletion of an Application cannot go on for now; the message becomes its DeletionError. */
export class DeletionBlocked extends DriftlessError {
  constructor(message: string) {
    super('DELETION_BLOCKED', message);
  }
}

/** A cluster has no complete cache yet, or this replica is just taking it over: nothing is wrong, the pass comes again soon. */
export class ClusterNotReady extends DriftlessError {
  constructor(server: string, cause: unknown) {
    super('CLUSTER_NOT_READY', `waiting for the cache of cluster ${server} to fill`, {
      cause,
      retry: { afterMs: 1000 },
      fields: { server },
    });
  }
}

/** The state of a running operation is bigger than the server stores, also without all that can be left out. Caught by who ends the operation. */
export class StateTooLarge extends DriftlessError {
  constructor(cause: unknown) {
    super('STATE_TOO_LARGE', 'the state of the operation is too big to be stored with the application', { cause });
  }
}
