import { afterEach, beforeEach, describe, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { automated, config, deployment } from '../objects.ts';
import { World } from '../world.ts';
import type { GitFixture } from '../world.ts';
import { expectScreen, head, testTimeoutMs } from './screen.ts';

const terminate = 'driftless terminate demo';
const sync = 'driftless sync demo';
let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

/** A Job whose image cannot be pulled, so that it never ends. */
const endlessHook = `apiVersion: batch/v1
kind: Job
metadata:
  name: before
  annotations: { argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: BeforeHookCreation }
spec:
  template:
    spec: { restartPolicy: Never, containers: [{ name: main, image: "busybox:does-not-exist" }] }
`;

/** A deny window that began two minutes ago and ends in a good hour. */
function denyNow(manualSync: boolean): { readonly schedule: string; readonly window: JsonObject } {
  const begin = new Date(Date.now() - 120_000);
  const schedule = `${begin.getUTCMinutes()} ${begin.getUTCHours()} * * *`;
  return { schedule, window: { kind: 'deny', schedule, duration: '70m', applications: ['*'], manualSync } };
}

function setWindow(window: JsonObject): void {
  const project = world.hub.store.get('argoproj.io', 'AppProject', 'argocd', 'default');
  if (project === undefined) throw new Error('no AppProject default');
  world.hub.store.update({ ...project, spec: { ...(project['spec'] as object), syncWindows: [window] } });
}

const missing = [
  'Differs      1 of 1 resource',
  '             ConfigMap apps/a is missing in the cluster',
  'Health       ConfigMap apps/a is Missing, since TIME (AGE)',
];

// T-OBS-1
describe('driftless explain says what holds', () => {
  it(
    'an automated sync: a window, until when, and that users may sync',
    async () => {
      repo.commit({ 'app/a.yaml': config('a') });
      const replica = await world.replica();
      const { schedule, window } = denyNow(true);
      setWindow(window);
      world.application('demo', { ...repo.source(), ...automated });
      const held = `a sync window of project default: deny "${schedule}" for 70m (a sync by a user is permitted), until TIME (in AGE)`;
      await expectScreen(world, replica, {
        code: 3,
        lines: [
          'Application argocd/demo: OutOfSync · Missing',
          `WAITING: ${held}`,
          'What to do   Wait, or change spec.syncWindows of AppProject default',
          ...head,
          ...missing,
          `Automation   automated sync did not start: ${held}`,
        ],
      });
    },
    testTimeoutMs,
  );

  it(
    'a sync by a user: a window, and until when',
    async () => {
      repo.commit({ 'app/a.yaml': config('a') });
      const replica = await world.replica();
      const { schedule, window } = denyNow(false);
      setWindow(window);
      world.application('demo', repo.source());
      world.sync('demo');
      const held = `a sync window of project default: deny "${schedule}" for 70m (also for syncs by users), since TIME (AGE), until TIME (in AGE)`;
      await expectScreen(world, replica, {
        code: 3,
        lines: [
          'Application argocd/demo: OutOfSync · Missing · operation Running',
          `WAITING: ${held}`,
          `What to do   Wait, or change spec.syncWindows of AppProject default; ${terminate} ends the sync`,
          ...head,
          ...missing,
          'Operation    sync by me: Running, for AGE',
          `             waits for ${held}`,
          'Automation   automated sync is switched off',
        ],
      });
    },
    testTimeoutMs,
  );

  it(
    'a sync whose hook never ends: the hook, its Pod and the reason',
    async () => {
      repo.commit({ 'app/a.yaml': config('a'), 'app/before.yaml': endlessHook });
      const replica = await world.replica();
      world.application('demo', { ...repo.source(), ...automated });
      const hook = 'completion of hook batch/Job/before, without a time limit, since TIME (AGE)';
      await expectScreen(world, replica, {
        code: 3,
        lines: [
          'Application argocd/demo: OutOfSync · Missing · operation Running',
          `WAITING: ${hook}`,
          `What to do   kubectl -n apps describe pod before-POD; ${terminate} ends the sync`,
          ...head,
          ...missing,
          'Operation    sync by automated sync: Running, for AGE, phase PreSync, wave 0',
          `             waits for ${hook}`,
          '               Pod apps/before-POD is Progressing: ImagePullBackOff',
        ],
      });
    },
    testTimeoutMs,
  );

  it(
    'a wave: the object that is not healthy, its Pod and the reason',
    async () => {
      repo.commit({
        'app/db.yaml': deployment('postgres:does-not-exist', { name: 'db', wave: 0 }),
        'app/web.yaml': deployment('nginx:1', { name: 'web', wave: 1 }),
      });
      const replica = await world.replica();
      world.application('demo', { ...repo.source(), ...automated });
      const health = 'healthy state of apps/Deployment/db, without a time limit, since TIME (AGE)';
      await expectScreen(world, replica, {
        code: 3,
        lines: [
          'Application argocd/demo: OutOfSync · Progressing · operation Running',
          `WAITING: ${health}`,
          `What to do   kubectl -n apps describe pod db-HASH-POD; ${terminate} ends the sync`,
          ...head,
          'Differs      1 of 2 resources',
          '             Deployment apps/web is missing in the cluster',
          'Health       Deployment apps/db is Progressing: Waiting for rollout to finish: 0 of 2 updated replicas are available..., since TIME (AGE)',
          '               Pod apps/db-HASH-POD is Degraded: Back-off pulling image',
          'Operation    sync by automated sync: Running, for AGE, phase Sync, wave 0',
          `             waits for ${health}`,
        ],
      });
    },
    testTimeoutMs,
  );

  it(
    'a retry: the failure, and when it is tried again',
    async () => {
      repo.commit({ 'app/a.yaml': config('a'), 'app/web.yaml': deployment() });
      const refused = { kind: 'status', code: 403, message: 'exceeded quota: compute' } as const;
      for (const verb of ['create', 'patch']) world.cluster.addFault({ verb, resource: 'deployments', fault: refused });
      const replica = await world.replica();
      const retry = { limit: 5, backoff: { duration: '2m', factor: 2, maxDuration: '10m' } };
      world.application('demo', { ...repo.source(), syncPolicy: { automated: {}, retry } });
      const failed =
        'retry 1 of 5, after: one or more synchronization tasks completed unsuccessfully, reason: exceeded quota: compute, since TIME (AGE), until TIME (in AGE)';
      await expectScreen(world, replica, {
        code: 3,
        lines: [
          'Application argocd/demo: OutOfSync · Healthy · operation Running',
          `WAITING: ${failed}`,
          `What to do   Correct the cause before the retry; ${terminate} ends the sync`,
          ...head,
          'Differs      1 of 2 resources',
          '             Deployment apps/web is missing in the cluster',
          'Operation    sync by automated sync: Running, for AGE, phase Sync',
          `             waits for ${failed}`,
          '               Deployment apps/web: SyncFailed Failed: exceeded quota: compute',
        ],
      });
    },
    testTimeoutMs,
  );

  it(
    'a sync that nobody starts: automated sync is switched off',
    async () => {
      repo.commit({ 'app/a.yaml': config('a') });
      const replica = await world.replica();
      world.application('demo', repo.source());
      await expectScreen(world, replica, {
        code: 3,
        lines: [
          'Application argocd/demo: OutOfSync · Missing',
          'WAITING: a sync by a user: automated sync is switched off',
          `What to do   Sync: ${sync}; or switch automated sync on: spec.syncPolicy.automated`,
          ...head,
          ...missing,
          'Automation   automated sync is switched off',
        ],
      });
    },
    testTimeoutMs,
  );
});
