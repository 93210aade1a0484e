import { createMergePatch, defined, valueAt, isObject, omit } from '#base';
import type { ExactInteger, Json, JsonObject } from '#base';
import { addDeferred, deferredPartsOf, deferredProperty } from './deferred-object.ts';
import type { DeferredParts } from './deferred-object.ts';
import { keyOfRef } from './object.ts';
import { isCompleted } from './status.ts';
import { readStatus } from './stored-status.ts';
import type { KubeObject, ObjectMeta, ResourceKey, ResourceRef } from './object.ts';
import type {
  ApplicationCondition,
  HealthStatus,
  HealthStatusCode,
  HookType,
  OperationPhase,
  ResultCode,
  SyncPhase,
  SyncStatusCode,
} from './status.ts';

/** `spec.source.directory`. */
export interface DirectorySource {
  readonly recurse?: boolean;
  readonly include?: string;
  readonly exclude?: string;
  readonly disableExtensionFilter?: boolean;
  readonly jsonnet?: JsonObject;
}

export interface ApplicationSource {
  readonly repoURL: string;
  readonly path?: string;
  readonly targetRevision?: string;
  /** Prefix of the tags that a version in `targetRevision` selects from. */
  readonly tagPrefix?: string;
  readonly chart?: string;
  readonly ref?: string;
  readonly name?: string;
  readonly directory?: DirectorySource;
  readonly helm?: JsonObject;
  readonly kustomize?: JsonObject;
  readonly plugin?: JsonObject;
}

export interface ApplicationDestination {
  readonly server?: string;
  readonly name?: string;
  readonly namespace?: string;
}

export interface AutomatedSync {
  readonly prune?: boolean | null;
  readonly selfHeal?: boolean | null;
  readonly allowEmpty?: boolean | null;
  readonly enabled?: boolean | null;
}

export interface RetryStrategy {
  readonly limit?: ExactInteger;
  readonly refresh?: boolean;
  readonly backoff?: { readonly duration?: string; readonly factor?: ExactInteger; readonly maxDuration?: string };
}

export interface SyncPolicy {
  readonly automated?: AutomatedSync;
  readonly syncOptions?: readonly string[];
  readonly retry?: RetryStrategy;
  readonly managedNamespaceMetadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

export interface ResourceIgnoreDifferences {
  readonly kind: string;
  readonly group?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly jsonPointers?: readonly string[];
  readonly jqPathExpressions?: readonly string[];
  readonly managedFieldsManagers?: readonly string[];
}

export interface ApplicationSpec {
  readonly project?: string;
  readonly source?: ApplicationSource;
  readonly sources?: readonly ApplicationSource[];
  readonly sourceHydrator?: JsonObject;
  readonly destination: ApplicationDestination;
  readonly syncPolicy?: SyncPolicy;
  readonly ignoreDifferences?: readonly ResourceIgnoreDifferences[];
  readonly info?: readonly { readonly name: string; readonly value: string }[];
  readonly revisionHistoryLimit?: ExactInteger;
}

export interface SyncOperationResource {
  readonly group?: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

export interface SyncOperation {
  readonly revision?: string;
  readonly revisions?: readonly string[];
  readonly prune?: boolean;
  readonly dryRun?: boolean;
  readonly syncStrategy?: {
    readonly apply?: { readonly force?: boolean };
    readonly hook?: { readonly force?: boolean };
  };
  readonly resources?: readonly SyncOperationResource[];
  readonly source?: ApplicationSource;
  readonly sources?: readonly ApplicationSource[];
  readonly manifests?: readonly string[];
  readonly syncOptions?: readonly string[];
  readonly autoHealAttemptsCount?: ExactInteger;
}

export interface OperationInitiator {
  readonly username?: string;
  readonly automated?: boolean;
}

export interface Operation {
  readonly sync?: SyncOperation;
  readonly initiatedBy?: OperationInitiator;
  readonly info?: readonly { readonly name: string; readonly value: string }[];
  readonly retry?: RetryStrategy;
}

/** One entry of `operationState.syncResult.resources`. */
export interface ResourceResult {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly status?: ResultCode;
  readonly message?: string;
  readonly hookType?: HookType;
  readonly hookPhase?: OperationPhase;
  readonly syncPhase?: SyncPhase;
  readonly images?: readonly string[];
}

export interface SyncOperationResult {
  readonly resources?: readonly ResourceResult[];
  readonly revision: string;
  readonly revisions?: readonly string[];
  readonly source: ApplicationSource;
  readonly sources?: readonly ApplicationSource[];
  readonly managedNamespaceMetadata?: SyncPolicy['managedNamespaceMetadata'];
}

export interface OperationState {
  readonly operation: Operation;
  readonly phase: OperationPhase;
  readonly message?: string;
  readonly syncResult?: SyncOperationResult;
  readonly startedAt: string;
  readonly finishedAt?: string;
  readonly retryCount?: ExactInteger;
}

export interface ComparedTo {
  readonly source: ApplicationSource;
  readonly sources?: readonly ApplicationSource[];
  readonly destination: ApplicationDestination;
  readonly ignoreDifferences?: readonly ResourceIgnoreDifferences[];
}

export interface SyncStatus {
  readonly status: SyncStatusCode;
  readonly comparedTo?: ComparedTo;
  readonly revision?: string;
  readonly revisions?: readonly string[];
}

export interface AppHealthStatus {
  readonly status?: HealthStatusCode;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** One entry of `status.resources`. */
export interface ResourceStatus {
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly status?: SyncStatusCode;
  readonly health?: HealthStatus;
  readonly hook?: boolean;
  readonly requiresPruning?: boolean;
  readonly requiresDeletionConfirmation?: boolean;
  readonly syncWave?: ExactInteger;
}

export interface RevisionHistory {
  readonly id: ExactInteger;
  readonly revision?: string;
  readonly revisions?: readonly string[];
  readonly source: ApplicationSource;
  readonly sources?: readonly ApplicationSource[];
  readonly deployedAt: string;
  readonly deployStartedAt?: string;
  readonly initiatedBy: OperationInitiator;
}

export interface ApplicationSummary {
  readonly externalURLs?: readonly string[];
  readonly images?: readonly string[];
  readonly isAppOfApps?: boolean;
}

export interface ApplicationStatus {
  readonly resources?: readonly ResourceStatus[];
  readonly sync?: SyncStatus;
  readonly health?: AppHealthStatus;
  readonly history?: readonly RevisionHistory[];
  readonly conditions?: readonly ApplicationCondition[];
  readonly reconciledAt?: string;
  readonly operationState?: OperationState;
  readonly sourceType?: string;
  readonly sourceTypes?: readonly string[];
  readonly summary?: ApplicationSummary;
  readonly resourceHealthSource?: string;
  readonly controllerNamespace?: string;
  readonly sourceHydrator?: JsonObject;
}

/** An Application as stored in the API server. Unknown fields are preserved. */
export interface Application {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec: ApplicationSpec;
  readonly operation?: Operation;
  readonly status?: ApplicationStatus;
}

/** The resource that an entry of `status.resources` names. */
export function refOfStatus(row: Pick<ResourceStatus, 'group' | 'kind' | 'namespace' | 'name'>): ResourceRef {
  return { group: row.group ?? '', kind: row.kind ?? '', namespace: row.namespace ?? '', name: row.name ?? '' };
}

export function keyOfStatus(row: ResourceStatus): ResourceKey {
  return keyOfRef(refOfStatus(row));
}

/**
 * Reads an object as an Application. The API server validated its schema, except for objects stored
 * before the CRD had one: a missing spec becomes an empty destination, so that validation reports
 * the fault instead of code throwing elsewhere. Some clients store a null operation: it is none.
 */
export function asApplication(object: KubeObject): Application {
  const known = applications.get(object) ?? toApplication(object);
  applications.set(object, known);
  return known;
}

/** Objects are immutable, so the same object is always the same Application. */
const applications = new WeakMap<KubeObject, Application>();

function toApplication(object: KubeObject): Application {
  const spec = object['spec'];
  const usable = typeof spec === 'object' && spec !== null && !Array.isArray(spec) ? (spec as JsonObject) : {};
  const destination = usable['destination'] ?? {};
  const deferred = deferredPartsOf(object);
  if (deferred !== undefined) return toDeferredApplication(object, deferred, { ...usable, destination });
  const known = object['operation'] === null ? omit(object, 'operation') : object;
  const { status, malformed } = readStatus(object['status'] as Json | undefined);
  const spread = malformed.length === 0 ? known : { ...omit(known, 'status'), ...defined({ status }) };
  const app = { ...spread, spec: { ...usable, destination } } as unknown as Application;
  if (malformed.length > 0) malformedStatuses.set(app, { stored: object['status'] as Json | undefined, malformed });
  return app;
}

/** Checks the status when it is read. */
function toDeferredApplication(object: KubeObject, parts: DeferredParts, spec: JsonObject): Application {
  const { apiVersion, kind, metadata, operation } = object;
  const head =
    operation === undefined ? { apiVersion, kind, metadata, spec } : { apiVersion, kind, metadata, operation, spec };
  return addDeferred(head, parts, 'status', parts.status && checkedStatus) as unknown as Application;
}

const checkedStatus = deferredProperty(({ status }, app) => {
  const stored = status?.read();
  if (stored === undefined || wellFormedStatuses.has(stored)) return stored;
  const readable = readStatus(stored);
  if (readable.malformed.length === 0) wellFormedStatuses.add(stored);
  else malformedStatuses.set(app as Application, { stored, malformed: readable.malformed });
  return readable.status;
});

const wellFormedStatuses = new WeakSet<JsonObject>();

interface MalformedStatus {
  readonly stored: Json | undefined;
  readonly malformed: readonly string[];
}

const malformedStatuses = new WeakMap<Application, MalformedStatus>();

/** Names of the members of the stored status that lack something here, as they cannot be read. */
export function malformedStatusOf(app: Application): readonly string[] {
  return malformedStatusIn(app)?.malformed ?? [];
}

function malformedStatusIn(app: Application): MalformedStatus | undefined {
  // Reading the status of a deferred Application checks it.
  Reflect.get(app, 'status');
  return malformedStatuses.get(app);
}

/** The merge patch that removes what cannot be read; undefined: nothing to remove. */
export function statusRepair(app: Application): JsonObject | undefined {
  const found = malformedStatusIn(app);
  if (found === undefined) return undefined;
  const { stored } = found;
  if (!isObject(stored)) return { status: null };
  // Deletions depend on the resources: a comparison writes them anew.
  const status = createMergePatch(omit(stored, 'resources'), omit(jsonOf(app.status ?? {}) as JsonObject, 'resources'));
  return status === undefined ? undefined : { status };
}

/** The raw object, for writing. */
export function asObject(app: Application): KubeObject {
  return app as unknown as KubeObject;
}

/** `spec.project`, "default" when empty. */
export function projectOf(app: Application): string {
  return app.spec.project === undefined || app.spec.project === '' ? 'default' : app.spec.project;
}

/** The default namespace of namespaced objects; "" if the destination names none. */
export function destinationNamespaceOf(app: Application): string {
  return app.spec.destination.namespace ?? '';
}

/**
 * True if `spec.sources` is in force: it overrides `spec.source`; a source hydrator overrides both.
 */
export function hasMultipleSources(spec: ApplicationSpec): boolean {
  return hydratorOf(spec) === undefined && (spec.sources?.length ?? 0) > 0;
}

/** `spec.sourceHydrator`, if the Application has one. */
export function hydratorOf(spec: ApplicationSpec): JsonObject | undefined {
  return isObject(spec.sourceHydrator) ? spec.sourceHydrator : undefined;
}

/**
 * The sources to render: the hydrated branch of a source hydrator, else `sources`, else the single
 * source; empty if the Application has none (Argo CD: types.go GetSources).
 */
export function sourcesOf(spec: ApplicationSpec): readonly ApplicationSource[] {
  const hydrator = hydratorOf(spec);
  if (hydrator !== undefined) return [syncSourceOf(hydrator)];
  if (hasMultipleSources(spec)) return spec.sources ?? [];
  return spec.source === undefined ? [] : [spec.source];
}

/**
 * The hydrator's output: path and branch of `syncSource`, in its own repository or that of the dry
 * source (GetSyncSource).
 */
function syncSourceOf(hydrator: JsonObject): ApplicationSource {
  const text = (...path: readonly string[]): string => {
    const value = valueAt(hydrator, ...path);
    return typeof value === 'string' ? value : '';
  };
  const own = text('syncSource', 'repoURL');
  return {
    repoURL: own === '' ? text('drySource', 'repoURL') : own,
    path: text('syncSource', 'path'),
    targetRevision: text('syncSource', 'targetBranch'),
  };
}

/**
 * All repositories that this Application names: rendered, read by a hydrator, or synced by an
 * operation. Without duplicates and empty URLs.
 */
export function repositoryUrlsOf(app: Application): readonly string[] {
  const { spec, operation, status } = app;
  const dry = valueAt(hydratorOf(spec) ?? {}, 'drySource', 'repoURL');
  const last = status?.operationState;
  const asked = [operation?.sync, last?.operation.sync, last?.syncResult];
  const named = asked.flatMap((sync) => [sync?.source, ...(sync?.sources ?? [])]);
  const urls = [...sourcesOf(spec), ...named].map((source) => source?.repoURL);
  return [...new Set([...urls, dry])].filter((url): url is string => typeof url === 'string' && url !== '');
}

/** The single source that Argo CD's accessors return (GetSource): the first, or an empty one. */
export function sourceOf(spec: ApplicationSpec): ApplicationSource {
  return sourcesOf(spec)[0] ?? { repoURL: '' };
}

/** Whether an operation is requested, or has begun and not ended. */
export function hasOperation({ operation, status }: Application): boolean {
  // A state that is written by hand may be null.
  const state = status?.operationState ?? undefined;
  return operation !== undefined || (state !== undefined && !isCompleted(state.phase));
}

/** True if `syncPolicy.automated` is set and its `enabled` is not false. */
export function isAutomated(spec: ApplicationSpec): boolean {
  const automated = spec.syncPolicy?.automated;
  return automated !== undefined && automated.enabled !== false;
}

/** Exact, whole-string membership (Argo CD: SyncOptions.HasOption). */
export function hasSyncOption(options: readonly string[] | undefined, option: string): boolean {
  return options?.includes(option) ?? false;
}

/** A typed part of an object as a JSON value; undefined becomes null. */
export function jsonOf(value: unknown): Json {
  return (value ?? null) as Json;
}
