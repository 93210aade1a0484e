import { buildTree } from '#compare';
import type { BuiltTree, Comparison } from '#compare';
import { instanceName, isAutomated, keyOfRef } from '#model';
import type { Application, ApplicationCondition, TrackingSettings } from '#model';
import type { SpecVerdict } from '../admission/bound.ts';
import { pruneCandidates } from '../admission/claims.ts';
import { decideAutosync, onlyKeptLeft } from '../application/autosync.ts';
import type { AutosyncDecision, AutosyncFacts } from '../application/autosync.ts';
import { observeAutosync } from '../application/autosync-checks.ts';
import { autosyncLine } from '../application/autosync-log.ts';
import type { LogLine } from '../application/autosync-log.ts';
import { finalizersOf } from '../application/finalizers.ts';
import { compareLevel } from '../application/freshness.ts';
import { hydrationConditions } from '../application/hydration.ts';
import { keptConditions, keptObjects } from '../application/kept-objects.ts';
import type { KeptObjects } from '../application/kept-objects.ts';
import { statusChange, withConditions } from '../application/status-patch.ts';
import type { StatusChange } from '../application/status-patch.ts';
import type { ComparisonBasis, LiveSight } from '../comparison/basis.ts';
import { afterComparison, contestConditions, contestPauses, noContests } from '../comparison/contest.ts';
import type { ContestMemory } from '../comparison/contest.ts';
import type { MemoryChange } from '../comparison/memory.ts';
import { boundConditions, ownedConditions } from '../shared/conditions.ts';
import { invalidStatus, nextStatus, withSyncError } from './next-status.ts';
import type { ComparedFacts, DecisionConfig, ReadFacts, RefreshFacts, RememberedPasses } from './refresh-facts.ts';
import { shownOutage, sourcesAfter } from './sources.ts';

/** A comparison and the decisions that follow from it. */
export interface Decisions {
  readonly comparison: Comparison;
  /** The finalizers that the application should have; undefined when it has them. */
  readonly finalizers: readonly string[] | undefined;
  /** The decision about automated sync; undefined while a sync window forbids it. */
  readonly decision: AutosyncDecision | undefined;
  /** The inputs of comparison and tree; undefined if the result may change without them. */
  readonly basis: ComparisonBasis | undefined;
  /** The live objects that were compared, if all of them are known. */
  readonly sight: LiveSight | undefined;
}

/** The decision of a refresh, before any effect. */
export interface RefreshDecision extends StatusChange {
  readonly tree: BuiltTree['tree'];
  /** Conditions of this pass only; `status` also has those of other steps. */
  readonly conditions: readonly ApplicationCondition[];
  /** Undefined: nothing was compared, because the spec is invalid or only the tree changed. */
  readonly decisions: Decisions | undefined;
  /** Changes of the Application's memory, to be made when the writes have succeeded. */
  readonly memory: MemoryChange;
  /** The contests that it is based on. */
  readonly decidedFrom: Pick<RememberedPasses, 'contests'>;
  readonly log: readonly LogLine[];
}

/**
 * Decides a refresh: the status and the patch to it, the resource tree, whether a sync starts, and
 * what to remember. Pure: equal facts, equal decisions; the facts are not changed. The controller,
 * its shadow, recordings and replays all decide with it.
 */
export function decideRefresh(facts: RefreshFacts): RefreshDecision {
  const { read } = facts;
  if (read === undefined) return refused(facts);
  return read.compared === undefined ? treeOnly(facts, read) : compared(facts, read, read.compared);
}

/** The conditions of the spec alone. */
export function specConditions(
  before: Application,
  verdict: SpecVerdict,
  { hydrates }: Pick<DecisionConfig, 'hydrates'>,
): readonly ApplicationCondition[] {
  return [
    ...(verdict.ok ? boundConditions(verdict.bound) : verdict.conditions),
    ...hydrationConditions(before, hydrates),
  ];
}

/** An invalid spec: Unknown, and nothing is compared. */
function refused(facts: RefreshFacts): RefreshDecision {
  const { before, time, verdict, config } = facts;
  const conditions = specConditions(before, verdict, config);
  const status = withConditions(before.status ?? {}, conditions, ownedConditions.spec, time);
  return {
    ...statusChange(before.status, invalidStatus(status, time)),
    tree: { nodes: [], orphanedNodes: [] },
    conditions,
    decisions: undefined,
    memory: {},
    decidedFrom: facts.memory,
    log: [],
  };
}

/** A child resource changed. */
function treeOnly({ before, time, memory: decidedFrom }: RefreshFacts, read: ReadFacts): RefreshDecision {
  const { tree, conditions, summary } = treeOf(read);
  const status = withConditions(before.status ?? {}, conditions, ownedConditions.tree, time);
  const change = statusChange(before.status, { ...status, summary });
  return { ...change, tree, conditions, decisions: undefined, memory: {}, decidedFrom, log: [] };
}

function treeOf({ bound: { app, project, settings }, roots, rows }: ReadFacts): BuiltTree {
  return buildTree({ app, project, roots, rows, nodeLabels: settings.allowedNodeLabels });
}

function compared(facts: RefreshFacts, read: ReadFacts, found: ComparedFacts): RefreshDecision {
  const { before, time, verdict, config, memory: remembered } = facts;
  const { comparison } = found;
  const ofSpec = specConditions(before, verdict, config);
  const ofSources = sourcesAfter(facts, found);
  const outage = shownOutage(facts, found, { ...remembered, ...ofSources });
  const contests = contestsAfter(facts, comparison, read.bound.settings.tracking);
  const built = treeOf(read);
  const autosync = automatedSync(facts, read, found, contests);
  const { decision } = autosync;
  const isLeft = decision?.do === 'skip' && decision.reason === onlyKeptLeft;
  const ofKept = isLeft ? keptConditions(autosync.kept) : [];
  const conditions = [
    ...comparison.conditions,
    ...outage.conditions,
    ...contestConditions(contests),
    ...ofKept,
    ...built.conditions,
  ];
  const ofStatus = withConditions(before.status ?? {}, ofSpec, ownedConditions.spec, time);
  const evaluated = [...ownedConditions.comparison, ...ownedConditions.tree];
  const current = withConditions(ofStatus, conditions, evaluated, time);
  const status = decision === undefined ? current : withSyncError(current, decision, time);
  return {
    ...nextStatus(facts, status, { comparison: outage.shown, built }),
    tree: built.tree,
    conditions,
    decisions: {
      comparison,
      decision,
      finalizers: finalizersOf(before, comparison),
      ...(isLasting(read, ofSpec) ? { basis: found.basis, sight: found.sight } : withoutBasis),
    },
    memory: {
      ...ofSources,
      ...comparisonMemory(facts, read, found),
      contests: contests.size > 0 ? contests : undefined,
      autosync: autosync.observed,
    },
    decidedFrom: remembered,
    log: autosync.log,
  };
}

const withoutBasis = { basis: undefined, sight: undefined } as const;

/** The basis covers neither conditions of the spec, nor sync windows, nor orphaned resources. */
function isLasting({ bound, isWindowOpen }: ReadFacts, ofSpec: readonly ApplicationCondition[]): boolean {
  return ofSpec.length === 0 && isWindowOpen && bound.project.spec.orphanedResources === undefined;
}

/** Changes of the memory after a comparison. */
function comparisonMemory(
  { refresh, now, startedAt }: RefreshFacts,
  read: ReadFacts,
  found: ComparedFacts,
): MemoryChange {
  const { comparison, outage, nextFullMs } = found;
  const isBlocked = comparison.pruneBlocked !== undefined && pruneCandidates(comparison).length > 0;
  const isCurrent = !comparison.failed && outage === undefined && refresh.level >= compareLevel.latest;
  return {
    unreadable: comparison.failed || comparison.unread.length > 0 || isBlocked,
    roots: read.roots,
    differences: describeDifferences(comparison),
    ...(comparison.failed || nextFullMs === undefined ? {} : { fullComparisonDueAt: startedAt + nextFullMs }),
    ...(comparison.syncStatus.status === 'OutOfSync' ? { driftSeenAt: now } : {}),
    ...(isCurrent ? { comparedAt: now } : {}),
  };
}

/**
 * The contested objects after a comparison. Without self-heal there is no fight, but the API server
 * may still keep what a sync has sent.
 */
function contestsAfter(
  { memory, before, key, startedAt: at, config: { namespace } }: RefreshFacts,
  comparison: Comparison,
  tracking: TrackingSettings,
): ContestMemory {
  const { contests = noContests } = memory;
  const heals = isAutomated(before.spec) && before.spec.syncPolicy?.automated?.selfHeal === true;
  const of = { instance: instanceName(key, namespace), tracking, heals };
  const facts = { pairs: comparison.pairs, at, ...of, conditions: before.status?.conditions ?? [] };
  return comparison.failed ? contests : afterComparison(contests, facts);
}

const maxShownDifferences = 20;

/** The first differences as `<Kind>/<name>: <paths>`, without values. */
function describeDifferences(comparison: Comparison): readonly string[] {
  const lines: string[] = [];
  for (const { key, live, target, diff, hook, own, unread } of comparison.pairs) {
    if (hook || !own || unread === true || !(diff.modified || live === null || target === null)) continue;
    const what = live === null ? 'is missing' : target === null ? 'is not in the manifests' : diff.paths.join(', ');
    lines.push(`${key}: ${what}`);
  }
  for (const { ref } of comparison.left) lines.push(`${keyOfRef(ref)}: is not in the manifests, and is left alone`);
  return lines.sort().slice(0, maxShownDifferences);
}

interface DecidedAutosync {
  /** Undefined while a sync window forbids it. */
  readonly decision: AutosyncDecision | undefined;
  readonly kept: KeptObjects;
  readonly observed: MemoryChange['autosync'];
  readonly log: readonly LogLine[];
}

function automatedSync(
  { before, memory, config, now, startedAt }: RefreshFacts,
  { isWindowOpen, claimed }: ReadFacts,
  { comparison }: ComparedFacts,
  contests: ContestMemory,
): DecidedAutosync {
  const kept = keptObjects(comparison, before);
  const facts: AutosyncFacts = {
    app: before,
    syncStatus: comparison.syncStatus,
    resources: comparison.resources,
    revisionsMayHaveChanges: comparison.mayHaveChanges,
    backoff: config.selfHeal,
    driftSeenAt: memory.driftSeenAt,
    unread: comparison.unread.length > 0,
    stale: comparison.degraded,
    pruneBlocked: comparison.pruneBlocked !== undefined,
    claimed,
    kept,
    contested: contestPauses(contests, startedAt),
    retryLatestRevision: config.retryLatestRevision === true,
    now,
  };
  const decision = isWindowOpen ? decideAutosync(facts) : undefined;
  const line: LogLine | undefined =
    decision === undefined
      ? { level: 'info', message: 'Sync prevented by sync window' }
      : autosyncLine(facts, decision);
  return { decision, kept, observed: observeAutosync(facts, decision), log: line === undefined ? [] : [line] };
}
