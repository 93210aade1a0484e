import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient, eventually } from '#support';
import type { ApiAccess } from '#support';
import { auditPolicy, readAudit } from './audit.ts';
import type { AuditEvent } from './audit.ts';
import { CertificateAuthority } from './certificates.ts';
import { ServerProcess, freePort } from './processes.ts';
import { mustRun, runTool, toolPath } from './tools.ts';
import type { ToolOptions, ToolResult } from './tools.ts';

export type ServerPart = 'apiserver' | 'etcd';

/** A start takes two seconds of CPU time, and much longer on a busy machine. */
const startLimitMs = 110_000;

/** A real Kubernetes API server with its own etcd, on loopback, with RBAC. */
export class Server {
  readonly name: string;
  /** https://127.0.0.1:<port> */
  readonly url: string;
  /** PEM of the CA of the server's certificate, for cluster Secrets. */
  readonly ca: string;
  /**
   * A kubeconfig file. Its only context has the server's name and a client certificate of
   * system:masters.
   */
  readonly kubeconfig: string;
  /** An HTTP client with that certificate. */
  readonly api: ApiClient;
  readonly access: ApiAccess;
  readonly #folder: string;
  readonly #etcd: ServerProcess;
  readonly #etcdUrl: string;
  readonly #peerUrl: string;
  readonly #apiserver: ServerProcess;
  #manager: ServerProcess | undefined;
  #files = 0;

  private constructor(parts: {
    readonly name: string;
    readonly folder: string;
    readonly access: ApiAccess & { readonly ca: string };
    readonly etcd: ServerProcess;
    readonly etcdUrl: string;
    readonly peerUrl: string;
    readonly apiserver: ServerProcess;
  }) {
    this.name = parts.name;
    this.#folder = parts.folder;
    this.access = parts.access;
    this.url = parts.access.server;
    this.ca = parts.access.ca;
    this.#etcd = parts.etcd;
    this.#etcdUrl = parts.etcdUrl;
    this.#peerUrl = parts.peerUrl;
    this.#apiserver = parts.apiserver;
    this.api = new ApiClient(parts.access);
    this.kubeconfig = this.kubeconfigFor(parts.access);
  }

  /** Starts etcd and the API server with additional options, and resolves when it is ready. */
  static async start(name: string, folder: string, options: readonly string[] = []): Promise<Server> {
    mkdirSync(folder);
    const authority = await CertificateAuthority.create(folder);
    await authority.server('server');
    const admin = await authority.client('admin', 'driftless-e2e-admin', ['system:masters']);
    await authority.keyPair('service-accounts');
    writeFileSync(authority.path('audit-policy.yaml'), auditPolicy);
    const [port, etcdPort, peerPort] = [await freePort(), await freePort(), await freePort()];
    const etcdUrl = `http://127.0.0.1:${etcdPort}`;
    const peerUrl = `http://127.0.0.1:${peerPort}`;
    const etcd = new ServerProcess(toolPath('etcd'), etcdArgs(folder, etcdUrl, peerUrl), join(folder, 'etcd.log'));
    const apiserver = new ServerProcess(
      toolPath('kube-apiserver'),
      [...apiserverArgs(folder, etcdUrl, port), ...options],
      join(folder, 'apiserver.log'),
    );
    const access = { server: `https://127.0.0.1:${port}`, ca: authority.ca, ...admin };
    const server = new Server({ name, folder, access, etcd, etcdUrl, peerUrl, apiserver });
    etcd.start();
    apiserver.start();
    await server.ready();
    return server;
  }

  /** Waits until the API server is ready. @throws Error with the end of both logs */
  async ready(): Promise<void> {
    try {
      await eventually(async () => {
        const answer = await this.api.exchange({ method: 'GET', path: '/readyz' });
        if (answer.status !== 200) throw new Error(`readyz of ${this.name}: ${answer.status} ${answer.text}`);
      }, startLimitMs);
    } catch (error) {
      const logs = `--- etcd\n${this.#etcd.tail()}\n--- kube-apiserver\n${this.#apiserver.tail()}`;
      throw new Error(`the API server ${this.name} does not come up: ${String(error)}\n${logs}`, { cause: error });
    }
  }

  /**
   * Starts the controllers of a real kube-controller-manager that collect garbage, empty namespaces
   * and delete Jobs by their time to live. They stop with the server.
   */
  async startLifecycle(): Promise<void> {
    const args = lifecycleArgs(this.#folder, this.kubeconfig);
    this.#manager = new ServerProcess(toolPath('kube-controller-manager'), args, join(this.#folder, 'manager.log'));
    this.#manager.start();
    await eventually(async () => {
      const account = await this.api.get('/api/v1/namespaces/default/serviceaccounts/default');
      if (account === undefined) throw new Error(`the controllers do not come up: ${this.#manager?.tail() ?? ''}`);
    }, startLimitMs);
  }

  pid(part: ServerPart): number | undefined {
    return (part === 'etcd' ? this.#etcd : this.#apiserver).pid;
  }

  /** Stops one of the two processes, by default with SIGKILL. */
  async stop(part: ServerPart, signal?: NodeJS.Signals): Promise<void> {
    await (part === 'etcd' ? this.#etcd : this.#apiserver).stop(signal);
  }

  /** Starts a stopped process again, with the same address and data. */
  async resume(part: ServerPart): Promise<void> {
    (part === 'etcd' ? this.#etcd : this.#apiserver).start();
    await this.ready();
  }

  async restart(part: ServerPart, signal?: NodeJS.Signals): Promise<void> {
    await this.stop(part, signal);
    await this.resume(part);
  }

  /**
   * Compacts etcd: lists at an exact older version and older continue tokens answer 410. Restarts
   * the API server, which caches recent states itself.
   */
  async compact(): Promise<void> {
    const put = await this.api.get<{ metadata: { resourceVersion: string } }>('/api/v1/namespaces?limit=1');
    const revision = put?.metadata.resourceVersion ?? '1';
    const answer = await fetch(`${this.#etcdUrl}/v3/kv/compaction`, {
      method: 'POST',
      body: JSON.stringify({ revision, physical: true }),
    });
    if (!answer.ok) throw new Error(`compaction: ${answer.status} ${await answer.text()}`);
    await this.restart('apiserver');
  }

  /** Saves a snapshot with the request of `etcdctl snapshot save`. @returns its path */
  async snapshot(): Promise<string> {
    const answer = await fetch(`${this.#etcdUrl}/v3/maintenance/snapshot`, { method: 'POST', body: '{}' });
    if (!answer.ok) throw new Error(`snapshot: ${answer.status} ${await answer.text()}`);
    const parts = (await answer.text()).trimEnd().split('\n');
    const blobs = parts.map((part) => (JSON.parse(part) as { result: { blob?: string } }).result.blob ?? '');
    this.#files += 1;
    const path = join(this.#folder, `snapshot-${this.#files}.db`);
    writeFileSync(path, Buffer.concat(blobs.map((blob) => Buffer.from(blob, 'base64'))));
    return path;
  }

  /**
   * Restores a snapshot at the same address: resourceVersions go back, and later changes are lost.
   * Without a snapshot it rebuilds the cluster empty. CA and keys stay.
   */
  async restore(snapshot?: string): Promise<void> {
    await this.stop('apiserver');
    await this.stop('etcd');
    const data = dataFolder(this.#folder);
    rmSync(data, { recursive: true });
    if (snapshot !== undefined) {
      const member = [`--initial-cluster=default=${this.#peerUrl}`, `--initial-advertise-peer-urls=${this.#peerUrl}`];
      await mustRun('etcdutl', ['snapshot', 'restore', snapshot, `--data-dir=${data}`, ...member]);
    }
    this.#etcd.start();
    this.#apiserver.start();
    await this.ready();
  }

  /** All requests to this server, in order of completion. */
  audit(): AuditEvent[] {
    return readAudit(join(this.#folder, 'audit.log'));
  }

  /** Creates a token of an existing ServiceAccount with the TokenRequest API. */
  async token(namespace: string, serviceAccount: string, expirationSeconds = 3600): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`;
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds } };
    return (await this.api.create<{ status: { token: string } }>(path, body)).status.token;
  }

  /** The token of an account that may do everything, as `argocd cluster add` creates it. */
  async managerToken(): Promise<string> {
    const name = 'argocd-manager';
    await this.api.create('/api/v1/namespaces/kube-system/serviceaccounts', { metadata: { name } });
    await this.api.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'kube-system' }],
    });
    return this.token('kube-system', name);
  }

  /**
   * Access to this server as a ServiceAccount, for ApiClient, kubeconfigFor and cluster Secrets.
   */
  async as(namespace: string, serviceAccount: string): Promise<ApiAccess & { readonly token: string }> {
    return { server: this.url, ca: this.ca, token: await this.token(namespace, serviceAccount) };
  }

  /** Writes a kubeconfig. @returns its path */
  kubeconfigFor(access: ApiAccess, namespace = 'default'): string {
    this.#files += 1;
    const path = join(this.#folder, `kubeconfig-${this.#files}`);
    const { name } = this;
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const user =
      access.token === undefined
        ? { 'client-certificate-data': base64(access.cert ?? ''), 'client-key-data': base64(access.key ?? '') }
        : { token: access.token };
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': name,
      clusters: [{ name, cluster: { server: access.server, 'certificate-authority-data': base64(access.ca ?? '') } }],
      contexts: [{ name, context: { cluster: name, user: name, namespace } }],
      users: [{ name, user }],
    };
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  }

  /** Runs kubectl as administrator; it must succeed. */
  kubectl(args: readonly string[], options: ToolOptions = {}): Promise<string> {
    return mustRun('kubectl', ['--kubeconfig', this.kubeconfig, ...args], this.#quiet(options));
  }

  /** Runs helm as administrator; it must succeed. */
  helm(args: readonly string[], options: ToolOptions = {}): Promise<string> {
    return mustRun('helm', [...args, '--kubeconfig', this.kubeconfig], this.#quiet(options));
  }

  /** Runs kubectl or helm as administrator, with any exit code. */
  try(tool: 'kubectl' | 'helm', args: readonly string[], options: ToolOptions = {}): Promise<ToolResult> {
    return runTool(tool, [...args, '--kubeconfig', this.kubeconfig], this.#quiet(options));
  }

  async close(): Promise<void> {
    await this.api.close();
    await this.#manager?.stop();
    await this.#apiserver.stop();
    await this.#etcd.stop();
  }

  /** Sets cache folders of tools inside the folder of the run. */
  #quiet(options: ToolOptions): ToolOptions {
    const home = {
      HOME: this.#folder,
      KUBECACHEDIR: join(this.#folder, 'kube-cache'),
      HELM_CACHE_HOME: join(this.#folder, 'helm'),
    };
    return { ...options, env: { ...home, ...options.env } };
  }
}

function dataFolder(folder: string): string {
  return join(folder, 'etcd');
}

function etcdArgs(folder: string, url: string, peer: string): string[] {
  return [
    `--data-dir=${dataFolder(folder)}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    // Only a power failure could lose data without fsync; a killed process loses none.
    '--unsafe-no-fsync',
  ];
}

function lifecycleArgs(folder: string, kubeconfig: string): string[] {
  const controllers = ['garbage-collector', 'namespace', 'serviceaccount', 'root-ca-certificate-publisher'];
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${[...controllers, 'ttl-after-finished'].map((name) => `${name}-controller`).join()}`,
    `--root-ca-file=${join(folder, 'ca.crt')}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--kube-api-qps=200',
    '--kube-api-burst=400',
  ];
}

/** Options of a usual cluster: RBAC, default admission, ServiceAccount tokens, audit. */
function apiserverArgs(folder: string, etcdUrl: string, port: number): string[] {
  const at = (file: string): string => join(folder, file);
  return [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    // A loopback address cannot be an endpoint of the Service `kubernetes`.
    '--endpoint-reconciler-type=none',
    `--secure-port=${port}`,
    `--tls-cert-file=${at('server.crt')}`,
    `--tls-private-key-file=${at('server.key')}`,
    `--client-ca-file=${at('ca.crt')}`,
    '--authorization-mode=Node,RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${at('service-accounts.key')}`,
    `--service-account-signing-key-file=${at('service-accounts.key')}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    `--audit-policy-file=${at('audit-policy.yaml')}`,
    `--audit-log-path=${at('audit.log')}`,
    // Requests are logged before they are answered, so that a test finds all its requests in the
    // log.
    '--audit-log-mode=blocking',
    '--allow-privileged=true',
    '--profiling=false',
  ];
}
