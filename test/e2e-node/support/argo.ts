import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { eventually } from '#support';
import { toolPath, toolsPath } from '../../e2e/support/index.ts';
import { ServerProcess, freePort } from '../../e2e/support/processes.ts';
import { nodeAddress } from './network.ts';
import type { World } from './world.ts';

const redisPort = 6379;
const repoPort = 8081;
const password = 'redis-password';

/**
 * Argo CD in a namespace: its settings, its Redis, repo-server and application controller. The
 * programs run on the node; Services lead to Redis and the repo-server, as in Argo CD's manifests.
 * A StatefulSet of pause pods stands for the controller's own.
 */
export class ArgoInstallation {
  readonly namespace: string;
  readonly #world: World;
  readonly #folder: string;
  readonly #daemons: ServerProcess[] = [];
  #controller: ServerProcess | undefined;

  private constructor(world: World, namespace: string) {
    this.#world = world;
    this.namespace = namespace;
    this.#folder = join(world.folder, namespace);
    for (const name of ['.', 'tmp', 'bin', 'home', 'plugins', 'ssh', 'tls', 'gpg'])
      mkdirSync(join(this.#folder, name), { mode: 0o700 });
    symlinkSync(toolPath('argocd'), join(this.#folder, 'bin', 'argocd'));
    writeFileSync(join(this.#folder, 'bin', 'git-verify-wrapper.sh'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  }

  static async start(world: World, namespace: string): Promise<ArgoInstallation> {
    const argo = new ArgoInstallation(world, namespace);
    await world.hub.kubectl(['create', 'namespace', namespace]);
    await world.hub.kubectl(['apply', '-f', '-'], { input: JSON.stringify(argo.#objects()) });
    const redis = ['--port', String(redisPort), '--bind', nodeAddress, '--requirepass', password, '--save', ''];
    argo.#daemons.push(
      new ServerProcess(toolPath('redis-server'), [...redis, '--dir', argo.#folder], join(argo.#folder, 'redis.log')),
      argo.#component('argocd-repo-server', [
        ...['--address', nodeAddress, '--port', String(repoPort), '--disable-tls', '--client-ca-path='],
        ...['--metrics-port', String(await freePort())],
      ]),
    );
    for (const daemon of argo.#daemons) daemon.start();
    for (const port of [redisPort, repoPort]) await eventually(() => listening(port), 60_000);
    await argo.startController();
    return argo;
  }

  /** Starts Argo CD's own application controller. */
  async startController(): Promise<void> {
    this.#controller ??= this.#component('argocd-application-controller', [
      ...['--kubeconfig', this.#world.hub.kubeconfig, '--namespace', this.namespace],
      ...['--repo-server', `${nodeAddress}:${repoPort}`, '--repo-server-plaintext'],
      ...['--metrics-port', String(await freePort()), '--self-heal-timeout-seconds', '1'],
    ]);
    this.#controller.start();
  }

  async stopController(): Promise<void> {
    await this.#controller?.stop('SIGTERM');
  }

  async close(): Promise<void> {
    await this.stopController();
    for (const daemon of this.#daemons) await daemon.stop();
  }

  /** Whether Redis has a key, asked in its own protocol. */
  hasKey(pattern: string): Promise<boolean> {
    return new Promise((done, failed) => {
      let text = '';
      const socket = connect(redisPort, nodeAddress, () =>
        socket.write(`AUTH ${password}\r\nKEYS ${pattern}\r\nQUIT\r\n`),
      );
      socket.setTimeout(10_000, () => socket.destroy(new Error('Redis does not answer')));
      socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      socket.once('error', failed).once('close', () => done(/^\*[1-9]/m.test(text)));
    });
  }

  /** The end of every log. */
  tail(): string {
    return [...this.#daemons, this.#controller].map((daemon) => daemon?.tail(8) ?? '').join('\n---\n');
  }

  #component(name: string, args: readonly string[]): ServerProcess {
    const at = (folder: string): string => join(this.#folder, folder);
    const redis = ['--redis', `${nodeAddress}:${redisPort}`];
    return new ServerProcess(toolPath('argocd'), [...redis, ...args], at(`${name}.log`), {
      // All components of Argo CD are one binary; this name selects one.
      ARGOCD_BINARY_NAME: name,
      PATH: `${at('bin')}:${toolsPath()}`,
      HOME: at('home'),
      TMPDIR: at('tmp'),
      REDIS_PASSWORD: password,
      ARGOCD_SSH_DATA_PATH: at('ssh'),
      ARGOCD_TLS_DATA_PATH: at('tls'),
      ARGOCD_GPG_ENABLED: 'false',
      ARGOCD_ASK_PASS_SOCK: at('ask.sock'),
      ARGOCD_PLUGINSOCKFILEPATH: at('plugins'),
      ARGOCD_CONTROLLER_REPLICAS: '1',
      ARGOCD_FAKE_IN_CLUSTER: 'true',
      KUBECONFIG: this.#world.hub.kubeconfig,
    });
  }

  #objects(): object {
    const { namespace } = this;
    const own = (name: string, labels = {}): object => ({
      name,
      namespace,
      labels: { 'app.kubernetes.io/part-of': 'argocd', ...labels },
    });
    const configMap = (name: string, data: object): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: own(name),
      data,
    });
    const secret = (name: string, stringData: object): object => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: own(name),
      stringData,
    });
    const everything = { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }] };
    const items = [
      configMap('argocd-cm', { installationID: namespace }),
      configMap('argocd-cmd-params-cm', {
        'repo.server': `argocd-repo-server:${repoPort}`,
        'redis.server': `argocd-redis:${redisPort}`,
        'controller.repo.server.plaintext': 'true',
        'controller.self.heal.timeout.seconds': '1',
      }),
      configMap('argocd-rbac-cm', {}),
      secret('argocd-secret', { 'server.secretkey': 'c2VjcmV0LWtleQ==' }),
      secret('argocd-redis', { auth: password }),
      {
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'AppProject',
        metadata: { name: 'default', namespace },
        spec: { ...everything, clusterResourceWhitelist: [{ group: '*', kind: '*' }] },
      },
      ...service(namespace, 'argocd-redis', redisPort),
      ...service(namespace, 'argocd-repo-server', repoPort),
      this.#workload(own),
    ];
    return { apiVersion: 'v1', kind: 'List', items };
  }

  #workload(own: (name: string, labels?: object) => object): object {
    const name = 'argocd-application-controller';
    const labels = { 'app.kubernetes.io/name': name, 'app.kubernetes.io/component': 'application-controller' };
    return {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: own(name, labels),
      spec: {
        replicas: 1,
        serviceName: name,
        selector: { matchLabels: { 'app.kubernetes.io/name': name, part: 'argocd' } },
        template: {
          metadata: { labels: { ...labels, part: 'argocd' } },
          spec: {
            automountServiceAccountToken: false,
            containers: [{ name, image: 'localhost/pause:e2e', imagePullPolicy: 'Never' }],
          },
        },
      },
    };
  }
}

/** A Service that leads to a program on the node. */
function service(namespace: string, name: string, port: number): object[] {
  const ports = [{ name: 'tcp', port, protocol: 'TCP' }];
  return [
    { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec: { ports } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, namespace, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [nodeAddress], conditions: { ready: true } }],
      ports,
    },
  ];
}

function listening(port: number): Promise<void> {
  return new Promise((done, failed) => {
    const socket = connect(port, nodeAddress, () => {
      socket.destroy();
      done();
    });
    socket.once('error', failed);
  });
}
