import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { forwardService, nodeAddress } from './network.ts';
import type { PodObject } from './pod.ts';
import type { World } from './world.ts';

const group = 'custom.metrics.k8s.io';
const service = { name: 'metrics-adapter', namespace: 'kube-system', address: '10.96.0.50' };
const apiService = '/apis/apiregistration.k8s.io/v1/apiservices';

/**
 * Serves one metric of pods to the autoscaler of the cluster, read from the pods themselves: what
 * an adapter does with the metrics in Prometheus.
 */
export class MetricsAdapter {
  readonly #world: World;
  readonly #metric: string;
  readonly #server: HttpsServer;

  private constructor(world: World, metric: string) {
    this.#world = world;
    this.#metric = metric;
    const read = (name: string): string => readFileSync(join(world.folder, world.hub.name, name), 'utf8');
    this.#server = createServer({ key: read('server.key'), cert: read('server.crt') }, (request, response) => {
      void this.#answer(request.url ?? '').then(
        (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
        (error: unknown) => response.writeHead(404).end(String(error)),
      );
    });
  }

  static async start(world: World, metric: string): Promise<MetricsAdapter> {
    const adapter = new MetricsAdapter(world, metric);
    adapter.#server.listen(0, nodeAddress);
    await once(adapter.#server, 'listening');
    const { port } = adapter.#server.address() as AddressInfo;
    forwardService(service.address, port);
    await adapter.#register(port);
    return adapter;
  }

  async close(): Promise<void> {
    await this.#world.hub.api.delete(`${apiService}/v1beta1.${group}`);
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #register(port: number): Promise<void> {
    const { api } = this.#world.hub;
    const { name, namespace, address } = service;
    const ports = [{ name: 'https', port: 443, protocol: 'TCP' }];
    await api.create(`/api/v1/namespaces/${namespace}/services`, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace },
      spec: { clusterIP: address, ports },
    });
    await api.create(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, namespace, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [nodeAddress], conditions: { ready: true } }],
      ports: [{ name: 'https', port, protocol: 'TCP' }],
    });
    await api.create(apiService, {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1beta1.${group}` },
      spec: {
        group,
        version: 'v1beta1',
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { name, namespace, port: 443 },
      },
    });
  }

  async #answer(url: string): Promise<object> {
    const { pathname, searchParams } = new URL(url, 'https://localhost');
    if (pathname === `/apis/${group}/v1beta1`)
      return {
        kind: 'APIResourceList',
        apiVersion: 'v1',
        groupVersion: `${group}/v1beta1`,
        resources: [
          { name: `pods/${this.#metric}`, singularName: '', namespaced: true, kind: 'MetricValueList', verbs: ['get'] },
        ],
      };
    const asked = decodeURIComponent(pathname);
    const namespace = new RegExp(`/namespaces/([^/]+)/pods/[*]/${this.#metric}$`).exec(asked)?.[1];
    if (namespace === undefined) throw new Error(`${pathname} is not served`);
    return this.#values(namespace, searchParams.get('labelSelector') ?? '');
  }

  async #values(namespace: string, selector: string): Promise<object> {
    const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`;
    const { items = [] } = (await this.#world.hub.api.get<{ readonly items: readonly PodObject[] }>(path)) ?? {};
    const values = await Promise.all(items.map((pod) => this.#read(pod).catch(() => undefined)));
    return {
      kind: 'MetricValueList',
      apiVersion: `${group}/v1beta1`,
      metadata: {},
      items: items.flatMap(({ metadata }, index) =>
        values[index] === undefined
          ? []
          : [
              {
                describedObject: { kind: 'Pod', namespace, name: metadata.name, apiVersion: '/v1' },
                metricName: this.#metric,
                timestamp: new Date().toISOString(),
                value: values[index],
              },
            ],
      ),
    };
  }

  /** A quantity; undefined if the pod does not have the metric yet. */
  async #read({ status }: PodObject): Promise<string | undefined> {
    const answer = await fetch(`http://${status.podIP}:8082/metrics`, { signal: AbortSignal.timeout(5000) });
    const value = new RegExp(`^${this.#metric}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(await answer.text())?.[1];
    return value === undefined ? undefined : `${Math.round(Number(value) * 1000)}m`;
  }
}
