import { defined, messageOf, outsideText } from '#base';
import type { Clock } from '#base';
import { apiResource } from '#kube';
import type { KubeClient } from '#kube';
import { destinationNamespaceOf } from '#model';
import type { Application, KubeObject } from '#model';
import type { Logger } from '#telemetry';
import { kubeTime } from '../shared/kube-time.ts';

const eventResource = apiResource('v1', 'Event', 'events', 'namespaced');

export interface AppEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'ResourceUpdated' | 'OperationStarted' | 'OperationCompleted' | 'StatusRefreshed';
  readonly message: string;
}

/**
 * Records Kubernetes Events about Applications in Argo CD's format (util/argo/audit_logger.go).
 * Best effort: failures are only logged, and nothing waits for an Event.
 */
export class EventRecorder {
  readonly #deps: { readonly hub: KubeClient; readonly clock: Clock; readonly logger: Logger };
  #sequence = 0;

  constructor(deps: { readonly hub: KubeClient; readonly clock: Clock; readonly logger: Logger }) {
    this.#deps = deps;
  }

  async record(app: Application, event: AppEvent, signal: AbortSignal): Promise<void> {
    const object = this.#object(app, event);
    try {
      await this.#deps.hub.create(eventResource, object, { signal, deadlineMs: 5000 });
    } catch (error) {
      this.#deps.logger.debug('Unable to record an event', { reason: event.reason, error: messageOf(error) });
    }
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
        annotations: {
          'dest-server': outsideText('url', app.spec.destination.server ?? ''),
          'dest-namespace': destinationNamespaceOf(app),
        },
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
