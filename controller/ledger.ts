import type { Clock } from '#base';
import type { AppKey } from '#model';
import type { Logger, Metrics } from '#telemetry';
import { revisionText } from './judge.ts';
import type { Disagreement, PlannedWrite, Verdict } from './verdict.ts';

export interface LedgerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface LedgerLimits {
  /** How long both may disagree before it counts. */
  readonly disagreementMs: number;
  /** The same while the revisions differ: each looks for a new commit at its own time. */
  readonly revisionMs: number;
}

/** When to look again at what does not count yet. */
export interface Pending {
  readonly delayMs: number;
  /** Whether the revisions differ. */
  readonly revision: boolean;
}

interface Entry {
  readonly disagreement: Disagreement;
  readonly since: number;
  /** Their `reconciledAt` when it was first seen. */
  readonly theirsAt: string | undefined;
  readonly countsAt: number;
  /** It stands in the metrics. */
  readonly counted: boolean;
  /** It stands in the log with these values. */
  readonly logged: boolean;
}

interface Known {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly writes: readonly PlannedWrite[];
}

const fields: readonly Disagreement['field'][] = [
  'sync',
  'health',
  'revision',
  'condition',
  'resource-sync',
  'resource-health',
  'resource-missing',
  'resource-extra',
];
const kindsOfWrites: readonly PlannedWrite['what'][] = ['spec', 'finalizers', 'status', 'operation', 'object'];
/** Lines per application and comparison. */
const mostLines = 20;
const soonestMs = 1000;

/**
 * The disagreements of all applications: which of them last long enough to count, in metrics and in the log.
 *
 * Two controllers see a change at different moments, so one counts only after a while: `disagreementMs` after it was first seen with these
 * values, or at once when the other has compared anew since (its `reconciledAt` moved) and says the same again; `revisionMs` while the
 * revisions differ. Each is logged once, again when its values have changed for as long, and once when it is over.
 */
export class Ledger {
  readonly #deps: LedgerDeps;
  readonly #limits: LedgerLimits;
  readonly #known = new Map<AppKey, Known>();

  constructor(deps: LedgerDeps, limits: LedgerLimits) {
    this.#deps = deps;
    this.#limits = limits;
    this.#expose(deps.metrics);
  }

  /**
   * @param resolved whether this comparison asked the source for its present revision, or stayed with the one in the status.
   * @returns when to compare again, if something does not count yet.
   */
  record(verdict: Verdict, resolved: boolean): Pending | undefined {
    const now = this.#deps.clock.now();
    const before = this.#known.get(verdict.key)?.entries ?? new Map<string, Entry>();
    const entries = this.#entries(verdict, before, now);
    const revision = before.get('revision');
    if (!resolved && revision?.disagreement.theirs === revisionText(verdict.app.status))
      entries.set('revision', { ...revision, counted: revision.counted || now >= revision.countsAt });
    this.#say(verdict.key, { before, entries }, now);
    this.#known.set(verdict.key, { entries: said(entries, now), writes: verdict.writes });
    const open = [...entries.values()].filter(({ countsAt }) => countsAt > now);
    if (open.length === 0) return undefined;
    const next = Math.min(...open.map(({ countsAt }) => countsAt));
    return { delayMs: Math.max(soonestMs, next - now), revision: entries.has('revision') };
  }

  forget(key: AppKey): void {
    this.#known.delete(key);
  }

  #entries({ app, disagreements }: Verdict, before: ReadonlyMap<string, Entry>, now: number): Map<string, Entry> {
    const apart = disagreements.some(({ field }) => field === 'revision');
    const limitMs = apart ? this.#limits.revisionMs : this.#limits.disagreementMs;
    const reconciledAt = app.status?.reconciledAt;
    return new Map(
      disagreements.map((disagreement): [string, Entry] => {
        const id = idOf(disagreement);
        const old = before.get(id);
        const same = old !== undefined && sameValues(old.disagreement, disagreement) ? old : undefined;
        const { since, theirsAt } = same ?? { since: now, theirsAt: reconciledAt };
        const renewed = !apart && same !== undefined && reconciledAt !== theirsAt;
        const countsAt = renewed ? now : Math.min(same?.countsAt ?? Number.POSITIVE_INFINITY, since + limitMs);
        const counted = old?.counted === true || now >= countsAt;
        return [id, { disagreement, since, theirsAt, countsAt, counted, logged: same?.logged ?? false }];
      }),
    );
  }

  #say(
    application: AppKey,
    { before, entries }: { readonly before: Known['entries']; readonly entries: Known['entries'] },
    now: number,
  ): void {
    const begun = [...entries.values()].filter((entry) => !entry.logged && now >= entry.countsAt);
    const over = [...before].filter(([id, entry]) => entry.counted && !entries.has(id)).map(([, entry]) => entry);
    const { logger } = this.#deps;
    for (const { disagreement } of begun.slice(0, mostLines))
      logger.warn('Disagrees with the other controller', { application, ...disagreement });
    for (const { disagreement } of over.slice(0, mostLines)) {
      const { field, resource } = disagreement;
      logger.info('Agrees with the other controller again', { application, field, resource });
    }
    const more = Math.max(0, begun.length - mostLines);
    if (more > 0) logger.warn('Disagrees with the other controller on more points', { application, more });
  }

  #expose(metrics: Metrics): void {
    const known = (): readonly Known[] => [...this.#known.values()];
    metrics.family({
      name: 'driftless_shadow_applications',
      help: 'Applications that were compared with the status of the controller in charge.',
      type: 'gauge',
      collect: () => [{ labels: {}, value: this.#known.size }],
    });
    metrics.family({
      name: 'driftless_shadow_disagreeing_applications',
      help: 'Applications of which the controller in charge says something else, in any field.',
      type: 'gauge',
      collect: () => [{ labels: {}, value: known().filter(({ entries }) => counts(entries)).length }],
    });
    metrics.family({
      name: 'driftless_shadow_disagreements',
      help: 'Applications of which the controller in charge says something else, by field.',
      type: 'gauge',
      collect: () =>
        fields.map((field) => ({
          labels: { field },
          value: known().filter(({ entries }) => counts(entries, field)).length,
        })),
    });
    metrics.family({
      name: 'driftless_shadow_planned_writes',
      help: 'What would be written at once if this controller were in charge, as of the last comparisons.',
      type: 'gauge',
      collect: () =>
        kindsOfWrites.map((what) => ({
          labels: { what },
          value: known().reduce((sum, { writes }) => sum + writes.filter((write) => write.what === what).length, 0),
        })),
    });
  }
}

function counts(entries: Known['entries'], field?: Disagreement['field']): boolean {
  return [...entries.values()].some(
    ({ counted, disagreement }) => counted && (field === undefined || disagreement.field === field),
  );
}

/** What counts now has been said. */
function said(entries: ReadonlyMap<string, Entry>, now: number): ReadonlyMap<string, Entry> {
  return new Map([...entries].map(([id, entry]) => [id, { ...entry, logged: entry.logged || now >= entry.countsAt }]));
}

/** One point on which both may agree or not. */
function idOf({ field, resource, theirs, ours }: Disagreement): string {
  if (field === 'condition') return `${field} ${/^[^:]*/.exec(theirs === '' ? ours : theirs)?.[0] ?? ''}`;
  return resource === undefined ? field : `${field} ${resource}`;
}

/** Of a condition only who reports it counts: its text may change with every try. */
function sameValues(a: Disagreement, b: Disagreement): boolean {
  if (a.field === 'condition') return (a.theirs === '') === (b.theirs === '');
  return a.theirs === b.theirs && a.ours === b.ours;
}
