import { DriftlessError, isObject } from '#base';
import type { Clock } from '#base';
import type { Informer } from '#kube';
import { appKeyOf, asProject, projectOf, refOf, repositoryUrlsOf } from '#model';
import type { Application, AppProject, Cluster, KubeObject, OperationState, ResourceRef } from '#model';
import {
  appNamespaceDenied,
  canSync,
  destinationDenied,
  effectiveProject,
  impersonationTarget,
  isAppNamespacePermitted,
  isDestinationPermitted,
  isGroupKindPermitted,
  validateSpec,
} from '#policy';
import type { SettingsStore } from '#settings';
import type { SyncSubject } from './syncer.ts';
import { ProjectUnusable } from './errors.ts';
import type { SpecVerdict } from './refresh.ts';
import type { OwnershipGuard } from './ownership-guard.ts';
import { parseTime } from './kube-time.ts';

/** What one application may have on its cluster, by its project. */
export interface ResourceGate {
  readonly permits: (object: KubeObject) => boolean;
  readonly permitsRef: (ref: ResourceRef) => boolean;
  /** Why nothing at all may be created where the application goes; for objects of a namespace, theirs counts as well. */
  readonly misplaced: string | undefined;
  /** Argo CD's words for a refusal, undefined when it is permitted. */
  readonly denied: (object: KubeObject, namespaced: boolean) => string | undefined;
}

export interface ProjectsDeps {
  /** AppProjects of the controller's namespace. */
  readonly informer: Informer;
  readonly settings: SettingsStore;
  readonly guard: OwnershipGuard;
  readonly clock: Clock;
}

/**
 * AppProjects as they are enforced, and every question that is answered by one. Source: Argo CD util/argo/argo.go and
 * appcontroller.go (refreshAppConditions). Nothing is cached: a changed project holds from the next question on.
 */
export class Projects {
  readonly #deps: ProjectsDeps;
  readonly #namespace: string;

  constructor(deps: ProjectsDeps, config: { readonly namespace: string }) {
    this.#deps = deps;
    this.#namespace = config.namespace;
  }

  /**
   * The effective project of an application.
   * @throws ProjectUnusable when it does not exist, or is not for the application's namespace.
   */
  of(app: Application): AppProject {
    const name = projectOf(app);
    const stored = this.#lookup(name);
    if (stored === undefined)
      throw new ProjectUnusable(`Application referencing project ${name} which does not exist`, true);
    const { name: appName = '', namespace = '' } = app.metadata;
    if (!isAppNamespacePermitted(namespace, stored, this.#namespace))
      throw new ProjectUnusable(appNamespaceDenied(appName, namespace, stored), false);
    const { settings } = this.#deps;
    return effectiveProject(stored, {
      globalProjects: settings.settings().globalProjects,
      lookup: (other) => this.#lookup(other),
      // Only repositories that this application names can matter to it.
      repositories: repositoryUrlsOf(app).map((url) => settings.repository(url, name)),
      clusters: settings.clusters(),
    });
  }

  /** Whether the project of an application is there and lets it live in its namespace. */
  permitsNamespaceOf(app: Application): boolean {
    const stored = this.#lookup(projectOf(app));
    return stored !== undefined && isAppNamespacePermitted(app.metadata.namespace ?? '', stored, this.#namespace);
  }

  /** Project, cluster and spec of an application in order, or the conditions that say what is not. */
  validate(app: Application): SpecVerdict {
    const cluster = this.#deps.guard.resolve(app);
    try {
      const project = this.of(app);
      const conditions = validateSpec(app, project, cluster, this.#scoped(app));
      if (conditions.length > 0 || 'error' in cluster) return { ok: false, conditions };
      return { ok: true, project, cluster };
    } catch (error) {
      if (!(error instanceof ProjectUnusable)) throw error;
      const type = error.missing ? 'InvalidSpecError' : 'UnknownError';
      return { ok: false, conditions: [{ type, message: error.message }] };
    }
  }

  /**
   * What an operation works on.
   * @throws with the message that the operation shows.
   */
  subjectOf(app: Application): SyncSubject {
    const cluster = this.#deps.guard.resolve(app);
    let project: AppProject;
    try {
      project = this.of(app);
    } catch (error) {
      throw new DriftlessError('PROJECT', `Failed to load application project: ${(error as Error).message}`, {
        cause: error,
      });
    }
    if ('error' in cluster)
      throw new DriftlessError('DESTINATION', `Failed to get destination cluster: ${cluster.error}`);
    return { app, key: appKeyOf(app), project, cluster };
  }

  gate(app: Application, project: AppProject, cluster: Cluster): ResourceGate {
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
    return { permits: (object) => permitsRef(refOf(object)), permitsRef, misplaced, denied };
  }

  /** Whether automated syncs may start now; an unreadable window says no. */
  autosyncAllowed(app: Application, project: AppProject): boolean {
    const facts = { name: app.metadata.name ?? '', destination: app.spec.destination };
    return canSync(project.spec.syncWindows, facts, { manual: false }, this.#deps.clock.now()).allowed;
  }

  /** Why an operation may not go on now; undefined when it may. */
  windowBlocks(app: Application, project: AppProject, state: OperationState): string | undefined {
    const facts = { name: app.metadata.name ?? '', destination: app.spec.destination };
    const startedAt = parseTime(state.startedAt);
    const trigger = {
      manual: state.operation.initiatedBy?.automated !== true,
      ...(startedAt === undefined ? {} : { startedAt }),
    };
    const verdict = canSync(project.spec.syncWindows, facts, trigger, this.#deps.clock.now());
    if (verdict.allowed) return undefined;
    return `Sync operation blocked by sync window${verdict.error === undefined ? '' : `: ${verdict.error}`}`;
  }

  /**
   * Whom to act as on the cluster; undefined: ourselves.
   * @throws with Argo CD's text when impersonation is on and does not say whom.
   */
  actAs(app: Application, project: AppProject, cluster: Cluster): string | undefined {
    const { impersonation } = this.#deps.settings.settings();
    const user = this.deletesAs(app, project, cluster);
    if (user !== undefined || !impersonation.enabled || !impersonation.enforced) return user;
    const namespace = app.spec.destination.namespace ?? '';
    throw new DriftlessError(
      'IMPERSONATION',
      `no matching service account found for destination server ${cluster.server} and namespace ${namespace}`,
    );
  }

  /**
   * Whom to act as when an application is deleted: as {@link actAs}, but where the project names nobody, ourselves, also under enforcement.
   * What was made before enforcement, or before the service account was taken out of the project, could never be deleted otherwise.
   * @throws with Argo CD's text when the project's answer cannot be understood.
   */
  deletesAs(app: Application, project: AppProject, cluster: Cluster): string | undefined {
    if (!this.#deps.settings.settings().impersonation.enabled) return undefined;
    const namespace = app.spec.destination.namespace ?? '';
    const target = impersonationTarget(project, cluster.server, namespace, app.metadata.namespace ?? '');
    if ('error' in target)
      throw new DriftlessError('IMPERSONATION', `failed to derive service account to impersonate: ${target.error}`);
    return target.user === '' ? undefined : target.user;
  }

  watchesOrphans(app: Application): boolean {
    return isObject(this.#lookup(projectOf(app))?.spec.orphanedResources);
  }

  #lookup(name: string): AppProject | undefined {
    const object = this.#deps.informer.get(`${this.#namespace}/${name}`);
    return object === undefined ? undefined : asProject(object);
  }

  #scoped(app: Application): readonly Cluster[] {
    const name = projectOf(app);
    return this.#deps.settings.clusters().filter((cluster) => cluster.project === name);
  }
}
