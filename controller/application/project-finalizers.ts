import { isNotFound } from '#kube';
import type { Informer, KubeClient } from '#kube';
import { asApplication, finalizers, jsonOf, projectOf } from '#model';
import type { HandlerResult, TakenItem } from '#queues';
import type { Logger } from '#telemetry';
import { projectResource } from '../shared/resources.ts';

export interface ProjectFinalizersDeps {
  readonly hub: Pick<KubeClient, 'patch'>;
  /** AppProjects in the controller's namespace. */
  readonly informer: Informer;
  readonly apps: Informer;
  readonly logger: Logger;
}

/** How often a deleted project that is still in use is checked again. */
const projectRetryMs = 10_000;

/**
 * Removes the finalizer of deleted AppProjects. Source: Argo CD appcontroller.go
 * processProjectQueueItem.
 */
export class ProjectFinalizers {
  readonly #deps: ProjectFinalizersDeps;

  constructor(deps: ProjectFinalizersDeps) {
    this.#deps = deps;
  }

  /** Releases a deleted project once no Application uses it. */
  async handle({ key }: TakenItem<string, undefined>, signal: AbortSignal): Promise<HandlerResult<undefined>> {
    const object = this.#deps.informer.get(key);
    const ours = object?.metadata.finalizers?.includes(finalizers.resources) ?? false;
    if (object?.metadata.deletionTimestamp === undefined || !ours) return 'done';
    const { name = '', namespace = '' } = object.metadata;
    const users = this.#deps.apps.list().filter((app) => projectOf(asApplication(app)) === name);
    const [user] = users;
    if (user !== undefined) {
      const { namespace: of = '', name: by = '' } = user.metadata;
      this.#deps.logger.info(
        `Cannot remove project '${name}' finalizer as it is still referenced by application ${of}/${by}`,
        { project: name, applications: users.length },
      );
      return { requeueAfterMs: projectRetryMs };
    }
    const left = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== finalizers.resources);
    const metadata = { finalizers: left, resourceVersion: object.metadata.resourceVersion ?? null };
    const patch = { type: 'merge', body: jsonOf({ metadata }) } as const;
    await this.#deps.hub.patch(projectResource, { namespace, name }, patch, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    return 'done';
  }
}
