import { isNotFound } from '#kube';
import type { Informer, KubeClient } from '#kube';
import { asApplication, finalizers, jsonOf, projectOf } from '#model';
import type { Outcome, Taken } from '#queues';
import type { Logger } from '#telemetry';
import { projectResource } from './resources.ts';

export interface ProjectFinalizersDeps {
  readonly hub: Pick<KubeClient, 'patch'>;
  /** AppProjects of the controller's namespace. */
  readonly informer: Informer;
  readonly apps: Informer;
  readonly logger: Logger;
}

/** How long a deleted project waits before it looks again whether applications still use it. */
const projectRetryMs = 10_000;

/** Lets deleted AppProjects go. Source: Argo CD appcontroller.go processProjectQueueItem. */
export class ProjectFinalizers {
  readonly #deps: ProjectFinalizersDeps;

  constructor(deps: ProjectFinalizersDeps) {
    this.#deps = deps;
  }

  /** A project on its way out goes when no application uses it any more. */
  async handle({ key }: Taken<string, undefined>, signal: AbortSignal): Promise<Outcome<undefined>> {
    const object = this.#deps.informer.get(key);
    const ours = object?.metadata.finalizers?.includes(finalizers.resources) ?? false;
    if (object?.metadata.deletionTimestamp === undefined || !ours) return 'done';
    const { name = '', namespace = '' } = object.metadata;
    const users = this.#deps.apps.list().filter((app) => projectOf(asApplication(app)) === name);
    if (users.length > 0) {
      this.#deps.logger.info('Project is deleted but still used', { project: name, applications: users.length });
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
