import { defined } from '#base';
import type { Clock } from '#base';
import { isUnreadKind, maxJqSteps, managedNamespace, migrationManagerOf } from '#compare';
import type { Comparison } from '#compare';
import { healthOf } from '#health';
import type { ClusterClients } from '#kube';
import { ClusterIgnored } from '#live';
import type { LiveCluster } from '#live';
import { appLogFields, destinationNamespaceOf, hasSyncOption, keyOf, kindFinder, sourceOf, trackedApp } from '#model';
import type { AppKey, Application, OperationState, ResourceKey } from '#model';
import { SlotLoan } from '#queues';
import type { WorkerSlot } from '#queues';
import { readSyncOptions, syncStep, terminateSync } from '#sync';
import type { ClusterWriter, SyncOutcome, SyncRequest } from '#sync';
import type { Logger } from '#telemetry';
import type { GateQuestion } from '../write/apply-gate.ts';
import type { WorkMetrics } from '../write/apply-metrics.ts';
import type { BoundApplication } from '../admission/bound.ts';
import type { ComparedApplication, Comparer } from '../comparison/comparer.ts';
import { pruneCandidates } from '../admission/claims.ts';
import type { ManifestClaims } from '../admission/claims.ts';
import { ClusterNotReady, ClusterStalled } from '../shared/errors.ts';
import { afterWrites, noContests } from '../comparison/contest.ts';
import type { OwnWrite } from '../comparison/contest.ts';
import type { JqRunner } from '../comparison/jq-runner.ts';
import type { AppMemories } from '../comparison/memory.ts';
import { recordingWriter } from './recording.ts';
import { respectingWriter } from './respect.ts';
import { adviceFor } from './result-advice.ts';
import type { FencedSend, OwnershipGuard } from '../admission/ownership-guard.ts';
import { parseTime } from '../shared/kube-time.ts';
import { keepingController } from '../application/kept-objects.ts';
import { attemptOf } from '../application/operation-state.ts';
import { decideStep, differingKeys, isApproved, requestedRevisions, selectedBy } from '../decide/operation-step.ts';
import type { StepTap } from '../recorder/capture.ts';
import type { AppMetrics } from '../report/metrics.ts';
import type { KubectlMetrics } from '../write/kubectl-metrics.ts';
import { observedClient } from '../write/wrapped-clients.ts';
import { WritePace } from '../write/write-pace.ts';
import type { WriteSlots } from '../write/write-slots.ts';
import { GuardedWriter } from '../write/writer.ts';
import type { ApplyIntent, WriterDeps } from '../write/writer.ts';

export interface SyncDeps {
  readonly comparer: Pick<Comparer, 'compare'>;
  readonly clients: ClusterClients;
  /** The cluster currently cached for this URL. */
  readonly peek: (server: string) => LiveCluster | undefined;
  readonly toCluster: OwnershipGuard['toCluster'];
  readonly claims: Pick<ManifestClaims, 'claimants' | 'namespaceSharers'>;
  /** Shared by all writes of syncs and deletions, and by dry runs. */
  readonly slots: WriteSlots;
  readonly jq: Pick<JqRunner, 'answer'>;
  readonly memories: Pick<AppMemories, 'gate' | 'note' | 'of'>;
  readonly work: Pick<WorkMetrics, 'stage'>;
  readonly metrics: Pick<AppMetrics, 'requested'>;
  readonly kubectl: KubectlMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Identity and options of a writer. */
export interface WritingAs {
  /** Impersonated user; undefined: our own identity. */
  readonly user: string | undefined;
  /** Sends every write as a dry run. */
  readonly dryRun?: boolean;
  /** Objects the comparison found different; absent: no comparison, everything is sent. */
  readonly differing?: ReadonlySet<ResourceKey>;
  /** Throws right before each write that must not be sent any more. */
  readonly mayWrite?: (() => void) | undefined;
  /** Lends the worker slot of the pass while the cluster is slow. */
  readonly loan: SlotLoan;
}

/** The signal and worker slot of a step. */
export interface StepWork {
  readonly signal: AbortSignal;
  /** Undefined: the step keeps its slot while it waits. */
  readonly place: WorkerSlot | undefined;
  /** Sees what the step reads, and what it sends to the cluster. */
  readonly tap?: StepTap;
  /** Throws right before each write that must not be sent any more. */
  readonly mayWrite?: () => void;
}

/** Identity, slot and recorded writes of one step. */
interface StepContext {
  readonly user: string | undefined;
  readonly loan: SlotLoan;
  readonly writes: OwnWrite[];
}

/**
 * Runs one step of a sync: pins the revisions, compares at them, checks policy, and lets `sync`
 * apply one wave. Source: Argo CD controller/sync.go SyncAppState. A problem of the application
 * becomes a phase (Error, Failed) with a message.
 *
 * Throws the abort reason, OwnershipLost, and errors that prevent the comparison (the caller shows
 * them as phase Error).
 *
 * Differences: sync windows are checked against the running operation (Argo CD checks the previous
 * one in the first pass), and do not delay termination.
 */
export class Syncer {
  readonly #deps: SyncDeps;
  readonly #waveDelayMs: number;

  constructor(deps: SyncDeps, { waveDelayMs }: { readonly waveDelayMs: number }) {
    this.#deps = deps;
    this.#waveDelayMs = waveDelayMs;
  }

  async step(bound: BoundApplication, state: OperationState, work: StepWork): Promise<OperationState> {
    const first = decideStep(bound, state);
    if (first.do === 'end') return first.state;
    // Termination is not refused: usually no hook runs, and it writes nothing.
    const terminating = state.phase === 'Terminating';
    if (!terminating) this.refuseStalled(bound.cluster.server);
    const compared = await this.#compare(bound, first.state, work);
    const decided = decideStep(bound, first.state, compared);
    if (decided.do !== 'run') return decided.state;
    const { state: pinned, user } = decided;
    const loan = new SlotLoan(work.place, this.#deps.clock);
    const writes: OwnWrite[] = [];
    const request = this.#request(bound, pinned, compared, { user, work, loan, writes });
    try {
      const run = terminating ? terminateSync : syncStep;
      const outcome = await this.#deps.work.stage('sync', () => run(request));
      return afterStep(bound.app, pinned, outcome, compared.cluster);
    } finally {
      this.#remember(bound.key, writes);
    }
  }

  #compare(
    bound: BoundApplication,
    state: OperationState,
    { signal, place, tap }: StepWork,
  ): Promise<ComparedApplication> {
    const result = state.syncResult;
    const multiple = (result?.sources?.length ?? 0) > 0;
    return this.#deps.comparer.compare(
      {
        bound,
        sources: multiple ? (result?.sources ?? []) : [result?.source ?? sourceOf(bound.app.spec)],
        revisions: requestedRevisions(result, multiple),
        cache: { revision: 'current', manifests: 'cached' },
        localManifests: state.operation.sync?.manifests ?? [],
        // Reuse valid rows: a sync of one object in thousands compares that one.
        changed: new Set(),
        mustKnowKinds: true,
        place,
        ...defined({ capture: tap?.comparison }),
      },
      () => false,
      signal,
    );
  }

  #request(
    bound: BoundApplication,
    state: OperationState,
    compared: ComparedApplication,
    context: StepContext & { readonly work: StepWork },
  ): SyncRequest {
    const { comparison } = compared;
    const { app, settings } = bound;
    const sync = state.operation.sync ?? {};
    const startedAt = parseTime(state.startedAt) ?? this.#deps.clock.now();
    const { signal, tap } = context.work;
    const writer = this.#writerOf(bound, state, compared, context);
    return {
      resources: comparison.pairs.map(({ target, live, diff }) => ({ target, live, modified: diff.modified })),
      hooks: comparison.hooks,
      liveHooks: comparison.liveHooks,
      options: readSyncOptions(sync, {
        pruneConfirmed: isApproved(app, startedAt),
        waveDelayMs: this.#waveDelayMs,
        migrationManager: migrationManagerOf(app),
      }),
      destinationNamespace: destinationNamespaceOf(app),
      revision: state.syncResult?.revision ?? '',
      startedAt,
      attempt: attemptOf(state),
      results: state.syncResult?.resources ?? [],
      isSelected: selectedBy(sync, comparison, destinationNamespaceOf(app)),
      health: (object) => healthOf(object, settings),
      canPrune: (ref) =>
        !comparison.failed &&
        !isUnreadKind(comparison.unread, ref) &&
        (kindFinder(comparison.degraded)(ref)?.state ?? 'polled') === 'polled',
      ...defined({ pruneBlocked: comparison.pruneBlocked }),
      otherOwner: this.#claimant(bound, compared, tap),
      namespaceModifier: (live) =>
        managedNamespace(app, live, this.#deps.claims.namespaceSharers(app, compared.cluster.server)),
      writer: tap === undefined ? writer : tap.writer(writer),
      waveAppliedAt: (wave) => this.#waveAppliedAt(bound.key, wave),
      releaseSlotWhile: (work) => context.loan.during(work),
      warn: (message, error) => this.#deps.logger.warn(message, { ...appLogFields(bound.app), error }),
      clock: this.#deps.clock,
      signal,
    };
  }

  #writerOf(
    bound: BoundApplication,
    { operation }: OperationState,
    { comparison, cluster }: ComparedApplication,
    context: StepContext & { readonly work: StepWork },
  ): ClusterWriter {
    const { app, key, settings } = bound;
    const sync = operation.sync ?? {};
    const as = {
      user: context.user,
      dryRun: sync.dryRun === true,
      differing: differingKeys(comparison),
      loan: context.loan,
      mayWrite: context.work.mayWrite,
    };
    return respectingWriter(
      this.#recorded(
        { key, writes: context.writes },
        operation,
        { ...comparison, differing: as.differing },
        this.writer(bound, cluster, as),
      ),
      comparison.pairs,
      hasSyncOption(sync.syncOptions, 'RespectIgnoreDifferences=true')
        ? { settings, ignoreDifferences: app.spec.ignoreDifferences ?? [], work: { left: maxJqSteps } }
        : undefined,
      this.#deps.jq,
    );
  }

  /** Notes the writes of a step, to notice when another writer undoes them. */
  #recorded(
    { key, writes }: Pick<StepContext, 'writes'> & { readonly key: AppKey },
    { sync, initiatedBy }: OperationState['operation'],
    { pairs, differing }: Pick<Comparison, 'pairs'> & { readonly differing: ReadonlySet<ResourceKey> },
    writer: ClusterWriter,
  ): ClusterWriter {
    if (sync?.dryRun === true) return writer;
    const isSelfHeal = initiatedBy?.automated === true && sync?.autoHealAttemptsCount !== undefined;
    const { memories } = this.#deps;
    return recordingWriter(writer, pairs, (write) => {
      const { contests = noContests } = memories.of(key);
      if (!isSelfHeal && !differing.has(write.key) && !contests.has(write.key)) return;
      writes.push({ ...write, isSelfHeal, at: this.#deps.clock.monotonic() });
    });
  }

  /** At once, and not one by one: each change copies the memory. A comparison follows the step. */
  #remember(key: AppKey, writes: readonly OwnWrite[]): void {
    if (writes.length === 0) return;
    const { memories } = this.#deps;
    memories.note(key, { contests: afterWrites(memories.of(key).contests ?? noContests, writes) });
  }

  #waveAppliedAt(key: AppKey, name: string): number {
    const { memories, clock } = this.#deps;
    const { wave } = memories.of(key);
    if (wave?.name === name) return wave.at;
    const at = clock.monotonic();
    memories.note(key, { wave: { name, at } });
    return at;
  }

  /** Looks up the claimants of all prunable objects, on first use. */
  #claimant(
    { key }: BoundApplication,
    { comparison, cluster }: ComparedApplication,
    tap: StepTap | undefined,
  ): SyncRequest['otherOwner'] {
    let known: ReadonlyMap<ResourceKey, AppKey> | undefined;
    return (object) => {
      known ??= this.#deps.claims.claimants({ key, server: cluster.server, refs: pruneCandidates(comparison) });
      tap?.claimed(known);
      const other = known.get(keyOf(object));
      if (other !== undefined) return `application ${other} also manages it`;
      const controller = keepingController(object);
      return controller === undefined ? undefined : `controlled by ${controller}`;
    };
  }

  /**
   * Refuses work that would only queue behind stalled writes.
   * @throws ClusterStalled
   */
  refuseStalled(server: string): void {
    if (this.#deps.slots.isStalled(server)) throw new ClusterStalled(server);
  }

  /**
   * The write choke point for one application on one cluster.
   * @throws ClusterNotReady if the cluster was just removed or another one took its URL: state read
   * from one must not be written to the other.
   */
  writer({ app, key, gate, settings }: BoundApplication, cluster: LiveCluster, as: WritingAs): GuardedWriter {
    const { user, dryRun = false, differing: differs, mayWrite } = as;
    const client = this.#deps.clients.of(cluster.server);
    if (client === undefined || this.#deps.peek(cluster.server) !== cluster)
      throw new ClusterNotReady(cluster.server, new ClusterIgnored(cluster.server));
    const acting = user === undefined ? client : client.impersonate(user);
    return new GuardedWriter({
      cluster,
      client: observedClient(acting, (record) => this.#deps.metrics.requested(app, record)),
      fenced: (signal, send) =>
        this.#deps.toCluster(cluster.server, key, signal, mayWrite === undefined ? send : checked(send, mayWrite)),
      denied: (object, namespaced) => gate.denied(object, namespaced),
      appOf: (object) => trackedApp(object, settings.tracking),
      pace: new WritePace(this.#deps.slots, cluster.server, as.loan),
      clock: this.#deps.clock,
      kubectl: this.#deps.kubectl,
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
    const differs = ({ target }: ApplyIntent): boolean => differing.has(keyOf(target));
    return {
      gate: {
        ask: (sending) => gate.ask({ ...who, ...sending, differs: differs(sending) }),
        merged: (sending, unchanged) => gate.merged({ ...sending, differs: differs(sending) }, unchanged),
      },
    };
  }
}

function checked<T>(send: FencedSend<T>, mayWrite: () => void): FencedSend<T> {
  return ({ signal, beforeSend }) =>
    send({
      signal,
      beforeSend: () => {
        mayWrite();
        beforeSend();
      },
    });
}

function afterStep(
  app: Application,
  state: OperationState,
  outcome: SyncOutcome,
  cluster: LiveCluster,
): OperationState {
  const discovery = cluster.discovery();
  const result = state.syncResult ?? { revision: '', source: { repoURL: '' } };
  return {
    ...state,
    phase: outcome.phase,
    message: outcome.message,
    syncResult: {
      ...result,
      resources: outcome.results.map((item) => ({ ...item, ...adviceFor(item, discovery) })),
      ...defined({ managedNamespaceMetadata: app.spec.syncPolicy?.managedNamespaceMetadata }),
    },
  };
}
