import type { Clock } from '#base';
import { appKeyLogFields } from '#model';
import type { AppKey } from '#model';
import type { Logger, MetricRegistry } from '#telemetry';
import { revisionText } from './judge.ts';
import type { StatusDisagreement, PlannedWrite, ShadowVerdict } from '../application/verdict.ts';

export interface DisagreementLedgerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricRegistry;
}

export interface LedgerLimits {
  /** How long a disagreement must last to count. */
  readonly disagreementMs: number;
  /** The same while the revisions differ: each controller looks for commits at its own time. */
  readonly revisionMs: number;
}

/** When to compare again, for disagreements that do not count yet. */
export interface PendingRecheck {
  readonly delayMs: number;
  /** Whether the revisions differ. */
  readonly revision: boolean;
}

interface LedgerEntry {
  readonly disagreement: StatusDisagreement;
  readonly since: number;
  /** Their `reconciledAt` when it was first seen. */
  readonly theirsAt: string | undefined;
  readonly countsAt: number;
  /** Counted in the metrics. */
  readonly counted: boolean;
  /** Logged with these values. */
  readonly logged: boolean;
}

interface LedgerRecord {
  readonly entries: ReadonlyMap<string, LedgerEntry>;
  readonly writes: readonly PlannedWrite[];
}

const disagreementFields: readonly StatusDisagreement['field'][] = [
  'sync',
  'health',
  'revision',
  'condition',
  'resource-sync',
  'resource-health',
  'resource-missing',
  'resource-extra',
];
const plannedWriteKinds: readonly PlannedWrite['what'][] = ['spec', 'finalizers', 'status', 'operation', 'object'];
/** Log lines per application and comparison. */
const maxLogLines = 20;
const minRecheckMs = 1000;

/**
 * Tracks which disagreements last long enough to count in metrics and log.
 *
 * Two controllers see a change at different moments. A disagreement counts `disagreementMs` after
 * its values were first seen (`revisionMs` while the revisions differ), or immediately if the other
 * controller has compared since (its `reconciledAt` moved) and its result is the same. Each is
 * logged once, once more when changed values have lasted as long, and once when resolved.
 */
export class DisagreementLedger {
  readonly #deps: DisagreementLedgerDeps;
  readonly #limits: LedgerLimits;
  readonly #known = new Map<AppKey, LedgerRecord>();

  constructor(deps: DisagreementLedgerDeps, limits: LedgerLimits) {
    this.#deps = deps;
    this.#limits = limits;
    this.#expose(deps.metrics);
  }

  /**
   * @param resolved whether this comparison resolved the revision, or used the one in the status.
   * @returns when to compare again, if a disagreement does not count yet.
   */
  record(verdict: ShadowVerdict, resolved: boolean): PendingRecheck | undefined {
    const now = this.#deps.clock.now();
    const before = this.#known.get(verdict.key)?.entries ?? new Map<string, LedgerEntry>();
    const entries = this.#entries(verdict, before, now);
    const revision = before.get('revision');
    if (!resolved && revision?.disagreement.theirs === revisionText(verdict.app.status))
      entries.set('revision', { ...revision, counted: revision.counted || now >= revision.countsAt });
    this.#log(verdict.key, { before, entries }, now);
    this.#known.set(verdict.key, { entries: withLogged(entries, now), writes: verdict.writes });
    const open = [...entries.values()].filter(({ countsAt }) => countsAt > now);
    if (open.length === 0) return undefined;
    const next = Math.min(...open.map(({ countsAt }) => countsAt));
    return { delayMs: Math.max(minRecheckMs, next - now), revision: entries.has('revision') };
  }

  forget(key: AppKey): void {
    this.#known.delete(key);
  }

  #entries(
    { app, disagreements }: ShadowVerdict,
    before: ReadonlyMap<string, LedgerEntry>,
    now: number,
  ): Map<string, LedgerEntry> {
    const apart = disagreements.some(({ field }) => field === 'revision');
    const limitMs = apart ? this.#limits.revisionMs : this.#limits.disagreementMs;
    const reconciledAt = app.status?.reconciledAt;
    return new Map(
      disagreements.map((disagreement): [string, LedgerEntry] => {
        const id = disagreementId(disagreement);
        const old = before.get(id);
        const same = old !== undefined && hasSameValues(old.disagreement, disagreement) ? old : undefined;
        const { since, theirsAt } = same ?? { since: now, theirsAt: reconciledAt };
        const renewed = !apart && same !== undefined && reconciledAt !== theirsAt;
        const countsAt = renewed ? now : Math.min(same?.countsAt ?? Number.POSITIVE_INFINITY, since + limitMs);
        const counted = old?.counted === true || now >= countsAt;
        return [id, { disagreement, since, theirsAt, countsAt, counted, logged: same?.logged ?? false }];
      }),
    );
  }

  #log(
    application: AppKey,
    { before, entries }: { readonly before: LedgerRecord['entries']; readonly entries: LedgerRecord['entries'] },
    now: number,
  ): void {
    const begun = [...entries.values()].filter((entry) => !entry.logged && now >= entry.countsAt);
    const over = [...before].filter(([id, entry]) => entry.counted && !entries.has(id)).map(([, entry]) => entry);
    const { logger } = this.#deps;
    const named = appKeyLogFields(application);
    for (const { disagreement } of begun.slice(0, maxLogLines))
      logger.warn('Disagrees with the other controller', { ...named, ...disagreement });
    for (const { disagreement } of over.slice(0, maxLogLines)) {
      const { field, resource } = disagreement;
      logger.info('Agrees with the other controller again', { ...named, field, resource });
    }
    const more = Math.max(0, begun.length - maxLogLines);
    if (more > 0) logger.warn('Disagrees with the other controller on more fields', { ...named, more });
  }

  #expose(metrics: MetricRegistry): void {
    const known = (): readonly LedgerRecord[] => [...this.#known.values()];
    metrics.family({
      name: 'driftless_shadow_applications',
      help: 'Applications compared with the status of the controller in charge.',
      type: 'gauge',
      collect: () => [{ labels: {}, value: this.#known.size }],
    });
    metrics.family({
      name: 'driftless_shadow_disagreeing_applications',
      help: 'Applications whose status differs from that of the controller in charge, in any field.',
      type: 'gauge',
      collect: () => [{ labels: {}, value: known().filter(({ entries }) => hasCounted(entries)).length }],
    });
    metrics.family({
      name: 'driftless_shadow_disagreements',
      help: 'Applications whose status differs from that of the controller in charge, by field.',
      type: 'gauge',
      collect: () =>
        disagreementFields.map((field) => ({
          labels: { field },
          value: known().filter(({ entries }) => hasCounted(entries, field)).length,
        })),
    });
    metrics.family({
      name: 'driftless_shadow_planned_writes',
      help: 'Writes that this controller would make if it were in charge, as of the last comparisons.',
      type: 'gauge',
      collect: () =>
        plannedWriteKinds.map((what) => ({
          labels: { what },
          value: known().reduce((sum, { writes }) => sum + writes.filter((write) => write.what === what).length, 0),
        })),
    });
  }
}

function hasCounted(entries: LedgerRecord['entries'], field?: StatusDisagreement['field']): boolean {
  return [...entries.values()].some(
    ({ counted, disagreement }) => counted && (field === undefined || disagreement.field === field),
  );
}

/** Marks the entries that count by now as logged. */
function withLogged(entries: ReadonlyMap<string, LedgerEntry>, now: number): ReadonlyMap<string, LedgerEntry> {
  return new Map([...entries].map(([id, entry]) => [id, { ...entry, logged: entry.logged || now >= entry.countsAt }]));
}

/** Identifies the field, resource or condition type of a disagreement. */
function disagreementId({ field, resource, theirs, ours }: StatusDisagreement): string {
  if (field === 'condition') return `${field} ${/^[^:]*/.exec(theirs === '' ? ours : theirs)?.[0] ?? ''}`;
  return resource === undefined ? field : `${field} ${resource}`;
}

/** Ignores the message of a condition, which may change with each retry. */
function hasSameValues(a: StatusDisagreement, b: StatusDisagreement): boolean {
  if (a.field === 'condition') return (a.theirs === '') === (b.theirs === '');
  return a.theirs === b.theirs && a.ours === b.ours;
}
