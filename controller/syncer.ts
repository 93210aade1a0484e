import { messageOf } from '#base';
import type { Clock, Limiter } from '#base';
import { isUnreadKind, jqSteps, managedNamespace, unreadConditions } from '#compare';
import type { Comparison } from '#compare';
import { healthOf } from '#health';
import { findResource } from '#kube';
import type { ClusterClients } from '#kube';
import { ClusterIgnored } from '#live';
import type { LiveCluster } from '#live';
import {
  annotationOf,
  annotations,
  asObject,
  destinationNamespaceOf,
  hasMultipleSources,
  hasSyncOption,
  keyOf,
  refOf,
  sourceOf,
  trackedApp,
} from '#model';
import type {
  AppKey,
  Application,
  KubeObject,
  OperationState,
  ResourceKey,
  ResourceRef,
  ResourceResult,
  SyncOperation,
  SyncOperationResult,
} from '#model';
import { readSyncOptions, syncStep, terminateSync } from '#sync';
import type { SyncOutcome, SyncRequest } from '#sync';
import type { Logger } from '#telemetry';
import type { GateQuestion } from './apply-gate.ts';
import type { WorkMetrics } from './apply-metrics.ts';
import type { BoundApplication } from './bound.ts';
import type { Compared, Comparer } from './comparer.ts';
import { leftovers } from './claims.ts';
import type { Claims } from './claims.ts';
import { formatConditions } from './conditions.ts';
import { ClusterNotReady } from './errors.ts';
import type { JqRunner } from './jq-runner.ts';
import type { Memories } from './memory.ts';
import { respectingWriter } from './respect.ts';
import type { OwnershipGuard } from './ownership-guard.ts';
import { parseTime } from './kube-time.ts';
import { GuardedWriter } from './writer.ts';
import type { Sending, WriterDeps } from './writer.ts';

export interface SyncDeps {
  readonly comparer: Comparer;
  readonly clients: ClusterClients;
  /** The cluster that is kept under this URL now. */
  readonly peek: (server: string) => LiveCluster | undefined;
  readonly toCluster: OwnershipGuard['toCluster'];
  readonly claims: Pick<Claims, 'claimants'>;
  /** --kubectl-parallelism-limit: writes of all syncs and deletions together, and dry runs, pass it. */
  readonly limiter: Limiter;
  readonly jq: Pick<JqRunner, 'answer'>;
  readonly memories: Pick<Memories, 'gate'>;
  readonly work: Pick<WorkMetrics, 'stage'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface SyncConfig {
  readonly waveDelayMs: number;
}

/** How a writer writes. */
export interface WritingAs {
  /** Whom it acts as on the cluster; undefined: ourselves. */
  readonly user: string | undefined;
  /** For an operation that only tries: nothing is ever changed. */
  readonly dryRun?: boolean;
  /** What the comparison found different; absent: nothing was compared, and everything is sent. */
  readonly differing?: ReadonlySet<ResourceKey>;
}

/** How a step left the operation: what endPass works on. */
type StepState = OperationState;

/**
 * One step of a sync: pins the revisions, compares at them, checks policy, and lets `sync` do one wave. Source: Argo CD controller/sync.go
 * SyncAppState. Returns the state with phase, message and results of the step; what is wrong with the application is a phase (Error, Failed)
 * with a message, not an exception.
 *
 * Throws the abort reason, OwnershipLost, and what keeps it from comparing at all (the caller shows that as an Error).
 *
 * Differences: a window is judged by the operation that runs (Argo CD takes the one before it for the first pass), and does not hold up the
 * end of a terminated operation.
 */
export class Syncer {
  readonly #deps: SyncDeps;
  readonly #config: SyncConfig;

  constructor(deps: SyncDeps, config: SyncConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  async step(bound: BoundApplication, state: OperationState, signal: AbortSignal): Promise<StepState> {
    const sync = state.operation.sync;
    if (sync === undefined) return failed(state, 'Error', 'Invalid operation request: no operation specified');
    const terminating = state.phase === 'Terminating';
    const blocked = terminating ? undefined : bound.windows.blocks(state);
    if (blocked !== undefined) return { ...state, message: blocked };
    const started = withResult(bound.app, state, sync);
    // The condition in the status is the user's to write, and may be late: each step asks for itself.
    const { misplaced } = bound.gate;
    if (misplaced !== undefined && !terminating)
      return failed(started, 'Error', formatConditions([{ type: 'InvalidSpecError', message: misplaced }]));
    const compared = await this.#compare(bound, started, sync, signal);
    const pinned = pin(started, compared);
    const refusal = refusalOf(bound.app, sync, compared.comparison);
    if (refusal !== undefined && !terminating) return failed(pinned, refusal.phase, refusal.message);
    let user: string | undefined;
    try {
      user = bound.identity.syncs();
    } catch (error) {
      return failed(pinned, 'Error', messageOf(error));
    }
    const request = this.#request(bound, pinned, compared, { user, signal });
    const outcome = await this.#deps.work.stage('sync', () =>
      terminating ? terminateSync(request) : syncStep(request),
    );
    return afterStep(bound.app, pinned, outcome, compared.cluster);
  }

  #compare(
    bound: BoundApplication,
    state: OperationState,
    sync: SyncOperation,
    signal: AbortSignal,
  ): Promise<Compared> {
    const result = state.syncResult;
    const multiple = (result?.sources?.length ?? 0) > 0;
    return this.#deps.comparer.compare(
      {
        bound,
        sources: multiple ? (result?.sources ?? []) : [result?.source ?? sourceOf(bound.app.spec)],
        revisions: requestedRevisions(result, multiple),
        noCache: false,
        noRevisionCache: true,
        localManifests: sync.manifests ?? [],
        // Rows that hold are used again: a sync of one object in thousands compares that one.
        changed: new Set(),
      },
      () => false,
      signal,
    );
  }

  #request(
    bound: BoundApplication,
    state: OperationState,
    compared: Compared,
    context: { readonly user: string | undefined; readonly signal: AbortSignal },
  ): SyncRequest {
    const { comparison, cluster } = compared;
    const { app, settings } = bound;
    const sync = state.operation.sync ?? {};
    const startedAt = parseTime(state.startedAt) ?? this.#deps.clock.now();
    return {
      resources: comparison.pairs.map(({ target, live, diff }) => ({ target, live, modified: diff.modified })),
      hooks: comparison.hooks,
      liveHooks: comparison.liveHooks,
      options: readSyncOptions(sync, {
        pruneConfirmed: isApproved(app, startedAt),
        waveDelayMs: this.#config.waveDelayMs,
        migrationManager:
          annotationOf(asObject(app), annotations.clientSideApplyMigrationManager) ?? 'kubectl-client-side-apply',
      }),
      destinationNamespace: destinationNamespaceOf(app),
      revision: state.syncResult?.revision ?? '',
      startedAt,
      attempt: `${state.startedAt}/${state.retryCount ?? 0}`,
      results: state.syncResult?.resources ?? [],
      selected: selector(sync, comparison),
      health: (object) => healthOf(object, settings),
      mayPrune: (gk) =>
        !comparison.failed &&
        !isUnreadKind(comparison.unread, gk) &&
        !comparison.degraded.some((kind) => kind.group === gk.group && kind.kind === gk.kind),
      claimant: this.#claimant(bound, compared),
      namespaceModifier: (live) => managedNamespace(app, live),
      writer: respectingWriter(
        this.writer(bound, cluster, {
          user: context.user,
          dryRun: sync.dryRun === true,
          differing: differing(comparison),
        }),
        comparison.pairs,
        hasSyncOption(sync.syncOptions, 'RespectIgnoreDifferences=true')
          ? { settings, ignoreDifferences: app.spec.ignoreDifferences ?? [], work: { left: jqSteps } }
          : undefined,
        this.#deps.jq,
      ),
      warn: (message, error) => this.#deps.logger.warn(message, { application: bound.key, error }),
      clock: this.#deps.clock,
      signal: context.signal,
    };
  }

  /** Asked of all that might be pruned, and only when something is. */
  #claimant({ key }: BoundApplication, { comparison, cluster }: Compared): SyncRequest['claimant'] {
    let known: ReadonlyMap<ResourceKey, AppKey> | undefined;
    return (object) => {
      known ??= this.#deps.claims.claimants({ key, server: cluster.server, refs: leftovers(comparison) });
      return known.get(keyOf(object));
    };
  }

  /**
   * The write choke point for one application on one cluster.
   * @throws ClusterNotReady when the cluster has just been given up, or another one stands at its URL: what was seen in this one says nothing
   * about that one.
   */
  writer({ key, gate, settings }: BoundApplication, cluster: LiveCluster, as: WritingAs): GuardedWriter {
    const { user, dryRun = false, differing: differs } = as;
    const client = this.#deps.clients.of(cluster.server);
    if (client === undefined || this.#deps.peek(cluster.server) !== cluster)
      throw new ClusterNotReady(cluster.server, new ClusterIgnored(cluster.server));
    return new GuardedWriter({
      cluster,
      client: user === undefined ? client : client.impersonate(user),
      fenced: (signal, send) => this.#deps.toCluster(cluster.server, key, signal, send),
      denied: (object, namespaced) => gate.denied(object, namespaced),
      appOf: (object) => trackedApp(object, settings.tracking),
      limiter: this.#deps.limiter,
      clock: this.#deps.clock,
      ...(differs === undefined ? {} : this.#gate({ app: key, server: cluster.server, user }, differs)),
      dryRun,
    });
  }

  #gate(
    who: Pick<GateQuestion, 'app' | 'server' | 'user'>,
    differing: ReadonlySet<ResourceKey>,
  ): Pick<WriterDeps, 'gate'> {
    const { gate } = this.#deps.memories;
    if (gate === undefined) return {};
    const differs = ({ target }: Sending): boolean => differing.has(keyOf(target));
    return {
      gate: {
        ask: (sending) => gate.ask({ ...who, ...sending, differs: differs(sending) }),
        merged: (sending, unchanged) => gate.merged({ ...sending, differs: differs(sending) }, unchanged),
      },
    };
  }
}

function failed(state: OperationState, phase: 'Error' | 'Failed', message: string): StepState {
  return { ...state, phase, message };
}

/** The first step notes from which sources and revisions this operation syncs. */
function withResult(app: Application, state: OperationState, sync: SyncOperation): OperationState {
  if (state.syncResult !== undefined) return state;
  const named = sync.source !== undefined || (sync.sources?.length ?? 0) > 0;
  const sources = named ? (sync.sources ?? []) : hasMultipleSources(app.spec) ? (app.spec.sources ?? []) : [];
  const source = named ? sync.source : hasMultipleSources(app.spec) ? undefined : sourceOf(app.spec);
  return {
    ...state,
    syncResult: {
      revision: sync.revision ?? '',
      source: source ?? { repoURL: '' },
      ...(sources.length > 0 ? { sources, revisions: sync.revisions ?? [] } : {}),
    },
  };
}

function requestedRevisions(result: SyncOperationResult | undefined, multiple: boolean): readonly string[] {
  if (!multiple) return [nonEmpty(result?.revision) ?? result?.source.targetRevision ?? ''];
  const revisions = result?.revisions ?? [];
  return (result?.sources ?? []).map((source, i) => nonEmpty(revisions[i]) ?? source.targetRevision ?? '');
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/** From here on the operation stays at the commits that were resolved, also in later passes and on other replicas. */
function pin(state: OperationState, { revisions }: Compared): OperationState {
  const result = state.syncResult;
  if (result === undefined || revisions.length === 0) return state;
  const pinned = (result.sources?.length ?? 0) > 0 ? { revisions } : { revision: revisions[0] ?? '' };
  return { ...state, syncResult: { ...result, ...pinned } };
}

function refusalOf(
  app: Application,
  sync: SyncOperation,
  comparison: Comparison,
): { readonly phase: 'Error' | 'Failed'; readonly message: string } | undefined {
  const shared = comparison.conditions.find((condition) => condition.type === 'SharedResourceWarning');
  if (shared !== undefined && hasSyncOption(sync.syncOptions, 'FailOnSharedResource=true'))
    return { phase: 'Failed', message: `Shared resource found: ${shared.message}` };
  const invalid = (app.status?.conditions ?? []).filter((condition) => condition.type === 'InvalidSpecError');
  const fresh = comparison.conditions.filter(({ type }) => type === 'ComparisonError' || type === 'InvalidSpecError');
  const untouched = untouchedConditions(sync, comparison);
  const errors = [
    ...fresh.filter(({ message }) => !untouched.has(message)),
    ...invalid.filter((old) => !fresh.some((condition) => condition.message === old.message)),
  ];
  return errors.length === 0 ? undefined : { phase: 'Error', message: formatConditions(errors) };
}

/**
 * What is said of objects that could not be read and that this operation does not name: it goes on without them. One that would touch any of
 * them is refused as a whole, as in Argo CD: its waves and its order would not hold.
 */
function untouchedConditions(sync: SyncOperation, comparison: Comparison): ReadonlySet<string> {
  if (comparison.unread.some((ref) => isNamed(sync, ref))) return new Set();
  return new Set(unreadConditions(comparison.unread).map(({ message }) => message));
}

/** A person has confirmed prunes of this operation: the annotation's time is not older than its start. */
function isApproved(app: Application, startedAt: number): boolean {
  const approved = parseTime(annotationOf(asObject(app), annotations.deletionApproved));
  return approved !== undefined && approved >= startedAt;
}

function differing({ pairs }: Comparison): ReadonlySet<ResourceKey> {
  return new Set(pairs.filter(({ diff }) => diff.modified).map(({ key }) => key));
}

/** Which objects this operation touches: those it names, and never a copy that carries another object's tracking, nor what could not be read. */
function selector(sync: SyncOperation, comparison: Comparison): (object: KubeObject) => boolean {
  const foreign = new Set(comparison.pairs.filter((pair) => !pair.own).map((pair) => pair.key));
  const unread = new Set(comparison.unread.map(({ key }) => key));
  return (object) => {
    const key = keyOf(object);
    return !foreign.has(key) && !unread.has(key) && isNamed(sync, refOf(object));
  };
}

/** All are when it names none. */
function isNamed(sync: SyncOperation, { group, kind, namespace, name }: ResourceRef): boolean {
  const named = sync.resources ?? [];
  return (
    named.length === 0 ||
    named.some(
      (r) =>
        r.kind === kind &&
        r.name === name &&
        (r.group ?? '') === group &&
        ((r.namespace ?? '') === '' || r.namespace === namespace),
    )
  );
}

function afterStep(app: Application, state: OperationState, outcome: SyncOutcome, cluster: LiveCluster): StepState {
  const result = state.syncResult ?? { revision: '', source: { repoURL: '' } };
  const metadata = app.spec.syncPolicy?.managedNamespaceMetadata;
  return {
    ...state,
    phase: outcome.phase,
    message: outcome.message,
    syncResult: {
      ...result,
      resources: outcome.results.map((item) => ({ ...item, ...explained(item, cluster) })),
      ...(metadata === undefined ? {} : { managedNamespaceMetadata: metadata }),
    },
  };
}

/** Argo CD's advice instead of, or behind, two texts of API servers that help nobody. */
function explained(item: ResourceResult, cluster: LiveCluster): { readonly message?: string } {
  const message = item.message ?? '';
  const { group, kind, version, namespace, name } = item;
  if (message.includes('the server could not find the requested resource')) {
    const served = findResource(cluster.discovery(), { group, kind });
    const which = `${group}/${kind}`;
    if (served === undefined)
      return {
        message: `The Kubernetes API could not find ${which} for requested resource ${namespace}/${name}. Make sure the "${kind}" CRD is installed on the destination cluster.`,
      };
    return {
      message: `The Kubernetes API could not find version "${version}" of ${which} for requested resource ${namespace}/${name}. Version "${served.version}" of ${served.group}/${served.kind} is installed on the destination cluster.`,
    };
  }
  if (message.includes('metadata.annotations: Too long: must have at most 262144 bytes') && !message.includes(infoMark))
    return {
      message: `${message}${infoMark}use the sync option ServerSideApply=true or Replace=true for this resource, so that it needs no last-applied annotation`,
    };
  return {};
}

const infoMark = ' \n -Additional Info: ';
