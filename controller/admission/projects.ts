import { defined, DriftlessError, hashText, isObject } from '#base';
import type { Clock } from '#base';
import type { Informer } from '#kube';
import { appKeyOf, destinationNamespaceOf, isCompleted, projectOf, refOf, repositoryUrlsOf } from '#model';
import type { Application, AppProject, Cluster, ConditionType, KubeObject, OperationState, ResourceRef } from '#model';
import {
  appNamespaceDenied,
  canSync,
  windowHold,
  destinationDenied,
  impersonationTarget,
  isAppNamespacePermitted,
  isDestinationPermitted,
  isGroupKindPermitted,
  validateSpec,
} from '#policy';
import type { SyncTrigger, WindowFacts, WindowHold } from '#policy';
import type { SettingsStore, UnresolvedDestination } from '#settings';
import { EffectiveProjects } from './effective-projects.ts';
import type { PolicyFacts } from './policy-facts.ts';
import type { BoundApplication, ImpersonationUsers, ResourceGate, SpecVerdict, WindowGate } from './bound.ts';
import { conflictConditions, settingsHold } from '../shared/conditions.ts';
import { ClusterNotReady, ProjectUnusable, SettingsUnreadable } from '../shared/errors.ts';
import type { OwnershipGuard } from './ownership-guard.ts';
import { parseTime } from '../shared/kube-time.ts';

export interface ProjectsDeps {
  /** AppProjects in the controller's namespace. */
  readonly informer: Pick<Informer, 'get'>;
  readonly settings: Pick<SettingsStore, 'settings' | 'repository' | 'clusters'>;
  readonly guard: Pick<OwnershipGuard, 'resolve' | 'clusterOf'>;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Evaluates AppProjects: which sources, destinations, resources and sync times an Application may
 * use. Source: Argo CD util/argo/argo.go and appcontroller.go (refreshAppConditions). Results
 * are kept for the same objects only, so a changed project takes effect at once.
 */
export class ProjectPolicies {
  readonly #deps: ProjectsDeps;
  readonly #namespace: string;
  readonly #effective = new EffectiveProjects();
  readonly #labelKeys = new Map<string, number>();
  #scopedClusters: ScopedClusters = { all: [], byProject: new Map() };

  constructor(deps: ProjectsDeps, config: { readonly namespace: string }) {
    this.#deps = deps;
    this.#namespace = config.namespace;
  }

  /**
   * The effective project of an Application.
   * @throws ProjectUnusable when it does not exist or does not permit the Application's namespace;
   * SettingsUnreadable when it is unknown what the settings forbid.
   */
  of(app: Application): AppProject {
    const held = settingsHold(this.#deps.settings.settings());
    if (held !== undefined) throw new SettingsUnreadable(held);
    const name = projectOf(app);
    const stored = this.#lookup(name);
    if (stored === undefined)
      throw new ProjectUnusable(`Application referencing project ${name} which does not exist`, true);
    const { name: appName = '', namespace = '' } = app.metadata;
    if (!isAppNamespacePermitted(namespace, stored, this.#namespace))
      throw new ProjectUnusable(appNamespaceDenied(appName, namespace, stored), false);
    const { settings } = this.#deps;
    return this.#effective.of(stored, {
      globalProjects: settings.settings().globalProjects,
      lookup: (other) => this.#lookup(other),
      // Only the repositories that this Application names are relevant to it.
      repositories: repositoryUrlsOf(app).map((url) => settings.repository(url, name)),
      clusters: settings.clusters(),
    });
  }

  /** Everything that decides what an Application may do, by reference. */
  facts(app: Application): PolicyFacts {
    const { settings: store, guard } = this.#deps;
    const settings = store.settings();
    const project = projectOf(app);
    const names = new Set([project, ...settings.globalProjects.map(({ projectName }) => projectName)]);
    return {
      settings,
      projects: [...names].flatMap((name) => this.#lookup(name) ?? []),
      repositories: repositoryUrlsOf(app).map((url) => store.repository(url, project)),
      cluster: guard.resolve(app),
      scoped: this.#scoped(app),
    };
  }

  /** The labels of the effective project; undefined if the Application may not use it. */
  labelsOf(app: Application): Readonly<Record<string, string>> | undefined {
    try {
      return this.of(app).metadata.labels;
    } catch (error) {
      if (error instanceof ProjectUnusable) return undefined;
      throw error;
    }
  }

  /** Whether the project exists and permits the Application's namespace. */
  permitsNamespaceOf(app: Application): boolean {
    const stored = this.#lookup(projectOf(app));
    return stored !== undefined && isAppNamespacePermitted(app.metadata.namespace ?? '', stored, this.#namespace);
  }

  /** Validates project, cluster and spec; returns the bound Application or conditions. */
  validate(app: Application): SpecVerdict {
    const cluster = this.#deps.guard.resolve(app);
    try {
      const project = this.of(app);
      const conditions = validateSpec(app, project, cluster, this.#scoped(app));
      if ('error' in cluster) return { ok: false, conditions };
      if (conditions.length > 0) return { ok: false, conditions: [...conditions, ...conflictConditions(cluster)] };
      return { ok: true, bound: this.#bind(app, project, cluster) };
    } catch (error) {
      if (!(error instanceof ProjectUnusable)) throw error;
      const type = conditionOf(error);
      return { ok: false, conditions: [{ type, message: error.message }] };
    }
  }

  /**
   * Binds an Application for an operation.
   * @throws with the message that the operation shows; ClusterNotReady while a setting is unknown.
   */
  ofOperation(app: Application): BoundApplication {
    const cluster = this.#deps.guard.resolve(app);
    let project: AppProject;
    try {
      project = this.of(app);
    } catch (error) {
      if (error instanceof SettingsUnreadable)
        throw new ClusterNotReady('', error, { cause: 'settings', what: error.message, afterMs: heldRecheckMs });
      throw new DriftlessError('PROJECT', `Failed to load application project: ${(error as Error).message}`, {
        cause: error,
      });
    }
    if ('error' in cluster)
      throw new DriftlessError('DESTINATION', `Failed to get destination cluster: ${cluster.error}`);
    return this.#bind(app, project, cluster);
  }

  /**
   * Binds an Application for deletion, or returns why its destination cannot be resolved.
   * @throws ProjectUnusable: deletion waits for the project, also while it may not use the cluster.
   */
  ofDeletion(app: Application): BoundApplication | UnresolvedDestination {
    const project = this.of(app);
    const cluster = this.#deps.guard.resolve(app);
    if (!('error' in cluster)) return this.#bind(app, project, cluster);
    if (cluster.refused === true) throw new ProjectUnusable(cluster.error, false);
    return cluster;
  }

  /** Label keys that have tracked objects since this process started; until when (wall time). */
  labelKeys(): ReadonlyMap<string, number> {
    return this.#labelKeys;
  }

  /**
   * Whether an Application may have an object on its cluster.
   * @throws ProjectUnusable.
   */
  permits(app: Application, ref: ResourceRef): boolean {
    const cluster = this.#deps.guard.clusterOf(app);
    return cluster !== undefined && this.#gate(app, this.of(app), cluster).permitsRef(ref);
  }

  /**
   * The sync windows that hold the running operation, or automated syncs if none runs, for display;
   * undefined: no window does.
   */
  syncHold(app: Application): SyncHold | undefined {
    const state = app.status?.operationState;
    const trigger = state === undefined || isCompleted(state.phase) ? { manual: false } : triggerOf(state);
    try {
      const project = this.of(app);
      const hold = (as: SyncTrigger): WindowHold | undefined =>
        windowHold(project.spec.syncWindows, windowFacts(app), as, this.#deps.clock.now());
      const found = hold(trigger);
      if (found === undefined) return undefined;
      return { ...found, project: projectOf(app), permitsManual: hold({ ...trigger, manual: true }) === undefined };
    } catch (error) {
      if (!(error instanceof DriftlessError)) throw error;
      return undefined;
    }
  }

  watchesOrphans(app: Application): boolean {
    return isObject(this.#lookup(projectOf(app))?.spec.orphanedResources);
  }

  #bind(app: Application, project: AppProject, cluster: Cluster): BoundApplication {
    const settings = this.#deps.settings.settings();
    if (settings.tracking.method !== 'annotation')
      this.#labelKeys.set(settings.tracking.labelKey, this.#deps.clock.now());
    return {
      app,
      key: appKeyOf(app),
      project,
      cluster,
      settings,
      gate: this.#gate(app, project, cluster),
      windows: this.#windows(app, project),
      identity: this.#identity(app, project, cluster),
    };
  }

  #gate(app: Application, project: AppProject, cluster: Cluster): ResourceGate {
    const scoped = this.#scoped(app);
    const { server, name } = cluster;
    const inPlace = (namespace: string): boolean =>
      isDestinationPermitted(project, { server, name, namespace }, scoped);
    const permitsRef = (ref: ResourceRef): boolean =>
      isGroupKindPermitted(project, ref, ref.namespace !== '') && (ref.namespace === '' || inPlace(ref.namespace));
    const denied = (object: KubeObject, namespaced: boolean): string | undefined => {
      const ref = refOf(object);
      const projectName = project.metadata.name ?? '';
      if (!isGroupKindPermitted(project, ref, namespaced))
        return `resource ${ref.group}:${ref.kind} is not permitted in project ${projectName}`;
      return namespaced && !inPlace(ref.namespace)
        ? `namespace ${ref.namespace} is not permitted in project '${projectName}'`
        : undefined;
    };
    const misplaced = destinationDenied(app, project, cluster, scoped);
    const permitsKind = (object: KubeObject, namespaced: boolean): boolean =>
      isGroupKindPermitted(project, refOf(object), namespaced);
    const places = scoped.map((one) => [one.server, one.name]);
    const rules = this.#effective.versionOf(project);
    const version = hashText(JSON.stringify([rules, server, name, places, destinationNamespaceOf(app)]));
    return { version, permits: (object) => permitsRef(refOf(object)), permitsRef, permitsKind, misplaced, denied };
  }

  #windows(app: Application, project: AppProject): WindowGate {
    const { clock } = this.#deps;
    const facts = windowFacts(app);
    const blocks = (state: OperationState): string | undefined => {
      const verdict = canSync(project.spec.syncWindows, facts, triggerOf(state), clock.now());
      if (verdict.allowed) return undefined;
      return `Sync operation blocked by sync window${verdict.error === undefined ? '' : `: ${verdict.error}`}`;
    };
    return {
      automated: () => canSync(project.spec.syncWindows, facts, { manual: false }, clock.now()).allowed,
      blocks,
    };
  }

  #identity(app: Application, project: AppProject, cluster: Cluster): ImpersonationUsers {
    const { impersonation } = this.#deps.settings.settings();
    const namespace = destinationNamespaceOf(app);
    const deletes = (): string | undefined => {
      if (!impersonation.enabled) return undefined;
      const target = impersonationTarget(project, cluster.server, namespace, app.metadata.namespace ?? '');
      if ('error' in target)
        throw new DriftlessError('IMPERSONATION', `failed to derive service account to impersonate: ${target.error}`);
      return target.user === '' ? undefined : target.user;
    };
    const syncs = (): string | undefined => {
      const user = deletes();
      if (user !== undefined || !impersonation.enabled || !impersonation.enforced) return user;
      throw new DriftlessError(
        'IMPERSONATION',
        `no matching service account found for destination server ${cluster.server} and namespace ${namespace}`,
      );
    };
    return { syncs, deletes };
  }

  #lookup(name: string): AppProject | undefined {
    const object = this.#deps.informer.get(`${this.#namespace}/${name}`);
    return object === undefined ? undefined : this.#effective.read(object);
  }

  #scoped(app: Application): readonly Cluster[] {
    const all = this.#deps.settings.clusters();
    if (this.#scopedClusters.all !== all) this.#scopedClusters = { all, byProject: scopedByProject(all) };
    return this.#scopedClusters.byProject.get(projectOf(app)) ?? notScoped;
  }
}

function conditionOf(error: ProjectUnusable): ConditionType {
  if (error instanceof SettingsUnreadable) return 'SettingsError';
  return error.missing ? 'InvalidSpecError' : 'UnknownError';
}

/** How often an operation checks whether the settings can be read. */
const heldRecheckMs = 5000;

/** The clusters that are scoped to each project, of one list of clusters. */
interface ScopedClusters {
  readonly all: readonly Cluster[];
  readonly byProject: ReadonlyMap<string, readonly Cluster[]>;
}

const notScoped: readonly Cluster[] = [];

function scopedByProject(all: readonly Cluster[]): ScopedClusters['byProject'] {
  const byProject = new Map<string, Cluster[]>();
  for (const cluster of all) {
    const { project } = cluster;
    if (project === undefined) continue;
    const known = byProject.get(project);
    if (known === undefined) byProject.set(project, [cluster]);
    else known.push(cluster);
  }
  return byProject;
}

/** Sync windows that hold syncs of an Application. */
export interface SyncHold extends WindowHold {
  readonly project: string;
  /** Whether a sync by a user may run now. */
  readonly permitsManual: boolean;
}

function windowFacts({ metadata, spec }: Application): WindowFacts {
  return { name: metadata.name ?? '', destination: spec.destination };
}

function triggerOf({ startedAt, operation }: OperationState): SyncTrigger {
  const manual = operation.initiatedBy?.automated !== true;
  return { manual, ...defined({ startedAt: parseTime(startedAt) }) };
}
