import { eventually } from '#support';
import { WorkloadPods } from './pods.ts';
import { chartFolder, renderedController } from './rendered-controller.ts';
import type { RenderedController } from './rendered-controller.ts';
import { isBy, isDryRun, isWrite } from './support/index.ts';
import type { AuditEvent, Server } from './support/index.ts';

export interface InstallOptions {
  readonly server: Server;
  /** Folder for caches and logs. */
  readonly folder: string;
  readonly values: object;
  readonly namespace?: string;
  readonly release?: string;
  /** Address of this machine where the read API listens; absent: it does not. */
  readonly apiHost?: string;
}

/**
 * Objects that the controller writes for itself and about Applications. All others are managed
 * objects.
 */
const ownBusiness: Readonly<Record<string, readonly string[] | 'any'>> = {
  events: 'any',
  applications: 'any',
  configmaps: ['argocd-app-controller-shard-cm', 'driftless-ownership', 'driftless-settings'],
};

/**
 * The controller as the chart installs it on a real server: one pod as a local process, and its
 * audit log.
 */
export class UnderTest {
  readonly pods: WorkloadPods;
  readonly #server: Server;
  readonly #rendered: RenderedController;

  private constructor(server: Server, rendered: RenderedController, pods: WorkloadPods) {
    this.#server = server;
    this.#rendered = rendered;
    this.pods = pods;
  }

  /** Runs `helm install` and starts the pod; resolves when it is ready. */
  static async install(options: InstallOptions): Promise<UnderTest> {
    const { server, folder, values, namespace = 'argocd', release = 'driftless', apiHost } = options;
    const input = JSON.stringify(values);
    const args = ['install', release, chartFolder, '--namespace', namespace, '--create-namespace', '--wait=false'];
    await server.helm([...args, '--values', '-'], { input });
    const rendered = await renderedController(values, { release, namespace });
    const found = new UnderTest(server, rendered, new WorkloadPods(server, rendered, folder, apiHost));
    await found.pods.match();
    await found.pods.ready();
    return found;
  }

  stop(): Promise<void> {
    return this.pods.stop();
  }

  metrics(): Promise<string> {
    return this.pods.all()[0]?.metrics() ?? Promise.resolve('');
  }

  /** Sum of a metric over all its labels. */
  async metric(name: string): Promise<number> {
    return sumOf(await this.metrics(), name);
  }

  /** All write requests of the controller to a server. */
  writes(server: Server = this.#server): AuditEvent[] {
    const { namespace, serviceAccount } = this.#rendered;
    return server.audit().filter((event) => isWrite(event) && isBy(event, namespace, serviceAccount));
  }

  /** Write requests to managed objects, without dry runs. */
  managedWrites(server: Server = this.#server): AuditEvent[] {
    return this.writes(server).filter(
      (event) => !isDryRun(event) && !isOwnReview(event) && !this.#isOwnBusiness(event),
    );
  }

  #isOwnBusiness({ objectRef }: AuditEvent): boolean {
    if (objectRef?.namespace !== this.#rendered.namespace) return false;
    const names = ownBusiness[objectRef.resource ?? ''];
    // The name of a created object is only in the body.
    return names === 'any' || names?.includes(objectRef.name ?? names[0] ?? '') === true;
  }
}

/**
 * Sum of a metric over all labels, or those in `name`, in the text of `/metrics`; 0 if it is
 * missing.
 */
export function sumOf(metrics: string, name: string): number {
  const lines = metrics.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** Requests a refresh as `argocd app get --refresh` does, and waits until it is done. */
export async function refreshed(
  server: Server,
  path: string,
  type: 'normal' | 'hard',
  withinMs = 30_000,
): Promise<void> {
  const name = 'argocd.argoproj.io/refresh';
  await server.api.patch(path, { metadata: { annotations: { [name]: type } } });
  await eventually(async () => {
    const app = await server.api.get<{ metadata: { annotations?: Record<string, string> } }>(path);
    if (app?.metadata.annotations?.[name] !== undefined) throw new Error(`${path} is not compared yet`);
  }, withinMs);
}

/** A question of the controller about its own rights, which changes nothing. */
function isOwnReview({ objectRef }: AuditEvent): boolean {
  return objectRef?.resource === 'selfsubjectaccessreviews';
}
