import { defined, hashJson } from '#base';
import { applyMethodOf, diffObjects, lacksAppliedRecord, withinBudget } from '#diff';
import type { DiffResult, DiffRules, JqAnswers, JqWork } from '#diff';
import { healthOf } from '#health';
import type { LiveSchemas } from '#live';
import {
  annotationOf,
  annotations,
  contentIdOf,
  csvAnnotation,
  destinationNamespaceOf,
  gkOf,
  gvkOf,
  isHook,
  isNamedBy,
  isSkipped,
  jsonOf,
  keyOf,
  parseTrackingId,
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
import { applyRulesOf, migrationManagerOf } from './apply-rules.ts';
import { resourceWarnings } from './resource-warnings.ts';
import { isManagedNamespace } from './namespaces.ts';
import { diffByOutcome, equalDiff, isPreparedByWrites, isRefused } from './dry-run-diff.ts';
import type { ComputedDiff } from './dry-run-diff.ts';
import type { DryRunPair, ServerSideDiff } from './types.ts';

/** Facts about one resource. At least one of `target` and `live` is set. */
export interface RowFacts {
  /** Position in rendering order; {@link afterTargets} for a resource that no manifest names. */
  readonly at: number;
  readonly target: KubeObject | null;
  readonly live: KubeObject | null;
  /** The manifest of the hook that `live` was created from: its wave counts. */
  readonly manifest: KubeObject | null;
  /** The live object could not be read, so `live: null` does not mean that it is missing. */
  readonly unread: boolean;
  /** The cache of the kind is not fresh. */
  readonly degraded: boolean;
  /** The project permits this kind and name. */
  readonly permitted: boolean;
  /** Undefined if the cluster does not know the kind. */
  readonly namespaced: boolean | undefined;
}

/** Position of resources that no manifest names: after all others, by key. */
export const afterTargets = Number.MAX_SAFE_INTEGER;

/** Input that all rows of one comparison share. */
export interface RowRules {
  readonly app: Application;
  readonly key: AppKey;
  readonly instance: string;
  readonly settings: Settings;
  readonly persistResourceHealth: boolean;
  /** Manifests or live state could not be loaded, so every row is Unknown. */
  readonly failed: boolean;
  readonly schemas: LiveSchemas | undefined;
  readonly serverSideDiff: ServerSideDiff | undefined;
  readonly jq: JqAnswers | undefined;
  /** Remaining steps of the jq programs of all rows; counted down. */
  readonly work: JqWork;
}

/**
 * The comparison of one resource. Small: it keeps no more of the objects than `diff` shares with
 * the live one.
 */
export interface ResourceComparison {
  readonly key: ResourceKey;
  readonly hook: boolean;
  /** False if the live object is a copy that carries another object's tracking: not ours. */
  readonly own: boolean;
  readonly diff: DiffResult;
  /** `diff` has only the names of the objects: there was no memory for more. */
  readonly isTrimmed?: true;
  /** Null if the resource has no health, or its health does not count. */
  readonly health: HealthStatus | null;
  /** Its entry in `status.resources`. */
  readonly status: ResourceStatus;
  /** The resource makes the Application OutOfSync. */
  readonly makesOutOfSync: boolean;
  /** The live state is not known well enough to compare. */
  readonly isUnknown: boolean;
  /** SharedResourceWarning and InvalidSpecError. */
  readonly conditions: readonly ApplicationCondition[];
  /** Steps that its jq programs took. */
  readonly spent: number;
  /**
   * The next comparison of equal objects may differ: a health script judged it, the API server
   * refused it, or jq has not answered yet.
   */
  readonly isVolatile: boolean;
}

/**
 * Compares one resource. Depends only on its arguments, except for volatile results (`isVolatile`)
 * and the remaining jq work: after `rules.work` is used up, rows depend on each other. Source: Argo
 * CD controller/state.go CompareAppState, the loop over resources.
 */
export function compareResource(facts: RowFacts, rules: RowRules): ResourceComparison {
  const object = liveOrTarget(facts);
  const hook = isHookRow(facts);
  const own = isSelfReferenced(rules.settings, facts.target, facts.live);
  const before = { left: rules.work.left, asked: rules.jq?.unansweredCount };
  const computedDiff = computeDiff(facts, rules, hook);
  const { diff, refused } = computedDiff;
  const prune = facts.target === null && facts.live !== null && own;
  const silent = hook || !own || (facts.target !== null && isSkipped(facts.target));
  const computed = silent ? undefined : codeOf(facts, rules, { ...diff, refused });
  const extraneous = prune && csvAnnotation(object, annotations.compareOptions).includes('IgnoreExtraneous');
  const { health, scripted } = computeHealth(facts, rules);
  return {
    key: keyOf(object),
    hook,
    own,
    diff,
    health,
    status: statusOf(facts, rules.app, {
      // Argo CD: resources that the project forbids show as Unknown but still count as OutOfSync.
      // Same for all, hooks and skipped ones included, if one side could not be loaded.
      verdict: facts.permitted && !rules.failed ? computed : 'Unknown',
      prune,
      hook,
      health: rules.persistResourceHealth ? health : null,
    }),
    makesOutOfSync: computed === 'OutOfSync' && !extraneous,
    isUnknown: computed === 'Unknown',
    conditions: [
      ...refusedCondition(refused),
      ...resourceWarnings(object, { ...computedDiff, isUnrecorded: isUnrecorded(facts, rules) }),
      ...sharedCondition(facts, rules),
      ...missingNamespace(facts),
    ],
    spent: before.left - rules.work.left,
    isVolatile: scripted || isRefused(computedDiff) || before.asked !== rules.jq?.unansweredCount,
  };
}

/**
 * Identifies the input of a row: equal identity, equal row. Uses the hash of the desired object,
 * and UID, resourceVersion and content id of the live one: after an etcd restore, old versions may
 * have new contents. Undefined if the object has no version: then never reuse the row.
 *
 * @param version see {@link versionOfRules}.
 */
export function rowIdentity(facts: RowFacts, version: string): string | undefined {
  const { target, live, manifest, unread, degraded, permitted, namespaced } = facts;
  const present = live === null ? '' : liveIdentity(live);
  if (present === undefined) return undefined;
  const wanted = target === null ? '' : objectHash(target);
  const wave = manifest === null ? '' : String(waveOf(manifest));
  const flags = [unread, degraded, permitted, namespaced].map(String).join(' ');
  return [version, wanted, present, wave, flags].join('\n');
}

/** Undefined if the live object has no version. */
function liveIdentity(live: KubeObject): string | undefined {
  const { uid = '', resourceVersion = '' } = live.metadata;
  return uid === '' || resourceVersion === ''
    ? undefined
    : `${uid} ${resourceVersion} ${live.apiVersion} ${contentIdOf(live)}`;
}

/** Resources for which a server-side diff dry-runs what a sync would send. */
export function dryRunPairs(resources: readonly RowFacts[], rules: RowRules): readonly DryRunPair[] {
  const how = diffRules(rules);
  return resources.flatMap(({ target, live, unread }) => {
    if (target === null || live === null || unread) return [];
    const present = liveIdentity(live);
    const method = applyMethodOf(target, live, how);
    if (isPreparedByWrites(target, live, how)) return [];
    const id = present === undefined ? undefined : `${objectHash(target)} ${present} ${method}`;
    return [{ key: keyOf(live), target, live, id, method }];
  });
}

type AppSpecRules = RowRules['app']['spec']['ignoreDifferences'];

/** Changes whenever any shared input changes. Settings carry their own version. */
export function versionOfRules(rules: RowRules): string {
  const { app, key, instance, settings, persistResourceHealth, failed, schemas, serverSideDiff } = rules;
  const { name = '', namespace = '', uid = '' } = app.metadata;
  const { syncPolicy, ignoreDifferences } = app.spec;
  return hashJson(
    jsonOf([
      [settings.version, persistResourceHealth, failed],
      [key, instance, name, namespace, uid],
      [destinationNamespaceOf(app), syncPolicy?.syncOptions ?? [], syncPolicy?.managedNamespaceMetadata ?? false],
      [versionOfIgnored(ignoreDifferences), migrationManagerOf(app)],
      schemas?.version ?? '',
      serverSideDiff === undefined ? '' : [serverSideDiff.mutations, serverSideDiff.user],
    ]),
  );
}

/** Only rules within the budget are in force; the fault counts the others, which are not read. */
function versionOfIgnored(rules: AppSpecRules): unknown {
  const { list, fault } = withinBudget(rules ?? []);
  return [list, fault?.rule ?? '', fault?.problem ?? ''];
}

/** Objects are immutable: hash each once, while it is referenced. */
const hashes = new WeakMap<KubeObject, string>();

function objectHash(object: KubeObject): string {
  const known = hashes.get(object) ?? hashJson(jsonOf(object));
  hashes.set(object, known);
  return known;
}

/** The live object of a pair, otherwise its target. */
export function liveOrTarget(pair: {
  readonly target: KubeObject | null;
  readonly live: KubeObject | null;
}): KubeObject {
  const side = pair.live ?? pair.target;
  if (side === null) throw new TypeError('a managed pair has a target or a live object');
  return side;
}

/** The sources say what is a hook: a mark on the live object alone hides nothing. */
function isHookRow(facts: RowFacts): boolean {
  return isAnyHook(facts.target ?? liveOrTarget(facts));
}

export function isAnyHook(object: KubeObject): boolean {
  return isHook(object) || isDeleteHook(object);
}

export function isDeleteHook(object: KubeObject): boolean {
  return isPreDeleteHook(object) || isPostDeleteHook(object);
}

/** One list, because compiled rules are cached by their list. */
const noIgnoreRules: DiffRules['ignoreDifferences'] = [];

/** Cached for the rows of one comparison. */
const diffRulesOf = new WeakMap<RowRules, DiffRules>();

/** The ignore rules in effect for the Application. */
function diffRules(rules: RowRules): DiffRules {
  const known = diffRulesOf.get(rules);
  if (known !== undefined) return known;
  const { app, settings, work, schemas, jq } = rules;
  const made = {
    settings,
    ignoreDifferences: app.spec.ignoreDifferences ?? noIgnoreRules,
    work,
    ...applyRulesOf(app),
    ...(schemas === undefined ? {} : { schemas: schemas.kinds }),
    ...defined({ jq }),
  };
  diffRulesOf.set(rules, made);
  return made;
}

/**
 * Whether managed fields are all that says what we applied, and nothing in them is ours: they were
 * trimmed. An object that another tool created is not tracked yet.
 */
function isUnrecorded({ target, live, unread }: RowFacts, rules: RowRules): boolean {
  if (target === null || live === null || unread) return false;
  if (applyMethodOf(target, live, diffRules(rules)) === 'client') return false;
  return trackedApp(live, rules.settings.tracking) === rules.instance && lacksAppliedRecord(live, diffRules(rules));
}

/** Hooks and unreadable objects do not differ; nor does any resource while one side is unknown. */
function computeDiff(facts: RowFacts, rules: RowRules, hook: boolean): ComputedDiff {
  const { target, live } = facts;
  if (rules.failed || hook || facts.unread) return { diff: equalDiff(live), refused: undefined };
  const how = diffRules(rules);
  const { serverSideDiff } = rules;
  if (serverSideDiff === undefined || target === null || live === null)
    return { diff: diffObjects(target, live, how), refused: undefined };
  const { outcomes, mutations } = serverSideDiff;
  return diffByOutcome({ target, live, outcome: outcomes.get(keyOf(live)) }, how, mutations);
}

/** In Argo CD nothing of the Application is compared then. Here all other resources are. */
function refusedCondition(refused: string | undefined): readonly ApplicationCondition[] {
  if (refused === undefined) return [];
  return [{ type: 'ComparisonError', message: `Failed to compare desired state to live state: ${refused}` }];
}

/** Health, and whether a script judged it. */
function computeHealth(
  facts: RowFacts,
  { app, settings }: RowRules,
): {
  readonly health: ResourceComparison['health'];
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

/** The members of an entry in `status.resources` that identify the object. */
export function identityInStatus(
  object: KubeObject,
): Pick<ResourceStatus, 'group' | 'version' | 'kind' | 'namespace' | 'name'> {
  const { group, kind, namespace, name } = refOf(object);
  return {
    ...(group === '' ? {} : { group }),
    version: gvkOf(object).version,
    kind,
    ...(namespace === '' ? {} : { namespace }),
    name,
  };
}

/** One entry of `status.resources`; empty members are left out. */
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
  const object = liveOrTarget(facts);
  // Argo CD: the wave of the manifest; none for an object that no manifest names, such as a hook
  // with generateName, or a prune candidate.
  const declared = facts.target ?? facts.manifest;
  const wave = declared === null ? 0 : waveOf(declared);
  const confirm = [facts.target, facts.live].some((side) => needsConfirmation(app, side));
  return {
    ...identityInStatus(object),
    ...defined({ status: facet.verdict }),
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

/**
 * A live object counts only if its tracking names itself: a copy carries the original's identity.
 */
function isSelfReferenced(settings: Settings, target: KubeObject | null, live: KubeObject | null): boolean {
  if (live === null || settings.tracking.method === 'label') return true;
  const claimed = target === null ? claimOf(settings, live) : refOf(target);
  return claimed === undefined || isNamedBy(claimed, live);
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
  const object = liveOrTarget(facts);
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
