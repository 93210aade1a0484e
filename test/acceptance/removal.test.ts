import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Application } from '#model';
import { config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

const automated = (...syncOptions: string[]): object => ({
  syncPolicy: { automated: { selfHeal: true }, syncOptions },
});
const serverSideDiff = { annotations: { 'argocd.argoproj.io/compare-options': 'ServerSideDiff=true' } };

const twoKeys = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { a: "1", b: "2" }\n';
const oneKey = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { a: "1" }\n';
const policy = (ingress: string): string => `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: p }
spec:
  podSelector: {}
${ingress}`;
const openPolicy = policy('  ingress: [{}]\n');
const closedPolicy = policy('');
const web = (more: string): string => `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 0
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers: [{ name: web, image: "nginx:1" }${more}
`;
const withSidecar = web(
  ', { name: side, image: "busybox:1" }]\n      serviceAccountName: powerful\n      securityContext: { runAsUser: 0 }\n      hostNetwork: true',
);
const plain = web(']');

/** Commits what loses fields, and waits until nothing of it is left. */
async function dropped(name: string): Promise<void> {
  repo.commit({ 'app/a.yaml': oneKey, 'app/p.yaml': closedPolicy, 'app/web.yaml': plain });
  world.refresh(name, 'hard');
  await world.until(
    name,
    (app) => {
      synced(app);
      expect(world.live('', 'ConfigMap', 'a')?.['data']).toEqual({ a: '1' });
      expect(world.live('networking.k8s.io', 'NetworkPolicy', 'p')?.['spec']).not.toHaveProperty('ingress');
      const pods = JSON.stringify(world.live('apps', 'Deployment', 'web')?.['spec']);
      for (const gone of ['side', 'powerful', 'runAsUser', 'hostNetwork']) expect(pods).not.toContain(gone);
    },
    60_000,
  );
}

const full = { 'app/a.yaml': twoKeys, 'app/p.yaml': openPolicy, 'app/web.yaml': withSidecar };

describe('what Git drops', () => {
  it.each([
    ['client-side', []],
    ['server-side', ['ServerSideApply=true']],
    ['by Replace', ['Replace=true']],
  ])('leaves the cluster when applied %s, and compared by server-side diff', async (_how, options) => {
    repo.commit(full);
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated(...options) }, serverSideDiff);
    await world.until('demo', synced, 60_000);
    await dropped('demo');
  });

  it.each([
    ['server-side to client-side apply', 'ServerSideApply=true', undefined],
    ['Replace to client-side apply', 'Replace=true', undefined],
    ['client-side to server-side apply', undefined, 'ServerSideApply=true'],
    ['Replace to server-side apply', 'Replace=true', 'ServerSideApply=true'],
    ['server-side apply to Replace', 'ServerSideApply=true', 'Replace=true'],
  ])('leaves the cluster after the switch from %s', async (_what, before, after) => {
    repo.commit(full);
    await world.replica();
    const options = (option: string | undefined): object => automated(...(option === undefined ? [] : [option]));
    world.application('demo', { ...repo.source(), ...options(before) });
    await world.until('demo', synced, 60_000);
    world.edit('demo', (app) => Object.assign((app as unknown as { spec: object }).spec, options(after)));
    await dropped('demo');
  });

  it('leaves the cluster as a key of stringData', async () => {
    const secret = (data: string): string =>
      `apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: ${data}\n`;
    repo.commit({ 'app/s.yaml': secret('{ a: x, b: z }') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated() });
    await world.until('demo', synced, 60_000);
    repo.commit({ 'app/s.yaml': secret('{ a: x }') });
    world.refresh('demo');
    const isGone = (app: Application): void => {
      synced(app);
      expect(Object.keys((world.live('', 'Secret', 's')?.['data'] ?? {}) as object)).toEqual(['a']);
    };
    await world.until('demo', isGone, 60_000);
  });
});

describe('a change that the API server refuses', () => {
  it('is OutOfSync with the reason, stops no sync of others, and is made by Force', async () => {
    const job = (command: string): string => `apiVersion: batch/v1
kind: Job
metadata: { name: j, annotations: { argocd.argoproj.io/sync-options: "Force=true,Replace=true" } }
spec:
  template:
    spec: { restartPolicy: Never, containers: [{ name: main, image: "busybox:1", command: [${command}] }] }
`;
    repo.commit({ 'app/a.yaml': config('a'), 'app/j.yaml': job('first') });
    await world.replica();
    world.application('demo', { ...repo.source() }, serverSideDiff);
    world.sync('demo');
    await world.until('demo', synced, 60_000);
    const { uid } = world.live('batch', 'Job', 'j')?.metadata ?? {};
    repo.commit({ 'app/a.yaml': config('a', '2'), 'app/j.yaml': job('second') });
    world.refresh('demo');
    await world.until('demo', (app) => {
      const of = (name: string): unknown => app.status?.resources?.find((one) => one.name === name)?.status;
      expect([of('a'), of('j')]).toEqual(['OutOfSync', 'OutOfSync']);
      const [warning] = (app.status?.conditions ?? []).filter(({ type }) => type === 'RefusedChangeWarning');
      expect(warning?.message).toMatch(/^Job\/apps\/j differs .* field is immutable/);
      expect((app.status?.conditions ?? []).map(({ type }) => type)).toEqual(['RefusedChangeWarning']);
    });

    world.sync('demo', { resources: [{ kind: 'ConfigMap', name: 'a' }] });
    await world.until('demo', (app) => {
      expect(app.status?.operationState?.phase).toBe('Succeeded');
      expect(world.live('', 'ConfigMap', 'a')).toMatchObject({ data: { key: '2' } });
    });
    world.sync('demo');
    await world.until('demo', synced, 60_000);
    expect(world.live('batch', 'Job', 'j')?.metadata.uid).not.toBe(uid);
  });
});

describe('several items of one key', () => {
  it('are named by a condition, and the Application is synced', async () => {
    const twice = web('').replace(
      'image: "nginx:1" }',
      'image: "nginx:1", env: [{ name: B, value: "1" }, { name: C, value: "3" }, { name: B, value: "2" }] }]',
    );
    repo.commit({ 'app/web.yaml': twice, 'app/a.yaml': config('a') });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated() });
    const app = await world.until('demo', synced, 60_000);
    expect(app.status?.conditions).toEqual([
      expect.objectContaining({
        type: 'RepeatedItemWarning',
        message: expect.stringContaining(
          'Deployment/apps/web has several items of one key: spec.template.spec.containers[0].env[name=B]',
        ),
      }),
    ]);
    expect(world.live('apps', 'Deployment', 'web')?.['spec']).toMatchObject({
      template: { spec: { containers: [{ env: [{ name: 'C' }, { name: 'B', value: '2' }] }] } },
    });
  });
});
