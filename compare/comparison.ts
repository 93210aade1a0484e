import { diffObjects } from '#diff';
import type { DiffResult } from '#diff';
import { healthOf } from '#health';
import type { KindState, UnreadObject } from '#live';
import {
  annotationOf,
  annotations,
  appKeyOfInstance,
  csvAnnotation,
  gvkOf,
  hasMultipleSources,
  isHook,
  isSkipped,
  keyOf,
  parseTrackingId,
  refOf,
  trackedApp,
} from '#model';
import type {
  AppKey,
  Application,
  ApplicationCondition,
  GroupKind,
  HealthStatus,
  HealthStatusCode,
  KubeObject,
  ResourceKey,
  ResourceStatus,
  Settings,
  SyncStatus,
  SyncStatusCode,
} from '#model';
import { isPostDeleteHook, isPreDeleteHook, optionValue, pairResources, phasesOf, resourceOption, waveOf } from '#sync';
import { applicationHealth } from './app-health.ts';
import { isManagedNamespace, managedNamespace, managedNamespaceMetadataChanged } from './namespaces.ts';
import { faultConditions } from './rule-faults.ts';
import { comparedToOf } from './sources.ts';
import { gkOf } from './targets.ts';
import { unreadConditions, unreadRow } from './unread.ts';

/** One managed resource of a comparison. Never neither target nor live. */
export interface ManagedPair {
  readonly key: ResourceKey;
  readonly target: KubeObject | null;
  readonly live: KubeObject | null;
  readonly hook: boolean;
  /** False: the live object carries the tracking of another one (a copy); it is none of our business. */
  readonly own: boolean;
  /** The live object could not be read: that there is none says nothing. */
  readonly unread?: true;
  readonly diff: DiffResult;
}

/** What the sources said. */
export interface RenderedTargets {
  /** Normalized; empty when `failed`. */
  readonly targets: readonly KubeObject[];
  /** Resolved revisions, one per source; empty when the manifests could not be loaded. */
  readonly revisions: readonly string[];
  readonly sourceTypes: readonly string[];
  readonly conditions: readonly ApplicationCondition[];
  readonly failed: boolean;
  /** False: the manifests are known to equal those of the revision that was compared last. */
  readonly mayHaveChanges: boolean;
}

/** What the cluster said. */
export interface LiveState {
  readonly objects: ReadonlyMap<ResourceKey, KubeObject>;
  /** What could not be read, although the cluster as a whole can be. */
  readonly unread?: readonly UnreadObject[];
  /** Kinds whose cache is not fresh. */
  readonly degraded: readonly KindState[];
  readonly conditions: readonly ApplicationCondition[];
  readonly failed: boolean;
}

export interface CompareFacts {
  readonly app: Application;
  readonly key: AppKey;
  readonly instance: string;
  readonly controllerNamespace: string;
  readonly settings: Settings;
  readonly rendered: RenderedTargets;
  readonly live: LiveState;
  /** The revisions that were asked for, one per source: kept in the status when nothing could be resolved. */
  readonly requested: readonly string[];
  readonly isNamespaced: (gk: GroupKind) => boolean | undefined;
  /** May this application, by its project, have this object in this place? */
  readonly permitted: (object: KubeObject) => boolean;
  readonly persistResourceHealth: boolean;
}

/** The outcome of one comparison: an immutable value from which status, tree, auto-sync and sync work. */
export interface Comparison {
  readonly syncStatus: SyncStatus;
  readonly health: { readonly status: HealthStatusCode; readonly message: string };
  readonly resourceHealthSource: '' | 'appTree';
  readonly resources: readonly ResourceStatus[];
  /** Of the resources that have one, also where `resources` does not say it. */
  readonly resourceHealth: ReadonlyMap<ResourceKey, HealthStatus>;
  /** Of the types that a comparison owns (and sometimes InvalidSpecError). */
  readonly conditions: readonly ApplicationCondition[];
  readonly pairs: readonly ManagedPair[];
  readonly hooks: readonly KubeObject[];
  readonly liveHooks: readonly KubeObject[];
  readonly sourceTypes: readonly string[];
  readonly hasPreDeleteHooks: boolean;
  readonly hasPostDeleteHooks: boolean;
  readonly mayHaveChanges: boolean;
  /** Manifests or live state could not be loaded: nothing here is good enough to act on. */
  readonly failed: boolean;
  readonly degraded: readonly KindState[];
  /** Objects of which nothing is known: nothing may be done with them. The rest is as good as ever. */
  readonly unread: readonly UnreadObject[];
}

/**
 * Compares what should be with what is. Pure: equal facts give equal comparisons. Source: Argo CD controller/state.go CompareAppState,
 * steps 8 to 13.
 *
 * Differences: resources are in rendering order before they are sorted; a kind that could not be watched makes its own missing resources
 * Unknown, and objects that could not be read are Unknown themselves, never the whole application.
 */
export function compareState(facts: CompareFacts): Comparison {
  const deletion = partitionDeleteHooks(facts.rendered.targets);
  const live = new Map([...facts.live.objects].filter(([, object]) => facts.permitted(object)));
  const targets = withManagedNamespace(facts, deletion.targets, live);
  const destination = facts.app.spec.destination.namespace ?? '';
  const paired = pairResources(targets, live, destination, facts.isNamespaced);
  const diff = differ(facts);
  const unread = new Set(facts.live.unread?.map(({ key }) => key));
  const pairs = paired.pairs.map(({ target, live: found }): ManagedPair => {
    const object = sideOf({ live: found, target });
    const hook = isAnyHook(object);
    const own = isSelfReferenced(facts.settings, target, found);
    const dark = found === null && unread.has(keyOf(object));
    return {
      key: keyOf(object),
      target,
      live: found,
      hook,
      own,
      ...(dark ? { unread: true } : {}),
      diff: hook || dark ? unchanged(found) : diff(target, found),
    };
  });
  return conclude(facts, {
    pairs,
    hooks: paired.hooks,
    liveHooks: paired.liveHooks,
    failed: facts.rendered.failed || facts.live.failed,
    conditions: faultConditions(pairs.filter((pair) => pair.own)),
    ...deletion.flags,
  });
}

/** Steps of all jq programs in one comparison, a second or two: with ten rules, enough for ten thousand objects. */
export const jqSteps = 20_000_000;

/** Diffs pairs under the rules of this comparison, as long as both sides are known. */
function differ(facts: CompareFacts): (target: KubeObject | null, live: KubeObject | null) => DiffResult {
  if (facts.rendered.failed || facts.live.failed) return (_target, live) => unchanged(live);
  const ignoreDifferences = facts.app.spec.ignoreDifferences ?? [];
  const rules = { settings: facts.settings, ignoreDifferences, work: { left: jqSteps } };
  return (target, live) => diffObjects(target, live, rules);
}

/** The live object of a pair, else its target. */
export function sideOf(pair: Pick<ManagedPair, 'live' | 'target'>): KubeObject {
  const side = pair.live ?? pair.target;
  if (side === null) throw new TypeError('a managed pair has a target or a live object');
  return side;
}

interface Paired {
  readonly pairs: readonly ManagedPair[];
  readonly hooks: readonly KubeObject[];
  readonly liveHooks: readonly KubeObject[];
  readonly failed: boolean;
  readonly conditions: readonly ApplicationCondition[];
  readonly hasPreDeleteHooks: boolean;
  readonly hasPostDeleteHooks: boolean;
}

function conclude(facts: CompareFacts, paired: Paired): Comparison {
  const { app } = facts;
  const health = applicationHealth(
    paired.pairs,
    (object) => healthOf(object, facts.settings),
    (object) => isSelf(facts, object),
  );
  const rows = [
    ...paired.pairs.map((pair, i) => row(facts, paired, pair, health.resources[i] ?? null)),
    ...trackedUnread(facts, paired.pairs),
  ];
  const unread = facts.live.unread ?? [];
  const conditions = [
    ...facts.rendered.conditions,
    ...facts.live.conditions,
    ...unreadConditions(unread),
    ...paired.conditions,
    ...sharedConditions(facts, paired.pairs),
    ...rows.flatMap((item) => item.conditions),
    ...degradedConditions(facts, paired.pairs),
  ];
  return {
    syncStatus: syncStatus(facts, appStatus(app, paired.failed, rows)),
    // Without a live cache nobody can tell (Argo CD takes everything for missing).
    health: facts.live.failed ? { status: 'Unknown', message: '' } : { status: health.status, message: health.message },
    resourceHealthSource: facts.persistResourceHealth ? '' : 'appTree',
    resources: rows.map((item) => item.status).sort(byIdentity),
    resourceHealth: new Map(paired.pairs.flatMap(({ key }, i) => healthEntry(key, health.resources[i]))),
    conditions,
    pairs: paired.pairs,
    hooks: paired.hooks,
    liveHooks: paired.liveHooks,
    sourceTypes: facts.rendered.sourceTypes,
    hasPreDeleteHooks: paired.hasPreDeleteHooks,
    hasPostDeleteHooks: paired.hasPostDeleteHooks,
    mayHaveChanges: facts.rendered.mayHaveChanges,
    failed: paired.failed,
    degraded: facts.live.degraded,
    unread,
  };
}

function healthEntry(key: ResourceKey, health: HealthStatus | null | undefined): [ResourceKey, HealthStatus][] {
  return health === null || health === undefined ? [] : [[key, health]];
}

/** Objects of this application that no manifest names, and nobody could read: they are still its own. */
function trackedUnread(facts: CompareFacts, pairs: readonly ManagedPair[]): readonly Row[] {
  const paired = new Set(pairs.map(({ key }) => key));
  const rest = (facts.live.unread ?? []).filter(({ key }) => !paired.has(key));
  return rest.map((object) => ({
    status: unreadRow(object, facts.persistResourceHealth),
    ...{ counts: false, stale: true, conditions: [] },
  }));
}

function partitionDeleteHooks(targets: readonly KubeObject[]): {
  readonly targets: readonly KubeObject[];
  readonly flags: Pick<Paired, 'hasPreDeleteHooks' | 'hasPostDeleteHooks'>;
} {
  return {
    targets: targets.filter((target) => !isDeleteHook(target) || phasesOf(target).length > 0),
    flags: {
      hasPreDeleteHooks: targets.some(isPreDeleteHook),
      hasPostDeleteHooks: targets.some(isPostDeleteHook),
    },
  };
}

function isDeleteHook(object: KubeObject): boolean {
  return isPreDeleteHook(object) || isPostDeleteHook(object);
}

function isAnyHook(object: KubeObject): boolean {
  return isHook(object) || isDeleteHook(object);
}

/** A live Namespace whose metadata this application manages stays, although no manifest names it. */
function withManagedNamespace(
  { app, rendered }: CompareFacts,
  targets: readonly KubeObject[],
  live: ReadonlyMap<ResourceKey, KubeObject>,
): readonly KubeObject[] {
  const isWanted = (object: KubeObject): boolean => isManagedNamespace(app, object);
  const found = [...live.values()].find(isWanted);
  if (found === undefined || rendered.targets.some(isWanted)) return targets;
  const wanted = managedNamespace(app, found);
  return wanted === null ? targets : [...targets, wanted];
}

function unchanged(live: KubeObject | null): DiffResult {
  return { modified: false, normalizedLive: live, predictedLive: live, paths: [], faults: [], undecided: false };
}

interface Row {
  readonly status: ResourceStatus;
  /** Whether it makes the application OutOfSync. */
  readonly counts: boolean;
  /** Its live state is not known well enough to tell. */
  readonly stale: boolean;
  readonly conditions: readonly ApplicationCondition[];
}

function row(facts: CompareFacts, paired: Paired, pair: ManagedPair, health: HealthStatus | null): Row {
  const object = sideOf(pair);
  const { own } = pair;
  const prune = pair.target === null && pair.live !== null && own;
  const silent = pair.hook || !own || (pair.target !== null && isSkipped(pair.target));
  const computed = silent ? undefined : codeOf(facts, paired, pair, object);
  // Argo CD: what the project forbids shows as Unknown, but still counts as the difference that it is.
  const verdict = computed === undefined || facts.permitted(object) ? computed : 'Unknown';
  const extraneous = prune && csvAnnotation(object, annotations.compareOptions).includes('IgnoreExtraneous');
  const facet = { verdict, prune, health: facts.persistResourceHealth ? health : null };
  return {
    status: statusOf(facts.app, paired, pair, facet),
    counts: computed === 'OutOfSync' && !extraneous,
    stale: computed === 'Unknown',
    conditions: missingNamespace(facts, object),
  };
}

/** One entry of `status.resources`; members that say nothing are left out. */
function statusOf(
  app: Application,
  paired: Paired,
  pair: ManagedPair,
  facet: {
    readonly verdict: SyncStatusCode | undefined;
    readonly prune: boolean;
    readonly health: HealthStatus | null;
  },
): ResourceStatus {
  const object = sideOf(pair);
  const { group, kind, namespace, name } = refOf(object);
  const wave = waveOf(pair.target ?? hookTarget(paired, object) ?? object);
  const confirm = [pair.target, pair.live].some((side) => needsConfirmation(app, side));
  return {
    ...(group === '' ? {} : { group }),
    version: gvkOf(object).version,
    kind,
    ...(namespace === '' ? {} : { namespace }),
    name,
    ...(facet.verdict === undefined ? {} : { status: facet.verdict }),
    ...(facet.health === null ? {} : { health: facet.health }),
    ...(pair.hook ? { hook: true } : {}),
    ...(facet.prune ? { requiresPruning: true } : {}),
    ...(confirm ? { requiresDeletionConfirmation: true } : {}),
    ...(wave === 0 ? {} : { syncWave: wave }),
  };
}

function codeOf(facts: CompareFacts, paired: Paired, pair: ManagedPair, object: KubeObject): SyncStatusCode {
  if (paired.failed || pair.unread === true) return 'Unknown';
  if (pair.live === null && isDegraded(facts, object)) return 'Unknown';
  if (pair.target !== null && pair.live === null && isManagedNamespace(facts.app, pair.target)) return 'Synced';
  if (pair.diff.undecided) return 'Unknown';
  return pair.diff.modified || pair.target === null || pair.live === null ? 'OutOfSync' : 'Synced';
}

function appStatus(app: Application, failed: boolean, rows: readonly Row[]): SyncStatusCode {
  if (failed) return 'Unknown';
  if (managedNamespaceMetadataChanged(app) || rows.some((item) => item.counts)) return 'OutOfSync';
  return rows.some((item) => item.stale) ? 'Unknown' : 'Synced';
}

function syncStatus(facts: CompareFacts, status: SyncStatusCode): SyncStatus {
  const { spec } = facts.app;
  const { revisions } = facts.rendered;
  const comparedTo = comparedToOf(spec, facts.app.status?.sync?.comparedTo);
  if (hasMultipleSources(spec)) return { status, comparedTo, ...(revisions.length > 0 ? { revisions } : {}) };
  const revision = revisions[0] ?? facts.requested[0] ?? '';
  return { status, comparedTo, ...(revision === '' ? {} : { revision }) };
}

/** A live object counts only if its tracking names itself: a copy of a tracked object carries someone else's identity. */
function isSelfReferenced(settings: Settings, target: KubeObject | null, live: KubeObject | null): boolean {
  if (live === null || settings.tracking.method === 'label') return true;
  const claimed = target === null ? claimOf(settings, live) : refOf(target);
  if (claimed === undefined) return true;
  const actual = refOf(live);
  return (
    (actual.namespace === '' || actual.namespace === claimed.namespace) &&
    actual.name === claimed.name &&
    actual.group === claimed.group &&
    actual.kind === claimed.kind
  );
}

function claimOf(settings: Settings, live: KubeObject): ReturnType<typeof parseTrackingId> {
  if (trackedApp(live, settings.tracking) === undefined) return undefined;
  return parseTrackingId(annotationOf(live, annotations.trackingId) ?? '');
}

function hookTarget(paired: Paired, object: KubeObject): KubeObject | undefined {
  return isAnyHook(object) ? paired.hooks.find((hook) => keyOf(hook) === keyOf(object)) : undefined;
}

function needsConfirmation(app: Application, object: KubeObject | null): boolean {
  if (object === null) return false;
  const value = (key: string): string | undefined =>
    resourceOption(object, key) ?? optionValue(app.spec.syncPolicy?.syncOptions ?? [], key);
  return value('Delete') === 'confirm' || value('Prune') === 'confirm';
}

function missingNamespace(facts: CompareFacts, object: KubeObject): readonly ApplicationCondition[] {
  if ((object.metadata.namespace ?? '') !== '' || facts.isNamespaced(gkOf(object)) !== true) return [];
  const { group, version, kind } = gvkOf(object);
  const message = `Namespace for ${object.metadata.name ?? ''} ${group}/${version}, Kind=${kind} is missing.`;
  return [{ type: 'InvalidSpecError', message }];
}

function sharedConditions(facts: CompareFacts, pairs: readonly ManagedPair[]): readonly ApplicationCondition[] {
  return pairs.flatMap(({ live }): ApplicationCondition[] => {
    const other = live === null ? undefined : trackedApp(live, facts.settings.tracking);
    if (live === null || other === undefined || other === facts.instance) return [];
    const name = appKeyOfInstance(other, facts.controllerNamespace);
    const message = `${live.kind}/${live.metadata.name ?? ''} is part of applications ${facts.key} and ${name}`;
    return [{ type: 'SharedResourceWarning', message }];
  });
}

function isDegraded(facts: CompareFacts, object: KubeObject): boolean {
  return facts.live.degraded.some((kind) => sameKind(kind, gkOf(object)));
}

function sameKind(a: GroupKind, b: GroupKind): boolean {
  return a.group === b.group && a.kind === b.kind;
}

function degradedConditions(facts: CompareFacts, pairs: readonly ManagedPair[]): readonly ApplicationCondition[] {
  const used = facts.live.degraded.filter(
    (kind) =>
      pairs.some(({ live, target }) => sameKind(kind, gkOf(sideOf({ live, target })))) ||
      facts.app.status?.resources?.some((r) => sameKind(kind, { group: r.group ?? '', kind: r.kind ?? '' })) === true,
  );
  return used.map((kind) => ({
    type: 'StaleResourceWarning',
    message: `The live state of ${kind.group}/${kind.kind} is not up to date, nothing of this kind is pruned: ${kind.message ?? kind.state}`,
  }));
}

function isSelf(facts: CompareFacts, object: KubeObject): boolean {
  const { group, kind } = gkOf(object);
  const { name, namespace, uid } = facts.app.metadata;
  return (
    group === 'argoproj.io' &&
    kind === 'Application' &&
    object.metadata.name === name &&
    object.metadata.namespace === namespace &&
    (uid === undefined || object.metadata.uid === uid)
  );
}

function byIdentity(a: ResourceStatus, b: ResourceStatus): number {
  const [left, right] = [identity(a), identity(b)];
  return left < right ? -1 : Number(left > right);
}

function identity(r: ResourceStatus): string {
  return `${r.group ?? ''}/${r.kind ?? ''}/${r.namespace ?? ''}/${r.name ?? ''}`;
}
