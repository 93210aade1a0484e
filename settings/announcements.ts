import { hashText, isAbort } from '#base';
import type { Clock } from '#base';
import type { KubeObject } from '#model';
import type { Logger } from '#telemetry';
import type { SettingsWriter } from './types.ts';

/** The same message is logged, and its Event written, at most once in this time. */
const repeatAfterMs = 600_000;
const maxRemembered = 1000;

export interface AnnouncementDeps {
  readonly namespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Undefined: only logs. */
  readonly writer: SettingsWriter | undefined;
}

/** Reports trouble with argocd-cm: by a log line, and by an Event on the ConfigMap. */
export class SettingsAnnouncements {
  readonly #deps: AnnouncementDeps;
  readonly #lastAt = new Map<string, number>();

  constructor(deps: AnnouncementDeps) {
    this.#deps = deps;
  }

  /**
   * Trouble that an administrator must end.
   * @param about argocd-cm, if it exists.
   * @param signal undefined: no Event is written.
   */
  warn(reason: string, message: string, about: KubeObject | undefined, signal: AbortSignal | undefined): void {
    if (this.#isRepeated(message)) return;
    this.#deps.logger.error(message, { object: 'ConfigMap argocd-cm', reason });
    if (signal?.aborted === false) void this.#record(reason, message, about, signal);
  }

  /** An entry without effect, or with less of it. */
  note(text: string, object: string, message: string): void {
    if (!this.#isRepeated(`${object} ${message}`)) this.#deps.logger.warn(text, { object, message });
  }

  #isRepeated(message: string): boolean {
    const now = this.#deps.clock.monotonic();
    const lastAt = this.#lastAt.get(message);
    if (lastAt !== undefined && now - lastAt < repeatAfterMs) return true;
    if (this.#lastAt.size >= maxRemembered) this.#lastAt.clear();
    this.#lastAt.set(message, now);
    return false;
  }

  /** All replicas choose the same name, so that there is one Event. Best effort. */
  async #record(reason: string, message: string, about: KubeObject | undefined, signal: AbortSignal): Promise<void> {
    const { writer, namespace, clock, logger } = this.#deps;
    const time = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    const period = Math.floor(clock.now() / repeatAfterMs);
    const { uid, resourceVersion } = about?.metadata ?? {};
    const event: KubeObject = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `argocd-cm.${hashText(`${period} ${message}`).slice(0, 16)}`, namespace },
      involvedObject: { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'argocd-cm', uid, resourceVersion },
      type: 'Warning',
      reason,
      message: message.slice(0, 1024),
      source: { component: 'argocd-application-controller' },
      reportingComponent: 'argocd-application-controller',
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    try {
      await writer?.record(event, signal);
    } catch (error) {
      if (!isAbort(error)) logger.debug('An Event about argocd-cm was not written', { error });
    }
  }
}
