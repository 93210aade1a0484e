import { DriftlessError, defined, isObject, sleepOn } from '#base';
import type { Clock, Json, JsonObject } from '#base';
import { compareState, normalizeTargets } from '#compare';
import type { CompareFacts, Comparison, LiveState, NamespaceSharer, TreeRows } from '#compare';
import { JqAnswers } from '#diff';
import { findResource } from '#kube';
import type { ApiDiscovery } from '#kube';
import { isExcluded } from '#live';
import type { LiveCluster, LiveRow } from '#live';
import {
  appKeyOf,
  asProject,
  bareRepository,
  defaultSettings,
  destinationNamespaceOf,
  groupKindName,
  instanceName,
} from '#model';
import type { AppKey, Cluster, HealthScripts, KubeObject, ResourceKey, Settings } from '#model';
import { ProjectPolicies } from '../admission/projects.ts';
import type { ProjectsDeps } from '../admission/projects.ts';
import type { ComparedApplication, CompareRequest } from '../comparison/comparer.ts';
import type { JqRunner } from '../comparison/jq-runner.ts';
import { withIncompleteApis } from '../discovery/capabilities.ts';
import type { IncompleteApis } from '../discovery/capabilities.ts';
import type { CapturedClaims } from '../recorder/capture.ts';
import { SourceUnavailable } from '../shared/errors.ts';
import { entriesOf, listOf, numberOf, objectOf, RecordingError, textOf } from './read-recording.ts';
import type { ReadPass } from './read-recording.ts';

/** The programs that tenants and administrators write run as in the controller, in their limits. */
export interface ReplayTools {
  readonly healthScripts: (overrides: Settings['overrides']) => HealthScripts;
  readonly jq: Pick<JqRunner, 'answer'>;
}

const maxJqRounds = 50;

/** Time stands still, except while a step sleeps. */
export class ReplayClock implements Clock {
  #now: number;
  #monotonic: number;

  constructor(now: number, monotonic: number) {
    this.#now = now;
    this.#monotonic = monotonic;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  timer(delayMs: number, fire: () => void): { cancel(): void } {
    let isCancelled = false;
    queueMicrotask(() => {
      if (isCancelled) return;
      this.#now += delayMs;
      this.#monotonic += delayMs;
      fire();
    });
    return { cancel: () => void (isCancelled = true) };
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }
}

/** The edges of a pass, answered from a recording. */
export class RecordedWorld {
  readonly clock: ReplayClock;
  readonly #pass: ReadPass;
  readonly #tools: ReplayTools;
  readonly #settings: Settings;
  #cluster: LiveCluster | undefined;

  constructor(pass: ReadPass, tools: ReplayTools) {
    this.#pass = pass;
    this.#tools = tools;
    this.clock = new ReplayClock(pass.now, pass.startedAt);
    this.#settings = this.#readSettings();
  }

  get key(): AppKey {
    const { inputs, values, type } = this.#pass;
    return appKeyOf(values.application(inputs[type === 'refresh' ? 'before' : 'app']));
  }

  /** The project rules of the pass: the real ones, over recorded objects. */
  policies(): ProjectPolicies {
    const { inputs, values, header } = this.#pass;
    const policy = isObject(inputs['policy']) ? inputs['policy'] : {};
    const projects = listOf(policy, 'projects').map((id) => asProject(values.object(id)));
    const byKey = new Map(
      projects.map((project) => [`${header.config.namespace}/${project.metadata.name ?? ''}`, project]),
    );
    const repositories = new Map(
      listOf(policy, 'repositories')
        .filter(isObject)
        .map((one) => [textOf(one, 'url'), one['project']]),
    );
    const resolved = isObject(policy['cluster']) ? policy['cluster'] : { error: 'the recording has no cluster' };
    const cluster = 'error' in resolved ? resolved : clusterFrom(resolved);
    const deps: unknown = {
      informer: { get: (key: string) => byKey.get(key) },
      settings: {
        settings: () => this.#settings,
        clusters: () => listOf(policy, 'scoped').filter(isObject).map(clusterFrom),
        repository: (url: string) => ({ ...bareRepository(url), ...defined({ project: repositories.get(url) }) }),
      },
      guard: { resolve: () => cluster, clusterOf: () => ('error' in cluster ? undefined : cluster) },
      clock: this.clock,
    };
    return new ProjectPolicies(deps as ProjectsDeps, { namespace: header.config.namespace });
  }

  /** The cluster of the pass: only what discovery said. */
  cluster(): LiveCluster {
    const { inputs, values } = this.#pass;
    const resolved = isObject(inputs['policy']) ? inputs['policy']['cluster'] : undefined;
    const server = isObject(resolved) && typeof resolved['server'] === 'string' ? resolved['server'] : '';
    const discovery = inputs['discovery'] === undefined ? undefined : discoveryFrom(values.get(inputs['discovery']));
    const known: unknown = {
      server,
      discovery: () => {
        if (discovery === undefined) throw new RecordingError('the recording has no discovery');
        return discovery;
      },
      isNamespaced: (gk: { readonly group: string; readonly kind: string }) =>
        discovery === undefined ? undefined : findResource(discovery, gk)?.namespaced,
    };
    this.#cluster ??= known as LiveCluster;
    return this.#cluster;
  }

  claims(): { readonly claimants: () => CapturedClaims; readonly namespaceSharers: () => readonly NamespaceSharer[] } {
    const claims = new Map(entriesOf(this.#pass.inputs, 'claims')) as unknown as CapturedClaims;
    return { claimants: () => claims, namespaceSharers: () => this.#sharers() };
  }

  #sharers(): readonly NamespaceSharer[] {
    const recorded = objectOf(this.#pass.inputs, 'comparison')['namespaceSharers'];
    return Array.isArray(recorded) ? (recorded as readonly NamespaceSharer[]) : [];
  }

  tree(): TreeRows | undefined {
    const { inputs, values } = this.#pass;
    const { tree } = inputs;
    if (!isObject(tree)) return undefined;
    const rows = (name: string): readonly LiveRow[] =>
      listOf(tree, name).map((id) => values.get(id) as unknown as LiveRow);
    return { managed: rows('managed'), orphaned: rows('orphaned'), machines: [] };
  }

  /** Compares as `Comparer` does, from what it read. */
  async compare(
    request: CompareRequest,
    tolerate: (error: unknown) => boolean,
    signal: AbortSignal,
  ): Promise<ComparedApplication> {
    const recorded = objectOf(this.#pass.inputs, 'comparison');
    const failed = isObject(recorded['sourceError']) ? recorded['sourceError'] : undefined;
    const failure = failed === undefined ? undefined : textOf(failed, 'message');
    const isTolerated = failure !== undefined && tolerate(new Error(failure));
    const served = failed?.['outage'];
    const outage = typeof served === 'string' ? { message: served, isTolerated } : undefined;
    if (isTolerated && outage === undefined) {
      const said = this.#pass.decisions['error'];
      const message = isObject(said) ? textOf(said, 'message') : `Failed to load target state: ${failure}`;
      throw new SourceUnavailable(undefined, message);
    }
    if (recorded['rendered'] === undefined) throw this.#recordedError(failure);
    const facts = this.#facts(recorded, request);
    const compared = await this.#compareState(facts, signal);
    const apis = recorded['apis'] as unknown as IncompleteApis | undefined;
    const comparison = withIncompleteApis(compared, apis);
    return {
      comparison,
      cluster: this.cluster(),
      revisions: facts.rendered.revisions,
      outage,
      basis: undefined,
      sight: undefined,
    };
  }

  compareUnless(
    _basis: undefined,
    ...compare: Parameters<RecordedWorld['compare']>
  ): Promise<ComparedApplication | undefined> {
    return this.compare(...compare);
  }

  async #compareState(facts: CompareFacts, signal: AbortSignal): Promise<Comparison> {
    const jq = new JqAnswers();
    let comparison = compareState({ ...facts, jq });
    for (let round = 0; jq.openQuestions().length > 0 && round < maxJqRounds; round += 1) {
      await this.#tools.jq.answer(jq, signal);
      comparison = compareState({ ...facts, jq });
    }
    return comparison;
  }

  /** The error that ended the recorded pass before a comparison. */
  #recordedError(failure: string | undefined): Error {
    const said = this.#pass.decisions['error'];
    if (isObject(said)) return new DriftlessError(textOf(said, 'code'), textOf(said, 'message'));
    return new RecordingError(failure ?? 'the pass has neither a comparison nor an error');
  }

  #facts(recorded: JsonObject, { bound, revisions }: CompareRequest): CompareFacts {
    const { header, values } = this.#pass;
    const { app, key, gate, settings, cluster } = bound;
    const rendered = objectOf(recorded, 'rendered');
    const live = objectOf(recorded, 'live');
    const scopes = objectOf(recorded, 'namespaced');
    const isNamespaced: CompareFacts['isNamespaced'] = (gk) => {
      const name = groupKindName(gk);
      const scope = Object.hasOwn(scopes, name) ? scopes[name] : undefined;
      return typeof scope === 'boolean' ? scope : undefined;
    };
    const instance = instanceName(key, header.config.namespace);
    const objects = listOf(rendered, 'objects').map((id) => values.object(id));
    const normal = normalizeTargets(objects, {
      instance,
      destinationNamespace: destinationNamespaceOf(app),
      tracking: settings.tracking,
      isNamespaced,
      isExcluded: (gk) => isExcluded(settings, gk, cluster.server),
    });
    const state: unknown = {
      objects: new Map(entriesOf(live, 'objects').map(([name, id]): [string, KubeObject] => [name, values.object(id)])),
      unread: listOf(live, 'unread'),
      degraded: listOf(live, 'degraded'),
      conditions: listOf(live, 'conditions'),
      failed: live['failed'] === true,
    };
    const conditions = listOf(rendered, 'conditions') as unknown as CompareFacts['rendered']['conditions'];
    return {
      app,
      key,
      instance,
      settings,
      rendered: {
        targets: normal.targets,
        revisions: listOf(rendered, 'revisions').map(String),
        sourceTypes: listOf(rendered, 'sourceTypes').map(String),
        conditions: [...conditions, ...normal.conditions],
        failed: rendered['failed'] === true,
        mayHaveChanges: rendered['mayHaveChanges'] === true,
      },
      live: state as LiveState,
      requested: revisions,
      isNamespaced,
      permitted: (object) => gate.permits(object),
      permittedKind: (object, namespaced) => gate.permitsKind(object, namespaced),
      persistResourceHealth: recorded['persistResourceHealth'] === true,
      namespaceSharers: this.#sharers(),
      ...(isObject(recorded['serverSideDiff']) ? { serverSideDiff: this.#dryRuns(recorded['serverSideDiff']) } : {}),
    };
  }

  #dryRuns(recorded: JsonObject): NonNullable<CompareFacts['serverSideDiff']> {
    const outcomes = entriesOf(recorded, 'outcomes').map(([key, outcome]) => {
      const answer = isObject(outcome) ? outcome : {};
      const predicted = answer['predicted'];
      return [
        key as ResourceKey,
        predicted === undefined
          ? { refused: textOf(answer, 'refused') }
          : { predicted: this.#pass.values.object(predicted) },
      ] as const;
    });
    const mutations = recorded['mutations'] === 'included' ? 'included' : 'excluded';
    return { mutations, user: textOf(recorded, 'user'), outcomes: new Map(outcomes) };
  }

  #readSettings(): Settings {
    const { inputs, values } = this.#pass;
    const policy = inputs['policy'];
    if (!isObject(policy)) return defaultSettings;
    const recorded = values.get(policy['settings']);
    const merged: unknown = { ...defaultSettings, ...recorded };
    const settings = merged as Settings;
    return { ...settings, healthScripts: this.#tools.healthScripts(settings.overrides) };
  }
}

function clusterFrom(recorded: JsonObject): Cluster {
  const known: unknown = {
    id: textOf(recorded, 'id'),
    server: textOf(recorded, 'server'),
    name: textOf(recorded, 'name'),
    namespaces: listOf(recorded, 'namespaces').map(String),
    clusterResources: recorded['clusterResources'] === true,
    ...defined({ project: recorded['project'], conflict: recorded['conflict'], aliases: recorded['aliases'] }),
    labels: {},
    annotations: {},
    connection: { server: textOf(recorded, 'server'), insecure: false, credentials: {} },
  };
  return known as Cluster;
}

function discoveryFrom(recorded: JsonObject): ApiDiscovery & { readonly version: number } {
  const known: unknown = {
    version: 0,
    preferred: listOf(recorded, 'preferred'),
    served: listOf(recorded, 'served'),
    apiVersions: [],
    failedGroups: new Map(entriesOf(recorded, 'failedGroups')),
  };
  return known as ApiDiscovery & { readonly version: number };
}

/** The wave that a step remembers; undefined: none. */
export function waveFrom(inputs: JsonObject): { readonly name: string; readonly at: number } | undefined {
  const wave: Json | undefined = inputs['wave'];
  return isObject(wave) ? { name: textOf(wave, 'name'), at: numberOf(wave, 'at') } : undefined;
}
