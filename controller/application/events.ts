import { compileGlob, defined, isAbort, messageOf, outsideText } from '#base';
import type { Clock } from '#base';
import { apiResource } from '#kube';
import type { KubeClient } from '#kube';
import { appLogFields, destinationNamespaceOf, malformedStatusOf } from '#model';
import type { Application, KubeObject, Operation, Settings } from '#model';
import type { CounterMetric, LogFields, Logger, MetricRegistry } from '#telemetry';
import { kubeTime } from '../shared/kube-time.ts';

const eventResource = apiResource('v1', 'Event', 'events', 'namespaced');

export interface AppEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason:
    | 'ResourceUpdated'
    | 'OperationStarted'
    | 'OperationCompleted'
    | 'StatusRefreshed'
    | 'RemovalPending'
    | 'StatusRepaired';
  readonly message: string;
}

/**
 * Whether --enable-k8s-event permits a reason. The first `all` or `none` in the list decides
 * everything; without them only the listed reasons are permitted (Argo CD: setK8sEventList).
 */
export function isEventEnabled(list: readonly string[], reason: string): boolean {
  const decisive = list.find((item) => item === 'all' || item === 'none');
  return decisive === undefined ? list.includes(reason) : decisive === 'all';
}

/** Announces the repair of a status; undefined if nothing in it is malformed. */
export function repairEvent(app: Application): AppEvent | undefined {
  const malformed = malformedStatusOf(app);
  if (malformed.length === 0) return undefined;
  const names = malformed.map((name) => (name === 'status' ? name : `status.${name}`)).join(', ');
  const message =
    `Removed what has another type than in the schema of Applications from ${names}: ` +
    'install the CRDs of this version, which refuse it';
  return { type: 'Warning', reason: 'StatusRepaired', message };
}

/** Announces the start of an automated sync. */
export function startedEvent({ sync }: Operation): AppEvent {
  const revisions = (sync?.revisions ?? [sync?.revision ?? '']).join(', ');
  return { type: 'Normal', reason: 'OperationStarted', message: `Initiated automated sync to '${revisions}'` };
}

export type EventLabels = Readonly<Record<string, string>>;

/**
 * The labels of an Event: those of the Application and its project that an include glob matches and
 * no exclude glob does. The Application's value wins (Argo CD: GetAppEventLabels).
 */
export function eventLabels(
  app: EventLabels | undefined,
  project: EventLabels | undefined,
  { include, exclude }: Settings['eventLabelKeys'],
): EventLabels {
  const [included, excluded] = [matcherOf(include), matcherOf(exclude)];
  const all = Object.entries({ ...project, ...app });
  return Object.fromEntries(all.filter(([key]) => included(key) && !excluded(key)));
}

function matcherOf(globs: readonly string[]): (key: string) => boolean {
  const matchers = globs.flatMap((glob) => compileGlob(glob) ?? []);
  return (key) => matchers.some((matches) => matches(key));
}

export interface EventRecorderDeps {
  /** A client with a rate of its own, so that no status waits for Events. */
  readonly hub: Pick<KubeClient, 'create'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricRegistry;
  readonly settings: () => Pick<Settings, 'eventLabelKeys'>;
  /** The labels of the Application's effective project; undefined if it may not use one. */
  readonly projectLabels: (app: Application) => EventLabels | undefined;
}

/** Upper bound on remembered namespaces that refuse Events. */
const maxRefusingNamespaces = 1000;
/** Events that may wait: more are dropped. About 1 kB each. */
const maxWaitingEvents = 30_000;
/** An Event that has waited longer is dropped. */
const maxEventWaitMs = 600_000;
/** How many Events are written at once: enough for the request rate on a busy event loop. */
const eventWrites = 32;
const eventDeadlineMs = 5000;

interface WaitingEvent {
  readonly object: KubeObject;
  readonly fields: LogFields;
  readonly signal: AbortSignal;
  readonly since: number;
}

/**
 * Records Kubernetes Events about Applications in Argo CD's format (util/argo/audit_logger.go), and
 * writes each as a log line. Best effort: nothing waits for an Event, and Events wait in order.
 *
 * A namespace that refuses Events is logged as an error once, until it accepts one again; every
 * failure is counted.
 */
export class EventRecorder {
  readonly #deps: EventRecorderDeps;
  readonly #enabled: readonly string[];
  readonly #failures: CounterMetric;
  readonly #refusing = new Set<string>();
  readonly #waiting = new Set<WaitingEvent>();
  #writing = 0;
  #isFull = false;
  #sequence = 0;

  /** @param enabled the list of --enable-k8s-event. */
  constructor(deps: EventRecorderDeps, enabled: readonly string[]) {
    this.#deps = deps;
    this.#enabled = enabled;
    this.#failures = deps.metrics.counter(
      'driftless_event_write_failures_total',
      'Kubernetes Events about Applications that could not be written.',
    );
    this.#failures.inc({}, 0);
  }

  /** Logs the Event, and writes it after those that wait already. `signal` drops it. */
  record(app: Application, event: AppEvent, signal: AbortSignal): void {
    if (!isEventEnabled(this.#enabled, event.reason)) return;
    const fields = { ...appLogFields(app), type: event.type, reason: event.reason, ...destinationOf(app) };
    this.#deps.logger.info(event.message, fields);
    if (this.#waiting.size >= maxWaitingEvents) {
      this.#drop(fields);
      return;
    }
    this.#waiting.add({ object: this.#object(app, event), fields, signal, since: this.#deps.clock.monotonic() });
    if (this.#writing < eventWrites) void this.#write();
  }

  async #write(): Promise<void> {
    this.#writing += 1;
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      if (next.signal.aborted) continue;
      if (this.#deps.clock.monotonic() - next.since > maxEventWaitMs) this.#drop(next.fields);
      else await this.#create(next);
    }
    this.#writing -= 1;
    this.#isFull = false;
  }

  async #create({ object, fields, signal }: WaitingEvent): Promise<void> {
    const { namespace = '' } = object.metadata;
    try {
      await this.#deps.hub.create(eventResource, object, { signal, deadlineMs: eventDeadlineMs });
      this.#refusing.delete(namespace);
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      this.#failures.inc({});
      if (!this.#isFirstRefusal(namespace)) return;
      this.#deps.logger.error(`Unable to create audit event: ${messageOf(error)}`, fields);
    }
  }

  #drop(fields: LogFields): void {
    this.#failures.inc({});
    if (this.#isFull) return;
    this.#isFull = true;
    const waiting = `${this.#waiting.size} Events wait for the API server`;
    this.#deps.logger.error(`Unable to create audit event: ${waiting}. Some are dropped until all are written`, fields);
  }

  #isFirstRefusal(namespace: string): boolean {
    if (this.#refusing.has(namespace)) return false;
    if (this.#refusing.size >= maxRefusingNamespaces) this.#refusing.clear();
    this.#refusing.add(namespace);
    return true;
  }

  #labels(app: Application): EventLabels | undefined {
    const { eventLabelKeys } = this.#deps.settings();
    if (eventLabelKeys.include.length === 0) return undefined;
    const labels = eventLabels(app.metadata.labels, this.#deps.projectLabels(app), eventLabelKeys);
    return Object.keys(labels).length === 0 ? undefined : labels;
  }

  #object(app: Application, { type, reason, message }: AppEvent): KubeObject {
    const { name = '', namespace = '', uid, resourceVersion } = app.metadata;
    const now = this.#deps.clock.now();
    this.#sequence = (this.#sequence + 1) % 1_000_000;
    const nanoseconds = BigInt(Math.floor(now)) * 1_000_000n + BigInt(this.#sequence);
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {
        name: `${name}.${nanoseconds.toString(16)}`,
        namespace,
        ...defined({ labels: this.#labels(app) }),
        annotations: destinationOf(app),
      },
      source: { component: 'argocd-application-controller' },
      involvedObject: {
        kind: 'Application',
        apiVersion: 'argoproj.io/v1alpha1',
        name,
        namespace,
        ...defined({ uid, resourceVersion }),
      },
      type,
      reason,
      message: outsideText('field', message).slice(0, 1024),
      count: 1,
      firstTimestamp: kubeTime(now),
      lastTimestamp: kubeTime(now),
    };
  }
}

/** The destination as an Event names it, with empty values. */
function destinationOf(app: Application): { readonly 'dest-server': string; readonly 'dest-namespace': string } {
  return {
    'dest-server': outsideText('url', app.spec.destination.server ?? ''),
    'dest-namespace': destinationNamespaceOf(app),
  };
}
