import { systemClock } from '#base';
import type { Clock } from '#base';
import { compareState, normalizeTargets, toDryRun } from '#compare';
import type { CompareFacts, Comparison } from '#compare';
import type { ApiDiscovery, KubeClient } from '#kube';
import type { LiveCluster, LiveSchemas } from '#live';
import { asApplication, defaultSettings, keyOf } from '#model';
import type { AppKey, Application, ApplicationCondition, KubeObject } from '#model';
import { SlotLoan } from '#queues';
import { afterComparison, afterWrites, contestConditions, noContests } from '../comparison/contest.ts';
import { DryRuns } from '../comparison/server-side-diff.ts';
import { GuardedWriter } from '../write/writer.ts';
import { WriteSlots } from '../write/write-slots.ts';
import { uncheckedCall, unpaced } from './pace.ts';

/** How an Application sends its objects. */
export type SyncMethod = 'client' | 'server' | 'replace' | 'force' | 'force replace';

/** How an Application compares its objects. */
export type ComparisonKind = 'local' | 'server';

export interface ObjectSyncDeps {
  readonly client: KubeClient;
  readonly discovery: ApiDiscovery;
  readonly schemas: LiveSchemas | undefined;
  readonly signal: AbortSignal;
}

/** A busy machine may pause this process: that is no stalled cluster. */
const timeless = Object.assign(Object.create(systemClock) as Clock, { monotonic: () => 0 });

const appKey = 'argocd/matrix' as AppKey;
const server = 'https://matrix';
const syncOptions: Readonly<Record<SyncMethod, readonly string[]>> = {
  client: [],
  force: [],
  server: ['ServerSideApply=true'],
  replace: ['Replace=true'],
  'force replace': ['Replace=true'],
};

/**
 * Compares and syncs single objects as the controller does, with its own comparison, dry runs and
 * writer, against any API server and without an Application in a hub.
 */
export class ObjectSync {
  readonly #deps: ObjectSyncDeps;
  readonly #writer: GuardedWriter;
  readonly #dryRuns: DryRuns;
  readonly #cluster: LiveCluster;

  constructor(deps: ObjectSyncDeps) {
    this.#deps = deps;
    const { client, discovery } = deps;
    const cluster = { server, discovery: () => discovery, observe: () => undefined };
    this.#cluster = cluster as unknown as LiveCluster;
    this.#writer = new GuardedWriter({
      cluster,
      client,
      fenced: (signal, send) => send(uncheckedCall(signal)),
      denied: () => undefined,
      appOf: () => undefined,
      pace: unpaced,
      clock: systemClock,
    });
    const slots = new WriteSlots(timeless, 0);
    this.#dryRuns = new DryRuns({ clients: { of: () => client }, known: new Map(), slots });
  }

  /** The manifest as an Application deploys it. */
  target(manifest: KubeObject): KubeObject {
    return normalized(manifest).targets[0] ?? manifest;
  }

  /** Warnings of a comparison about the manifest itself. */
  warnings(manifest: KubeObject): readonly ApplicationCondition[] {
    return normalized(manifest).conditions;
  }

  async compare(
    target: KubeObject,
    live: KubeObject,
    how: { readonly method: SyncMethod; readonly kind: ComparisonKind },
  ): Promise<Comparison> {
    const facts = this.#facts(applicationOf(how.method), target, live);
    if (how.kind === 'local') return compareState(facts);
    const { signal, schemas } = this.#deps;
    const request = { key: appKey, cluster: this.#cluster, user: '', useKnown: false, schemas };
    const loan = new SlotLoan(undefined, systemClock);
    const outcomes = await this.#dryRuns.outcomes({ ...request, loan }, toDryRun(facts), signal);
    return compareState({ ...facts, serverSideDiff: { mutations: 'excluded', user: '', outcomes } });
  }

  /** @throws the refusal of the API server. */
  async sync(target: KubeObject, live: KubeObject | null, method: SyncMethod): Promise<KubeObject> {
    const how = {
      serverSide: method === 'server',
      replace: method === 'replace' || method === 'force replace',
      force: method === 'force' || method === 'force replace',
      validate: true,
      adoptFrom: 'kubectl-client-side-apply',
    };
    return (await this.#writer.apply(target, live, how, this.#deps.signal)).object;
  }

  /** The conditions of a comparison right after a sync that stored the object. */
  conditionsAfter({ pairs }: Comparison, stored: KubeObject): readonly ApplicationCondition[] {
    const { tracking } = defaultSettings;
    const own = { uid: stored.metadata.uid ?? '', stored, isSelfHeal: false, at: 0 };
    const written = afterWrites(
      noContests,
      pairs.map(({ key, target }) => ({ ...own, key, target })),
    );
    const facts = { pairs, at: 1, instance: 'matrix', tracking, heals: false, conditions: [] };
    return contestConditions(afterComparison(written, facts));
  }

  #facts(app: Application, target: KubeObject, live: KubeObject): CompareFacts {
    const { schemas } = this.#deps;
    return {
      app,
      key: appKey,
      instance: 'matrix',
      settings: defaultSettings,
      rendered: {
        targets: [target],
        revisions: [],
        sourceTypes: [],
        conditions: [],
        failed: false,
        mayHaveChanges: true,
      },
      live: { objects: new Map([[keyOf(live), live]]), degraded: [], conditions: [], failed: false },
      requested: [],
      isNamespaced: () => undefined,
      permitted: () => true,
      permittedKind: () => true,
      persistResourceHealth: false,
      ...(schemas === undefined ? {} : { schemas }),
    };
  }
}

function normalized(manifest: KubeObject): ReturnType<typeof normalizeTargets> {
  return normalizeTargets([manifest], {
    instance: 'matrix',
    destinationNamespace: '',
    tracking: defaultSettings.tracking,
    isNamespaced: () => undefined,
    isExcluded: () => false,
  });
}

function applicationOf(method: SyncMethod): Application {
  return asApplication({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'matrix', namespace: 'argocd' },
    spec: {
      project: 'default',
      source: { repoURL: '' },
      destination: { server },
      syncPolicy: { syncOptions: [...syncOptions[method]] },
    },
  });
}
