import { isObject, ownMember } from '#base';
import type { Clock } from '#base';
import { appKeyOf, asObject } from '#model';
import type { AppKey, Application, ApplicationStatus } from '#model';
import type { ForeignStatusWrite } from '#sharding';
import { parseTime } from '../shared/kube-time.ts';

export interface ForeignStatusDeps {
  readonly onForeignWrite: (write: ForeignStatusWrite) => void;
  /**
   * The version produced by our write in flight (undefined if it fails); undefined: no write in
   * flight.
   */
  readonly written?: ((key: AppKey) => Promise<string | undefined> | undefined) | undefined;
  readonly clock: Clock;
}

/** Older times come from a restored backup. */
const recentMs = 5 * 60_000;
/** A write of ours without an answer may show in the watch for this long. */
const unansweredMs = 60_000;

/**
 * Detects another application controller that writes the status of our Applications: only a
 * controller sets the times of comparisons and operations. `old` has all answered writes of ours.
 */
export class ForeignStatusWrites {
  readonly #deps: ForeignStatusDeps;
  #unansweredAt = Number.NEGATIVE_INFINITY;

  constructor(deps: ForeignStatusDeps) {
    this.#deps = deps;
  }

  async observe(old: Application, app: Application): Promise<void> {
    const { onForeignWrite, written, clock } = this.#deps;
    if (!hasNewTime(old.status, app.status, clock.now())) return;
    const writing = written?.(appKeyOf(app));
    const version = await writing;
    if (writing !== undefined && version === undefined) this.#unansweredAt = clock.monotonic();
    const isOurs = version !== undefined && version === app.metadata.resourceVersion;
    if (isOurs || clock.monotonic() - this.#unansweredAt < unansweredMs) return;
    onForeignWrite({ app: appKeyOf(app), manager: statusManagerOf(app) });
  }
}

function timesOf(status: ApplicationStatus | undefined): readonly (string | undefined)[] {
  const { startedAt, finishedAt } = status?.operationState ?? {};
  return [status?.reconciledAt, startedAt, finishedAt];
}

function hasNewTime(old: ApplicationStatus | undefined, now: ApplicationStatus | undefined, wall: number): boolean {
  const before = timesOf(old);
  return timesOf(now).some((time, i) => {
    const at = parseTime(time);
    return time !== before[i] && at !== undefined && Math.abs(wall - at) < recentMs;
  });
}

/** The manager that wrote last to the status. */
function statusManagerOf(app: Application): string {
  const entries = (asObject(app).metadata.managedFields ?? []).filter((entry) => {
    const fields = ownMember(entry, 'fieldsV1');
    return isObject(fields) && ownMember(fields, 'f:status') !== undefined;
  });
  const times = entries.map((entry) => ({ at: textOf(entry['time']), manager: textOf(entry['manager']) }));
  return times.reduce((last, each) => (each.at >= last.at ? each : last), { at: '', manager: '' }).manager;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
