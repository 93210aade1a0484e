import { isObject, ownMember } from '#base';
import type { Clock } from '#base';
import { appKeyOf, asObject } from '#model';
import type { AppKey, Application, ApplicationStatus } from '#model';
import type { ForeignStatusWrite } from '#sharding';
import { parseTime } from '../shared/kube-time.ts';

export interface ForeignStatusDeps {
  readonly onForeignWrite: (write: ForeignStatusWrite) => void;
  /** The version of a write of ours, undefined if it may be any; undefined: there is none. */
  readonly written?: ((key: AppKey) => Promise<string | undefined> | undefined) | undefined;
  readonly clock: Clock;
}

/** Older times come from a restored backup. */
const recentMs = 5 * 60_000;
/** The last writes of a former owner, by its own clock. */
const formerOwnerMs = 60_000;

/**
 * Detects another application controller that writes the status of our Applications: only a
 * controller sets the times of comparisons and operations. `old` has all answered writes of ours.
 * Times from before we took an Application over are a former owner's, however late they arrive.
 */
export class ForeignStatusWrites {
  readonly #deps: ForeignStatusDeps;
  readonly #ownedSince = new Map<AppKey, number>();

  constructor(deps: ForeignStatusDeps) {
    this.#deps = deps;
  }

  /** This replica owns the Application from now on. */
  own(key: AppKey): void {
    this.#ownedSince.set(key, this.#deps.clock.now());
  }

  forget(key: AppKey): void {
    this.#ownedSince.delete(key);
  }

  async observe(old: Application, app: Application): Promise<void> {
    const { onForeignWrite, written, clock } = this.#deps;
    const key = appKeyOf(app);
    const now = clock.now();
    const since = Math.max(now - recentMs, (this.#ownedSince.get(key) ?? 0) + formerOwnerMs);
    if (!hasTimeBetween(since, now + recentMs, timesOf(old.status), timesOf(app.status))) return;
    const writing = written?.(key);
    const version = await writing;
    const isOurs = writing !== undefined && (version === undefined || version === app.metadata.resourceVersion);
    if (!isOurs) onForeignWrite({ app: key, manager: statusManagerOf(app) });
  }
}

function timesOf(status: ApplicationStatus | undefined): readonly (string | undefined)[] {
  const { startedAt, finishedAt } = status?.operationState ?? {};
  return [status?.reconciledAt, startedAt, finishedAt];
}

type StatusTimes = ReturnType<typeof timesOf>;

function hasTimeBetween(from: number, to: number, before: StatusTimes, after: StatusTimes): boolean {
  return after.some((time, i) => {
    const at = parseTime(time);
    return time !== before[i] && at !== undefined && at > from && at < to;
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
