import { defined } from '#base';
import type { Clock, RandomSource } from '#base';
import { treeRoots } from '#compare';
import type { Comparison, TreeRoot, TreeRows } from '#compare';
import type { LiveCluster } from '#live';
import { appKeyOfInstance, isErrorCondition } from '#model';
import type { AppKey, Application, ResourceKey } from '#model';
import type { BoundApplication, SpecVerdict } from '../admission/bound.ts';
import { pruneCandidates } from '../admission/claims.ts';
import type { ManifestClaims } from '../admission/claims.ts';
import type { PolicyFacts } from '../admission/policy-facts.ts';
import { compareLevel } from '../application/freshness.ts';
import type { ComparisonBasis } from '../comparison/basis.ts';
import type { ComparedApplication, Comparer } from '../comparison/comparer.ts';
import type { TreeStore } from '../comparison/tree-store.ts';
import { specConditions } from '../decide/decide-refresh.ts';
import { revisionsToCompare } from '../decide/next-status.ts';
import type { DecisionConfig, ReadFacts, RefreshFacts } from '../decide/refresh-facts.ts';
import type { WorkMetrics } from '../write/apply-metrics.ts';
import { cachePolicyOf } from './pass.ts';
import type { RefreshPass } from './pass.ts';
import { resourcesToCompare, untilFullComparisonMs } from './resync.ts';
import type { SourceOutages } from './source-outage.ts';

export interface PassReaderDeps {
  readonly validate: (app: Application) => SpecVerdict;
  /** Inputs of `validate`. */
  readonly policyFacts: (app: Application) => PolicyFacts;
  readonly comparer: Pick<Comparer, 'compareUnless'>;
  readonly trees: Pick<TreeStore, 'read'>;
  readonly claims: Pick<ManifestClaims, 'claimants'>;
  readonly peek: (server: string) => LiveCluster | undefined;
  /** The cached Application. */
  readonly lookup: (key: AppKey) => Application | undefined;
  readonly outage: SourceOutages;
  readonly work: Pick<WorkMetrics, 'stage'>;
  readonly clock: Clock;
  readonly random: RandomSource;
}

/** The tree of an Application as it was read. */
interface TreeQuery {
  readonly bound: BoundApplication;
  readonly cluster: LiveCluster;
  readonly roots: readonly TreeRoot[];
}

/**
 * Reads all that a refresh is decided from: the verdict on the spec, both sides of the comparison,
 * the tree, and the claims of other Applications. Decides nothing about them. Throws what prevents
 * a comparison, see {@link Comparer}.
 */
export class PassReader {
  readonly #deps: PassReaderDeps;
  readonly #config: DecisionConfig;

  constructor(deps: PassReaderDeps, config: DecisionConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  /** Undefined: `basis` still holds. */
  async read(
    pass: RefreshPass,
    basis: ComparisonBasis | undefined,
    signal: AbortSignal,
  ): Promise<RefreshFacts | undefined> {
    const verdict = this.#deps.validate(pass.before);
    pass.capture.policy = this.#deps.policyFacts(pass.before);
    if (pass.refresh.level === compareLevel.nothing && verdict.ok) {
      const tree = await this.#treeOnly(pass, verdict.bound, signal);
      if (tree !== undefined) return this.#facts(pass, verdict, tree);
    }
    const conditions = specConditions(pass.before, verdict, this.#config);
    if (!verdict.ok || conditions.some(isErrorCondition)) return this.#facts(pass, verdict, undefined);
    // The basis does not cover conditions of the spec and sync windows.
    const isPlain = conditions.length === 0 && verdict.bound.windows.automated();
    const read = await this.#compare(pass, verdict.bound, isPlain ? basis : undefined, signal);
    return read === undefined ? undefined : this.#facts(pass, verdict, read);
  }

  #facts(pass: RefreshPass, verdict: SpecVerdict, read: ReadFacts | undefined): RefreshFacts {
    const { key, refresh, before, time, now, startedAt } = pass;
    const { contests, driftSeenAt, lastGood, sourceError, sourceFailedAt, sourceRetryAt } = pass.memory;
    const memory = defined({ contests, driftSeenAt, lastGood, sourceError, sourceFailedAt, sourceRetryAt });
    const isAsked = pass.asked !== undefined;
    return { key, refresh, isAsked, before, memory, time, now, startedAt, config: this.#config, verdict, read };
  }

  /**
   * The tree alone, after a child resource changed. Undefined if no earlier comparison provides its
   * roots.
   */
  async #treeOnly(pass: RefreshPass, bound: BoundApplication, signal: AbortSignal): Promise<ReadFacts | undefined> {
    const cluster = this.#deps.peek(bound.cluster.server);
    const { roots } = pass.memory;
    if (cluster === undefined || roots === undefined) return undefined;
    const rows = await this.#tree(pass, { bound, cluster, roots }, signal);
    return { bound, isWindowOpen: bound.windows.automated(), compared: undefined, roots, rows, claimed: new Set() };
  }

  async #compare(
    pass: RefreshPass,
    bound: BoundApplication,
    basis: ComparisonBasis | undefined,
    signal: AbortSignal,
  ): Promise<ReadFacts | undefined> {
    const { app } = bound;
    const { server = '', namespace = '' } = app.spec.destination;
    pass.logger.info(`Comparing app state (cluster: ${server}, namespace: ${namespace})`);
    const { outage, comparer, random } = this.#deps;
    const away = outage.begin(pass, app);
    const changed = resourcesToCompare(pass);
    const compare = (): Promise<ComparedApplication | undefined> =>
      comparer.compareUnless(
        basis,
        {
          bound,
          lastGood: away.lastGood,
          hurry: away.hurry,
          revisions: away.revisions ?? revisionsToCompare(app, pass.refresh),
          cache: cachePolicyOf(pass),
          readsStale: pass.asked !== undefined,
          localManifests: app.status?.operationState?.operation.sync?.manifests ?? [],
          ...defined({ changed }),
          place: pass.place,
          times: pass.times,
          capture: pass.capture.comparison,
        },
        (error) => outage.tolerates(pass, error),
        signal,
      );
    const found = await pass.times.measure('compare_app_state_ms', compare).finally(away.end);
    if (found === undefined) return undefined;
    const { comparison, cluster } = found;
    const nextFullMs = changed === undefined ? untilFullComparisonMs(random) : undefined;
    const roots = treeRoots(comparison);
    const rows = await this.#tree(pass, { bound, cluster, roots }, signal);
    const claimed = this.#claimed(pass, comparison, bound);
    const compared = { ...found, nextFullMs };
    return { bound, isWindowOpen: bound.windows.automated(), compared, roots, rows, claimed };
  }

  /** Resources that other Applications declare too. Only the few to be pruned are looked up. */
  #claimed(
    { key, capture }: RefreshPass,
    comparison: Comparison,
    { app, cluster }: BoundApplication,
  ): ReadonlySet<ResourceKey> {
    if (app.spec.syncPolicy?.automated?.prune !== true) return new Set();
    const claimants = this.#deps.claims.claimants({ key, server: cluster.server, refs: pruneCandidates(comparison) });
    capture.claims = claimants;
    return new Set(claimants.keys());
  }

  async #tree(pass: RefreshPass, { bound, cluster, roots }: TreeQuery, signal: AbortSignal): Promise<TreeRows> {
    const { app, project, gate } = bound;
    const { clock, lookup, trees, work } = this.#deps;
    const isApplication = (instance: string): boolean =>
      lookup(appKeyOfInstance(instance, this.#config.namespace)) !== undefined;
    const { permitsRef: permitted, version: premise } = gate;
    const query = { app, project, roots, key: pass.key, cluster, permitted, premise, clock, isApplication };
    const rows = await work.stage('tree', () => trees.read(query, signal), pass.stages);
    pass.capture.tree = rows;
    return rows;
  }
}
