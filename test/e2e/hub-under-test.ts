import { TestApplication } from './applications.ts';
import { OperationsSeen } from './operations-seen.ts';
import { startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';
import { UnderTest } from './under-test.ts';

const limitMs = 120_000;
/** The sync policy of {@link HubUnderTest.create}. */
export const automated = { automated: { prune: true, selfHeal: true }, syncOptions: ['CreateNamespace=true'] };

/**
 * A controller on a real hub, with the garbage collector and the namespace controller of a real
 * kube-controller-manager, and a record of all operations.
 */
export class HubUnderTest {
  readonly hub: Server;
  readonly folder: string;
  readonly controller: UnderTest;
  readonly operations: OperationsSeen;
  readonly #servers: Servers<'hub'>;
  readonly #double: ClusterDouble;

  private constructor(servers: Servers<'hub'>, double: ClusterDouble, controller: UnderTest) {
    this.#servers = servers;
    this.#double = double;
    this.hub = servers.servers.hub;
    this.folder = servers.folder;
    this.controller = controller;
    this.operations = new OperationsSeen(this.hub);
  }

  static async start(apiserver: readonly string[] = []): Promise<HubUnderTest> {
    const servers = await startServers({ names: ['hub'], apiserver });
    const { hub } = servers.servers;
    await hub.startLifecycle();
    const double = await startDouble(hub.access, { collects: false });
    const params = { 'controller.self.heal.backoff.timeout.seconds': '0' };
    const values = { rbac: { clusterWrite: true }, configs: { params } };
    const controller = await UnderTest.install({ server: hub, folder: servers.folder, values });
    return new HubUnderTest(servers, double, controller);
  }

  /** Limits of waits, with the log of the controller for their failures. */
  get within(): { readonly withinMs: number; readonly tail: () => string } {
    return { withinMs: limitMs, tail: () => this.controller.pods.tail() };
  }

  /** By default it is synced automatically, with prune and self-heal. */
  create(name: string, files: Record<string, string>, spec: object = {}): Promise<TestApplication> {
    const all = { syncPolicy: automated, ...spec };
    return TestApplication.create({ hub: this.hub, folder: this.folder }, name, { files, spec: all });
  }

  /** Creates it, and waits until it is Synced and Healthy. */
  async synced(name: string, files: Record<string, string>, spec: object = {}): Promise<TestApplication> {
    const app = await this.create(name, files, spec);
    await app.isGood(undefined, this.within);
    return app;
  }

  /** Objects that the controller has created in a namespace, or of its name. */
  createdIn(namespace: string): number {
    const writes = this.controller.managedWrites();
    return writes.filter(({ verb, requestURI }) => verb === 'create' && requestURI.includes(namespace)).length;
  }

  async close(): Promise<void> {
    await this.operations.close();
    await this.controller.stop();
    await this.#double.stop();
    await this.#servers.close();
  }
}
