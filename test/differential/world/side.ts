import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { deepEqual, newAbortController, Shutdown, systemClock } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { ApiClient } from '#support';
import { ControllerProcess } from '../../../bench/beside/controllers.ts';
import type { Side } from '../../../bench/beside/figures.ts';
import { prepare } from '../../../bench/beside/hub.ts';
import { ObjectWatch } from '../../../bench/beside/object-watch.ts';
import { startDouble, startServers } from '../../e2e/support/index.ts';
import type { ClusterDouble, Servers } from '../../e2e/support/index.ts';
import { widgetDefinition } from './content.ts';

export const argoNamespace = 'argocd';
export const applicationsPath = `/apis/argoproj.io/v1alpha1/namespaces/${argoNamespace}/applications`;
export const projectsPath = `/apis/argoproj.io/v1alpha1/namespaces/${argoNamespace}/appprojects`;
const settingsPath = `/api/v1/namespaces/${argoNamespace}/configmaps/argocd-cm`;

/** The members of an Application that the script reads. */
export interface ApplicationObject extends KubeObject {
  readonly spec: {
    readonly syncPolicy?: { readonly automated?: JsonObject | null; readonly syncOptions?: readonly string[] };
  };
  readonly operation?: JsonObject | null;
  readonly status?: {
    readonly reconciledAt?: string;
    readonly sync?: { readonly status?: string; readonly revision?: string };
    readonly operationState?: { readonly phase?: string };
    readonly history?: readonly { readonly id: number; readonly revision?: string; readonly source?: JsonObject }[];
  };
}

/**
 * Pauses of both controllers that only cost time here, and no resync: only acts and changes of the
 * cluster cause comparisons.
 */
const pace = {
  ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_TIMEOUT_SECONDS: '1',
  ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_FACTOR: '1',
  ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_CAP_SECONDS: '1',
  ARGOCD_RECONCILIATION_TIMEOUT: '100000s',
  ARGOCD_RECONCILIATION_JITTER: '0s',
  ARGOCD_SYNC_WAVE_DELAY: '1',
};

/** A real API server with one of the two controllers. */
export class WorldSide {
  readonly side: Side;
  readonly api: ApiClient;
  readonly applications: ObjectWatch<ApplicationObject>;
  readonly #servers: Servers<'hub'>;
  readonly #controller: ControllerProcess;
  readonly #double: ClusterDouble;
  readonly #stop = newAbortController();
  #changedAt = systemClock.monotonic();
  /** Versions of Applications whose work did not end. */
  #waiting: ReadonlyMap<string, string | undefined> = new Map();

  private constructor(
    side: Side,
    parts: {
      readonly servers: Servers<'hub'>;
      readonly controller: ControllerProcess;
      readonly double: ClusterDouble;
    },
  ) {
    this.side = side;
    this.#servers = parts.servers;
    this.api = parts.servers.servers.hub.api;
    this.#controller = parts.controller;
    this.#double = parts.double;
    const stateOf = (object: KubeObject): ApplicationObject => {
      this.#changedAt = systemClock.monotonic();
      return object as ApplicationObject;
    };
    this.applications = new ObjectWatch({ api: this.api, path: applicationsPath, stateOf });
    this.applications.run(this.#stop.signal).catch((error: unknown) => this.#stop.abort(error));
  }

  static async start(side: Side): Promise<WorldSide> {
    const servers = await startServers({ names: ['hub'] });
    const ends = [() => servers.close()];
    try {
      const { hub } = servers.servers;
      const kubeconfig = await prepare(hub);
      await hub.api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetDefinition);
      const double = await startDouble(hub.access);
      ends.push(() => double.stop());
      const folder = join(servers.folder, 'controller');
      mkdirSync(folder);
      const controller = await ControllerProcess.start(side, { folder, kubeconfig }, { env: pace });
      return new WorldSide(side, { servers, controller, double });
    } catch (error) {
      for (const end of ends.reverse()) await end();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#stop.abort(new Shutdown());
    await this.#controller.stop();
    await this.#double.stop();
    await this.#servers.close();
  }

  /** Milliseconds since the last change of an Application. */
  quietMs(): number {
    if (this.#stop.signal.aborted) throw this.#stop.signal.reason;
    return systemClock.monotonic() - this.#changedAt;
  }

  /** Whether an Application has something to do that it has not done, and not waited for before. */
  isBusy(): boolean {
    return this.#busy().some(({ metadata }) => this.#waiting.get(metadata.name ?? '') !== metadata.resourceVersion);
  }

  /** Ends the wait for Applications that are busy now, until they change. */
  acceptBusy(): void {
    this.#waiting = new Map(this.#busy().map(({ metadata }) => [metadata.name ?? '', metadata.resourceVersion]));
  }

  #busy(): readonly ApplicationObject[] {
    return [...this.applications.states.values()].filter(isBusy);
  }

  tail(): string {
    return this.#controller.tail();
  }

  /** Replaces the data of argocd-cm. */
  async setSettings(data: Readonly<Record<string, string>>): Promise<void> {
    const current = await this.api.get<{ data?: JsonObject }>(settingsPath);
    if (deepEqual(current?.data ?? {}, data)) return;
    await this.api.replace(settingsPath, { ...current, data });
  }
}

function isBusy({ spec, operation, status, metadata }: ApplicationObject): boolean {
  const { phase } = status?.operationState ?? {};
  const isRefreshing = metadata.annotations?.['argocd.argoproj.io/refresh'] !== undefined;
  const isRunning = (operation ?? undefined) !== undefined || phase === 'Running' || phase === 'Terminating';
  // An automated sync may begin, unless it failed at this revision.
  const isDue = (spec.syncPolicy?.automated ?? undefined) !== undefined && status?.sync?.status === 'OutOfSync';
  return (
    isRefreshing || isRunning || isDue || status?.reconciledAt === undefined || metadata.deletionTimestamp !== undefined
  );
}
