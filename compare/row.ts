import { DriftlessError, hashJson } from '#base';
import { diffDryRun, diffObjects, readsOwnership } from '#diff';
import type { DiffResult, DiffRules, JqAnswers, JqWork } from '#diff';
import { healthOf } from '#health';
import type { LiveSchemas } from '#live';
import {
  annotationOf,
  annotations,
  csvAnnotation,
  destinationNamespaceOf,
  gvkOf,
  isHook,
  isSkipped,
  jsonOf,
  keyOf,
  parseTrackingId,
  readingOf,
  refOf,
  trackedApp,
} from '#model';
import type {
  AppKey,
  Application,
  ApplicationCondition,
  HealthStatus,
  KubeObject,
  ResourceKey,
  ResourceStatus,
  Settings,
  SyncStatusCode,
} from '#model';
import { isPostDeleteHook, isPreDeleteHook, optionValue, resourceOption, waveOf } from '#sync';
import { resourceHealth } from './app-health.ts';
import { isManagedNamespace } from './namespaces.ts';
import { gkOf } from './targets.ts';
import type { DryRunOutcome, DryRunPair, ServerSideDiff } from './types.ts';

/** Everything that one row is made from, beside what all rows of a comparison have in common. Never neither target nor live. */
export interface RowFacts {
  /** Where it stands: its place in rendering order, {@link afterTargets} for what no manifest names. */
  readonly at: number;
  readonly target: KubeObject | null;
  readonly live: KubeObject | null;
  /** The manifest of the hook that `live` was made from: its wave counts. */
  readonly manifest: KubeObject | null;
  /** The live object could not be read: that there is none says nothing. */
  readonly unread: boolean;
  /** The cache of its kind is not fresh. */
  readonly degraded: boolean;
  /** By its project, the application may have this kind and name. */
  readonly permitted: boolean;
  /** Undefined: the cluster does not know the kind. */
  readonly namespaced: boolean | undefined;
}

/** The place of what no manifest names: behind everything that one names, by key. */
export const afterTargets = Number.MAX_SAFE_INTEGER;

/** What all rows of one comparison have in common. */
export interface RowRules {
  readonly app: Application;
  readonly key: AppKey;
  readonly instance: string;
  readonly settings: Settings;
  readonly persistResourceHealth: boolean;
  /** Manifests or live state could not be loaded: nothing can be told of any row. */
  readonly failed: boolean;
  readonly schemas: LiveSchemas | undefined;
  readonly serverSideDiff: ServerSideDiff | undefined;
  readonly jq: JqAnswers | undefined;
  /** What the jq programs of all rows may do together; counted down. */
  readonly work: JqWork;
}

/** One resource, compared. Small: of the objects that it was made from it holds only what `diff` shares with the live one. */
export interface Row {
  readonly key: ResourceKey;
  readonly hook: boolean;
  /** False: the live object carries the tracking of another one (a copy); it is none of our business. */
  readonly own: boolean;
  readonly diff: DiffResult;
  /** Null: it has none, or does not count. */
  readonly health: HealthStatus | null;
  /** Its entry in `status.resources`. */
  readonly status: ResourceStatus;
  /** It makes the application OutOfSync. */
  readonly counts: boolean;
  /** Its live state is not known well enough to tell. */
  readonly stale: boolean;
  /** SharedResourceWarning and InvalidSpecError. */
  readonly conditions: readonly ApplicationCondition[];
  /** Steps that its jq programs took. */
  readonly spent: number;
  /**
   * A script of the administrator judged its health, the server refused it, or jq has not been asked yet: the next time they may say something else of
   * the same object.
   */
  readonly passing: boolean;
}

/**
 * Compares one resource. A function of its arguments, but for scripts of the administrator, refusals of a server (`passing`) and for the work that the rows before
 * it have left: once `rules.work` is used up, rows depend on each other. Source: Argo CD controller/state.go CompareAppState, the loop over
 * resources.
 */
export function makeRow(facts: RowFacts, rules: RowRules): Row {
  const object = sideOf(facts);
  const hook = isAnyHook(object);
  const own = isSelfReferenced(rules.settings, facts.target, facts.live);
  const before = { left: rules.work.left, asked: rules.jq?.asked };
  const { diff, refused } = diffOf(facts, rules, hook);
  const prune = facts.target === null && facts.live !== null && own;
  const silent = hook || !own || (facts.target !== null && isSkipped(facts.target));
  const computed = silent ? undefined : codeOf(facts, rules, { ...diff, refused });
  const extraneous = prune && csvAnnotation(object, annotations.compareOptions).includes('IgnoreExtraneous');
  const { health, scripted } = healthIn(facts, rules);
  return {
    key: keyOf(object),
    hook,
    own,
    diff,
    health,
    status: statusOf(facts, rules.app, {
      // Argo CD: what the project forbids shows as Unknown, but still counts as the difference that it is. So does everything where one side
      // could not be loaded, hooks and what is skipped with it.
      verdict: facts.permitted && !rules.failed ? computed : 'Unknown',
      prune,
      hook,
      health: rules.persistResourceHealth ? health : null,
    }),
    counts: computed === 'OutOfSync' && !extraneous,
    stale: computed === 'Unknown',
    conditions: [...refusedCondition(refused), ...sharedCondition(facts, rules), ...missingNamespace(facts)],
    spent: before.left - rules.work.left,
    passing: scripted || refused !== undefined || before.asked !== rules.jq?.asked,
  };
}

/**
 * What a row follows from: one that was made under an equal text is the same row. By hash for what Git says; by UID and resource version for
 * what the cluster says, and by what was read: a cluster whose etcd was restored gives old numbers to new contents, and our cache then
 * holds another reading. Undefined when the cluster names no version: then nobody can tell.
 *
 * @param version of what all rows have in common, see {@link versionOfRules}.
 */
export function identityOf(facts: RowFacts, version: string): string | undefined {
  const { target, live, manifest, unread, degraded, permitted, namespaced } = facts;
  const present = live === null ? '' : identityOfLive(live);
  if (present === undefined) return undefined;
  const wanted = target === null ? '' : hashOf(target);
  const wave = manifest === null ? '' : waveOf(manifest);
  const flags = [unread, degraded, permitted, namespaced].map(String).join(' ');
  return [version, wanted, present, wave, flags].join('\n');
}

/** Undefined when the cluster names no version: then nobody can tell. */
function identityOfLive(live: KubeObject): string | undefined {
  const { uid = '', resourceVersion = '' } = live.metadata;
  return uid === '' || resourceVersion === ''
    ? undefined
    : `${uid} ${resourceVersion} ${live.apiVersion} ${readingOf(live)}`;
}

/** Resources whose difference, with server-side diff, the API server is asked for. */
export function dryRunPairs(resources: readonly RowFacts[]): readonly DryRunPair[] {
  return resources.flatMap(({ target, live, unread }) => {
    if (target === null || live === null || unread || isAnyHook(live)) return [];
    const present = identityOfLive(live);
    const id = present === undefined ? undefined : `${hashOf(target)} ${present}`;
    return [{ key: keyOf(live), target, live, id }];
  });
}

/** Changes with everything that all rows have in common. Settings carry their own version. */
export function versionOfRules(rules: RowRules): string {
  const { app, key, instance, settings, persistResourceHealth, failed, schemas, serverSideDiff } = rules;
  const { name = '', namespace = '', uid = '' } = app.metadata;
  const { syncPolicy, ignoreDifferences } = app.spec;
  return hashJson(
    jsonOf([
      [settings.version, persistResourceHealth, failed],
      [key, instance, name, namespace, uid],
      [destinationNamespaceOf(app), syncPolicy?.syncOptions ?? [], syncPolicy?.managedNamespaceMetadata ?? false],
      ignoreDifferences ?? [],
      schemas?.version ?? '',
      serverSideDiff === undefined ? '' : [serverSideDiff.mutations, serverSideDiff.user],
    ]),
  );
}

/** Objects are never changed: each is hashed once, for as long as somebody holds it. */
const hashes = new WeakMap<KubeObject, string>();

function hashOf(object: KubeObject): string {
  const known = hashes.get(object) ?? hashJson(jsonOf(object));
  hashes.set(object, known);
  return known;
}

/** The live object of a pair, else its target. */
export function sideOf(pair: { readonly target: KubeObject | null; readonly live: KubeObject | null }): KubeObject {
  const side = pair.live ?? pair.target;
  if (side === null) throw new TypeError('a managed pair has a target or a live object');
  return side;
}

export function isAnyHook(object: KubeObject): boolean {
  return isHook(object) || isDeleteHook(object);
}

export function isDeleteHook(object: KubeObject): boolean {
  return isPreDeleteHook(object) || isPostDeleteHook(object);
}

/** The rules of ignoring that hold in an application. */
function diffRules({ app, settings, work, schemas, jq }: RowRules): DiffRules {
  return {
    settings,
    ignoreDifferences: app.spec.ignoreDifferences ?? [],
    work,
    serverSideApply: appliesAllServerSide(app),
    ...(schemas === undefined ? {} : { schemas: schemas.kinds }),
    ...(jq === undefined ? {} : { jq }),
  };
}

function appliesAllServerSide(app: Application): boolean {
  return app.spec.syncPolicy?.syncOptions?.includes('ServerSideApply=true') ?? false;
}

/** The group versions of the targets of which it matters how lists and maps are owned: their schemas are wanted. */
export function schemaApiVersions(
  app: Application,
  targets: readonly KubeObject[],
  settings: Settings,
): readonly string[] {
  const ignoreDifferences = app.spec.ignoreDifferences ?? [];
  const rules = { settings, ignoreDifferences, serverSideApply: appliesAllServerSide(app) };
  const read = targets.filter((target) => readsOwnership(target, rules));
  return [...new Set(read.map(({ apiVersion }) => apiVersion))];
}

/** Hooks and what could not be read do not differ, and nothing does while one side of the application is not known. */
function diffOf(
  facts: RowFacts,
  rules: RowRules,
  hook: boolean,
): { readonly diff: DiffResult; readonly refused: string | undefined } {
  const { target, live } = facts;
  const same = { modified: false, normalizedLive: live, predictedLive: live, paths: [], faults: [], undecided: false };
  if (rules.failed || hook || facts.unread) return { diff: same, refused: undefined };
  const { serverSideDiff } = rules;
  if (serverSideDiff === undefined || target === null || live === null)
    return { diff: diffObjects(target, live, diffRules(rules)), refused: undefined };
  const outcome = serverSideDiff.outcomes.get(keyOf(live)) ?? unasked;
  if ('refused' in outcome) return { diff: same, refused: refusal(target, outcome.refused) };
  const sides = { target, live, predicted: outcome.predicted };
  try {
    return { diff: diffDryRun(sides, diffRules(rules), serverSideDiff.mutations), refused: undefined };
  } catch (error) {
    if (!(error instanceof DriftlessError)) throw error;
    return { diff: same, refused: refusal(target, error.message) };
  }
}

const unasked: DryRunOutcome = { refused: 'the API server was not asked' };

function refusal(target: KubeObject, why: string): string {
  const which = `${target.kind}/${target.metadata.name ?? ''}`;
  return `failed to calculate diff: error calculating server side diff: serverSideDiff error: error running server side apply in dryrun mode for resource ${which}: ${why}`;
}

/** Argo CD: nothing of the application is compared then. Here the others are. */
function refusedCondition(refused: string | undefined): readonly ApplicationCondition[] {
  if (refused === undefined) return [];
  return [{ type: 'ComparisonError', message: `Failed to compare desired state to live state: ${refused}` }];
}

/** Health, and whether a script judged it. */
function healthIn(
  facts: RowFacts,
  { app, settings }: RowRules,
): {
  readonly health: Row['health'];
  readonly scripted: boolean;
} {
  const { overrides, healthScripts } = settings;
  let scripted = false;
  const watched = {
    run: (group: string, object: KubeObject) => {
      const said = healthScripts?.run(group, object);
      scripted ||= said !== undefined;
      return said;
    },
  };
  const scripts = healthScripts === undefined ? { overrides } : { overrides, healthScripts: watched };
  const health = resourceHealth(
    facts,
    (object) => healthOf(object, scripts),
    (object) => isSelf(app, object),
  );
  return { health, scripted };
}

/** One entry of `status.resources`; members that say nothing are left out. */
function statusOf(
  facts: RowFacts,
  app: Application,
  facet: {
    readonly verdict: SyncStatusCode | undefined;
    readonly prune: boolean;
    readonly hook: boolean;
    readonly health: HealthStatus | null;
  },
): ResourceStatus {
  const object = sideOf(facts);
  const { group, kind, namespace, name } = refOf(object);
  const wave = waveOf(facts.target ?? facts.manifest ?? object);
  const confirm = [facts.target, facts.live].some((side) => needsConfirmation(app, side));
  return {
    ...(group === '' ? {} : { group }),
    version: gvkOf(object).version,
    kind,
    ...(namespace === '' ? {} : { namespace }),
    name,
    ...(facet.verdict === undefined ? {} : { status: facet.verdict }),
    ...(facet.health === null ? {} : { health: facet.health }),
    ...(facet.hook ? { hook: true } : {}),
    ...(facet.prune ? { requiresPruning: true } : {}),
    ...(confirm ? { requiresDeletionConfirmation: true } : {}),
    ...(wave === 0 ? {} : { syncWave: wave }),
  };
}

function codeOf(
  facts: RowFacts,
  rules: RowRules,
  diff: DiffResult & { readonly refused: string | undefined },
): SyncStatusCode {
  const { target, live } = facts;
  if (rules.failed || facts.unread) return 'Unknown';
  if (live === null && facts.degraded) return 'Unknown';
  if (target !== null && live === null && isManagedNamespace(rules.app, target)) return 'Synced';
  if (diff.undecided || diff.refused !== undefined) return 'Unknown';
  return diff.modified || target === null || live === null ? 'OutOfSync' : 'Synced';
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

function needsConfirmation(app: Application, object: KubeObject | null): boolean {
  if (object === null) return false;
  const value = (key: string): string | undefined =>
    resourceOption(object, key) ?? optionValue(app.spec.syncPolicy?.syncOptions ?? [], key);
  return value('Delete') === 'confirm' || value('Prune') === 'confirm';
}

function missingNamespace(facts: RowFacts): readonly ApplicationCondition[] {
  const object = sideOf(facts);
  if ((object.metadata.namespace ?? '') !== '' || facts.namespaced !== true) return [];
  const { group, version, kind } = gvkOf(object);
  const message = `Namespace for ${object.metadata.name ?? ''} ${group}/${version}, Kind=${kind} is missing.`;
  return [{ type: 'InvalidSpecError', message }];
}

function sharedCondition({ live }: RowFacts, rules: RowRules): readonly ApplicationCondition[] {
  const other = live === null ? undefined : trackedApp(live, rules.settings.tracking);
  if (live === null || other === undefined || other === rules.instance) return [];
  const theirs = other.replaceAll('_', '/');
  const message = `${live.kind}/${live.metadata.name ?? ''} is part of applications ${rules.key} and ${theirs}`;
  return [{ type: 'SharedResourceWarning', message }];
}

function isSelf(app: Application, object: KubeObject): boolean {
  const { group, kind } = gkOf(object);
  const { name, namespace, uid } = app.metadata;
  return (
    group === 'argoproj.io' &&
    kind === 'Application' &&
    object.metadata.name === name &&
    object.metadata.namespace === namespace &&
    (uid === undefined || object.metadata.uid === uid)
  );
}
