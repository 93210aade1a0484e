import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ClusterInfo, KindState } from '#live';
import { inClusterServer } from '#model';
import { FakeClock } from '#support';
import { createLogger } from '#telemetry';
import { HubAccess } from './hub-access.ts';

const argo = '/apis/argoproj.io/v1alpha1';
const listApplications = {
  verb: 'list',
  kind: 'argoproj.io/Application',
  path: `${argo}/namespaces/argocd/applications?limit=500`,
};
const patchApplication = {
  verb: 'patch',
  kind: 'argoproj.io/Application',
  path: `${argo}/namespaces/argocd/applications/a`,
};
const updateShards = {
  verb: 'update',
  kind: 'ConfigMap',
  path: '/api/v1/namespaces/argocd/configmaps/argocd-app-controller-shard-cm',
};
const listKeys = {
  verb: 'list',
  kind: 'ConfigMap',
  path: '/api/v1/namespaces/argocd/configmaps?fieldSelector=metadata.name%3Dargocd-gpg-keys-cm',
};
type Request = typeof listApplications;

const byRbac = (verb: string): string =>
  `applications.argoproj.io "a" is forbidden: User "system:serviceaccount:argocd:driftless" cannot ${verb} resource "applications" in API group "argoproj.io" in the namespace "argocd"`;

describe('the rights on the hub', () => {
  let clock: FakeClock;
  let access: HubAccess;
  let logged: string[];
  beforeEach(() => {
    clock = new FakeClock();
    logged = [];
    const destination = { write: (line: string) => void logged.push(line) };
    const logger = createLogger({ level: 'info', format: 'json', destination });
    access = new HubAccess({ clock, logger, namespace: 'argocd' });
  });

  async function denyForAMinute(request: Request, message = byRbac(request.verb)): Promise<void> {
    for (let count = 0; count < 3; count += 1) {
      access.denied(request, message);
      await clock.advance(20_000);
    }
  }

  it.each<[string, Request, string]>([
    ['Applications', listApplications, 'list argoproj.io/Application in namespace argocd'],
    [
      'Secrets',
      { verb: 'watch', kind: 'Secret', path: '/api/v1/namespaces/argocd/secrets?watch=true' },
      'watch Secret in namespace argocd',
    ],
    [
      'Applications of all namespaces',
      { ...listApplications, path: `${argo}/applications` },
      'list argoproj.io/Application in all namespaces',
    ],
    ['writing Applications', patchApplication, 'patch argoproj.io/Application in namespace argocd'],
    ['a lease', updateShards, 'update ConfigMap argocd-app-controller-shard-cm in namespace argocd'],
  ])('are lost after a minute of denials: %s', async (_what, request, right) => {
    await denyForAMinute(request);
    expect(access.lost([])).toBe(
      `the hub denies the controller the right to ${right}: restore its Role or ClusterRole, and the binding`,
    );
  });

  it('are not lost by denials that last less than a minute, nor by a single one', async () => {
    access.denied(listApplications, byRbac('list'));
    await clock.advance(120_000);
    expect(access.lost([])).toBeUndefined();
    access.denied(listApplications, byRbac('list'));
    access.denied(patchApplication, byRbac('patch'));
    access.denied(patchApplication, byRbac('patch'));
    access.denied(patchApplication, byRbac('patch'));
    await clock.advance(59_000);
    expect(access.lost([])).toBeUndefined();
    await clock.advance(1_000);
    expect(access.lost([])).toContain('patch argoproj.io/Application');
  });

  it('return with the first success of the same right', async () => {
    await denyForAMinute(patchApplication);
    const record = { durationMs: 1, path: `${argo}/namespaces/argocd/applications/b`, kind: patchApplication.kind };
    access.answered({ ...record, verb: 'get', code: 200 });
    access.answered({ ...record, verb: 'patch', code: 404 });
    expect(access.lost([])).toContain('patch');
    access.answered({ ...record, verb: 'patch', code: 200 });
    expect(access.lost([])).toBeUndefined();
  });

  it('are logged once when they are lost, with the message of the server, and once when they return', async () => {
    await denyForAMinute(patchApplication);
    access.lost([]);
    access.lost([]);
    await clock.advance(15 * 60_000);
    access.lost([]);
    expect(logged).toHaveLength(2);
    expect(logged[0]).toContain('cannot patch resource');
    expect(logged[1]).toContain('has its rights on the hub again');
  });

  it('are not doubted any more when nothing was denied for fifteen minutes', async () => {
    await denyForAMinute(updateShards);
    await clock.advance(15 * 60_000);
    expect(access.lost([])).toBeUndefined();
  });

  it.each<[string, Request, string]>([
    [
      'admission',
      patchApplication,
      'admission webhook "policy.example.com" denied the request: applications need an owner',
    ],
    ['a quota', { ...updateShards, verb: 'create' }, 'configmaps "x" is forbidden: exceeded quota: q'],
    [
      'a namespace of Applications',
      { ...patchApplication, path: `${argo}/namespaces/team/applications/a` },
      byRbac('patch'),
    ],
    ['Events', { verb: 'create', kind: 'Event', path: '/api/v1/namespaces/argocd/events' }, byRbac('create')],
    ['the keys for signatures', listKeys, byRbac('list')],
  ])('are not lost by denials of %s', async (_what, request, message) => {
    await denyForAMinute(request, message);
    expect(access.lost([])).toBeUndefined();
  });

  const info = (...states: readonly KindState['state'][]): readonly ClusterInfo[] => [
    {
      server: inClusterServer,
      state: 'synced',
      resourcesCount: 0,
      apisCount: 0,
      eventsCount: 0,
      kinds: states.map((state, i) => ({ group: '', kind: `Kind${i}`, version: 'v1', state, objects: 0 })),
    },
  ];

  it('are lost when no kind of the in-cluster destination can be listed any more', async () => {
    expect(access.lost(info('synced', 'forbidden'))).toBeUndefined();
    expect(access.lost(info('forbidden', 'forbidden'))).toBeUndefined();
    await clock.advance(60_000);
    expect(access.lost(info('forbidden', 'forbidden'))).toContain('list the objects of this cluster');
    expect(access.lost(info('synced', 'forbidden'))).toBeUndefined();
  });

  it('are lost when the API server says so, though every watch goes on', async () => {
    access.reviewed(true);
    access.reviewed(false);
    await clock.advance(29_000);
    expect(access.lost(info('synced', 'synced'))).toBeUndefined();
    await clock.advance(1000);
    access.reviewed(false);
    expect(access.lost(info('synced', 'synced'))).toContain('list the objects of this cluster');
    expect(access.lost([])).toBeUndefined();
    access.reviewed(true);
    expect(access.lost(info('synced', 'synced'))).toBeUndefined();
  });

  it('are not lost if the API server never granted them, as in one namespace', async () => {
    access.reviewed(false);
    await clock.advance(60_000);
    access.reviewed(false);
    expect(access.lost(info('synced'))).toBeUndefined();
  });

  it('are lost although an aggregated API of the in-cluster destination is broken too', async () => {
    access.lost(info('synced', 'synced', 'degraded'));
    access.lost(info('forbidden', 'forbidden', 'degraded'));
    await clock.advance(60_000);
    expect(access.lost(info('forbidden', 'forbidden', 'degraded'))).toContain('list the objects of this cluster');
  });

  it('are not lost if the in-cluster destination cannot be reached', async () => {
    access.lost(info('synced', 'synced', 'forbidden'));
    access.lost(info('degraded', 'degraded', 'forbidden'));
    await clock.advance(60_000);
    expect(access.lost(info('degraded', 'degraded', 'forbidden'))).toBeUndefined();
  });

  it('are not lost if the in-cluster destination could never be listed', async () => {
    expect(access.lost(info('forbidden'))).toBeUndefined();
    await clock.advance(60_000);
    expect(access.lost(info('forbidden'))).toBeUndefined();
  });
});
