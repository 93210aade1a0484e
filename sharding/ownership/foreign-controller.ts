import { isObject } from '#base';
import type { Clock, Runnable } from '#base';
import { apiResource, isForbidden, isNotFound } from '#kube';
import type { KubeClient } from '#kube';
import type { AppKey, KubeObject } from '#model';

/** A write of another application controller to the status of an Application that we own. */
export interface ForeignStatusWrite {
  readonly app: AppKey;
  /** Its field manager; '' if unknown. */
  readonly manager: string;
}

export interface ForeignControllerDeps {
  readonly client: Pick<KubeClient, 'get'>;
  readonly namespace: string;
  readonly clock: Clock;
  /** Name of our own workload. */
  readonly ownWorkload: string;
}

/** Writes that show a controller: a single one may be a restored backup or an edit by hand. */
const minWrites = 3;
const windowMs = 15 * 60_000;
const lookIntervalMs = 5 * 60_000;
/** Name of Argo CD's own workload. */
const argoWorkload = 'argocd-application-controller';
const workloads = [
  apiResource('apps/v1', 'StatefulSet', 'statefulsets', 'namespaced'),
  apiResource('apps/v1', 'Deployment', 'deployments', 'namespaced'),
];

/**
 * Observation: finds an application controller that writes beside us and takes part in no protocol,
 * such as a StatefulSet of Argo CD: by its writes to the status of Applications, and by its
 * workload where we may read it.
 */
export class ForeignController implements Runnable {
  readonly name = 'look for other application controllers';
  readonly #deps: ForeignControllerDeps;
  readonly #times: number[] = [];
  #last: ForeignStatusWrite | undefined;
  #running: readonly string[] = [];

  constructor(deps: ForeignControllerDeps) {
    this.#deps = deps;
  }

  /** Looks for the workload at the start and at an interval; failed reads change nothing. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#look(signal).catch(() => undefined);
      await this.#deps.clock.sleep(lookIntervalMs, signal).catch(() => undefined);
    }
  }

  noteWrite(write: ForeignStatusWrite): void {
    this.#times.push(this.#deps.clock.monotonic());
    this.#last = write;
    if (this.#times.length > minWrites) this.#times.shift();
  }

  /** For the condition; undefined while there is no sign of another controller. */
  message(): string | undefined {
    const since = this.#deps.clock.monotonic() - windowMs;
    const writes = this.#times.filter((at) => at >= since).length;
    const found = [...this.#running];
    if (writes >= minWrites && this.#last !== undefined) {
      const { app, manager } = this.#last;
      const by = manager === '' ? '' : ` as field manager ${manager}`;
      found.push(`it writes the status of Applications of this replica${by}, last that of ${app}`);
    }
    if (found.length === 0) return undefined;
    return `another application controller runs beside this one (${found.join('; ')}); the two overwrite each other, because it does not hand over: scale it to 0, or let it watch other Applications`;
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { client, namespace, ownWorkload } = this.#deps;
    if (ownWorkload === argoWorkload) return;
    const found: string[] = [];
    for (const resource of workloads) {
      try {
        const object = await client.get(resource, { namespace, name: argoWorkload }, { signal });
        found.push(...argoWorkloadOf(object).map((what) => `${resource.kind} ${namespace}/${argoWorkload} ${what}`));
      } catch (error) {
        if (!isNotFound(error) && !isForbidden(error)) throw error;
      }
    }
    this.#running = found;
  }
}

/** How many replicas run which image of Argo CD; empty if none does. */
function argoWorkloadOf(object: KubeObject): readonly string[] {
  const spec = isObject(object['spec']) ? object['spec'] : {};
  const template = isObject(spec['template']) ? spec['template'] : {};
  const pod = isObject(template['spec']) ? template['spec'] : {};
  const replicas = typeof spec['replicas'] === 'number' ? spec['replicas'] : 1;
  const containers = Array.isArray(pod['containers']) ? (pod['containers'] as readonly unknown[]) : [];
  const images = containers.map((container) => (isObject(container) ? container['image'] : undefined));
  const image = images.find((each): each is string => typeof each === 'string' && isArgoImage(each));
  return image === undefined || replicas === 0 ? [] : [`has ${replicas} replicas of ${image}`];
}

/** Mirrors keep the last part of the name: `argocd`, `argo-cd` or `argocd-rhel8`. */
function isArgoImage(image: string): boolean {
  return /(?:^|\/)argo-?cd[^/]*$/.test(image);
}
