import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConcurrencyLimiter, newAbortController, SecretValue, systemClock } from '#base';
import type { KubeObject } from '#model';
import { openProject } from '#support';
import type { ApiClient } from '#support';
import { startServers } from '../../test/e2e/support/index.ts';
import type { Server } from '../../test/e2e/support/index.ts';
import type { BenchContext, BenchMetrics } from '../harness.ts';
import { measureUsage } from './measure.ts';
import { startReplica } from './replica.ts';
import type { BenchReplica } from './replica.ts';
import { makeRepository } from './repository.ts';
import { applicationOf, clusterSecret, readArgoCrds } from './servers.ts';
import { missingTools } from './tools.ts';

const applicationsPath = '/apis/argoproj.io/v1alpha1/namespaces/argocd/applications';
/** Without a pass for this long, all work is done or waiting. */
const quietMs = 4000;
const syncTimeoutMs = 900_000;

/**
 * A first sync on one real API server, both hub and destination: its cost to the API server and to
 * the controller. Returns nothing without a real API server (`KUBEBUILDER_ASSETS`, or the result of
 * `npm run e2e:setup`).
 */
export async function firstSyncOnRealServer({ smoke }: BenchContext): Promise<BenchMetrics> {
  if (missingTools(['kube-apiserver', 'etcd']).length > 0) return {};
  const [size, objects] = smoke ? [5, 4] : [1000, 4];
  const names = Array.from({ length: size }, (_app, i) => `app-${i}`);
  const root = mkdtempSync(join(tmpdir(), 'driftless-fleet-real-'));
  const started = await startServers({ names: ['hub'] });
  try {
    mkdirSync(join(root, 'repository'));
    const repository = makeRepository(
      join(root, 'repository'),
      Object.fromEntries(names.map((name) => [name, objects])),
    );
    const { hub } = started.servers;
    await prepareHub(hub);
    const { access } = hub;
    const credentials = { certData: new SecretValue(access.cert ?? ''), keyData: new SecretValue(access.key ?? '') };
    const replica = await startReplica({ server: hub.url, insecure: false, caData: hub.ca, credentials }, root);
    try {
      const seen = hub.audit().length;
      const serverBefore = cpuMs(hub);
      const first = await measureUsage(async () => {
        await forEachName(names, (name) =>
          hub.api.create(applicationsPath, applicationOf({ name, repository, namespace: 'apps' }, hub.url)),
        );
        await waitUntilSynced(hub.api, replica, size);
      });
      const serverCpuMs = cpuMs(hub) - serverBefore;
      const ours = hub
        .audit()
        .slice(seen)
        .filter(({ userAgent }) => userAgent?.startsWith('bench') === true);
      const writes = ours.filter(({ verb }) => ['create', 'patch', 'update', 'delete'].includes(verb));
      const of = (resources: readonly string[]): number =>
        writes.filter(({ objectRef }) => resources.includes(objectRef?.resource ?? '')).length;
      return {
        real_first_sync_seconds: (first.wallMs - quietMs) / 1000,
        real_first_sync_cpu_seconds: first.cpuMs / 1000,
        real_first_sync_server_cpu_seconds: serverCpuMs / 1000,
        real_first_sync_cpu_to_server_cpu_ratio: first.cpuMs / serverCpuMs,
        real_first_sync_status_writes_per_application_count: of(['applications']) / size,
        real_first_sync_writes_per_object_count: of(['configmaps', 'services', 'deployments']) / (size * objects),
      };
    } finally {
      await replica.stop();
    }
  } finally {
    await started.close();
    rmSync(root, { recursive: true, force: true });
  }
}

async function prepareHub({ api, url, ca, access }: Server): Promise<void> {
  const base64 = (text = ''): string => Buffer.from(text).toString('base64');
  const tlsClientConfig = { caData: base64(ca), certData: base64(access.cert), keyData: base64(access.key) };
  for (const definition of readArgoCrds())
    await api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  for (const name of ['argocd', 'apps'])
    await api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await api.create('/api/v1/namespaces/argocd/secrets', clusterSecret(url, { tlsClientConfig }));
  const projects = '/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects';
  // The resource is not served yet, or its storage is still being created.
  while ((await api.exchange({ method: 'GET', path: projects })).status !== 200) await systemClock.sleep(100);
  await api.create(projects, openProject());
}

async function forEachName(names: readonly string[], work: (name: string) => Promise<unknown>): Promise<void> {
  const limiter = new ConcurrencyLimiter(8);
  const { signal } = newAbortController();
  await Promise.all(names.map((name) => limiter.run(signal, () => work(name))));
}

/**
 * Counts passes instead of listing Applications, which would load the measured server.
 * @throws Error on timeout
 */
async function waitUntilSynced(api: ApiClient, replica: BenchReplica, size: number): Promise<void> {
  const until = systemClock.monotonic() + syncTimeoutMs;
  for (;;) {
    for (let last = -1; last !== replica.passes() || last < size;) {
      if (systemClock.monotonic() > until) throw new Error('the Applications are not synced');
      last = replica.passes();
      await systemClock.sleep(quietMs);
    }
    const found = await api.list<KubeObject & { readonly status?: ApplicationStatusPart }>(applicationsPath);
    const done = found.filter(({ status }) => status?.sync?.status === 'Synced' && isOver(status));
    if (done.length === size) return;
  }
}

interface ApplicationStatusPart {
  readonly sync?: { readonly status?: string };
  readonly operationState?: { readonly phase?: string };
}

function isOver({ operationState }: ApplicationStatusPart): boolean {
  return operationState?.phase === 'Succeeded';
}

/** User and system time of the API server since its start, from ticks of 10 ms. */
function cpuMs(server: Server): number {
  const text = readFileSync(`/proc/${server.pid('apiserver') ?? 0}/stat`, 'utf8');
  // After the name, which may contain anything: the state, then 10 other fields.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
