import { beforeEach, describe, expect, it } from '@jest/globals';
import { newAbortController } from '#base';
import { KubeConnectionError } from '#kube';
import { appKeyOf } from '#model';
import type { Application } from '#model';
import { automated, configMap, server } from '../testing/fake-world.ts';
import { cascade, hook } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();

const first = 'a'.repeat(40);

const writes = (): number => at.world.writes().length;

describe('a deletion', () => {
  const all = [
    cascade,
    'pre-delete-finalizer.argocd.argoproj.io',
    'pre-delete-finalizer.argocd.argoproj.io/cleanup',
    'post-delete-finalizer.argocd.argoproj.io',
    'post-delete-finalizer.argocd.argoproj.io/cleanup',
  ];
  const deletionErrors = (): readonly string[] =>
    (at.world.app.status?.conditions ?? [])
      .filter(({ type }) => type === 'DeletionError')
      .map(({ message }) => message);

  beforeEach(() => at.world.git.push(first, [configMap('one')]));

  const leave = { 'driftless.io/leave-resources': 'true' };
  const leftBehind =
    'The destination cluster cannot be resolved: the application is deleted and its resources are left behind';
  const events = (): readonly unknown[] =>
    [...at.world.hub.objects.values()].filter(({ kind }) => kind === 'Event').map((event) => event['message']);

  // T-DEL-1
  it.each([[all], [[cascade]], [all.slice(3)], [all.slice(4)]])(
    'waits without the Secret of its cluster, with the finalizers %j, until a user leaves its resources behind',
    async (finalizers) => {
      at.world.application(automated);
      await at.start();
      at.world.known = false;
      at.setDeleting(finalizers);
      const before = writes();
      await at.pass(600);
      expect(deletionErrors()).toEqual([
        'The destination cluster cannot be resolved: error getting cluster by server "https://dest". ' +
          '1 resource of its last comparison may still exist there. Repair the Secret or the destination. ' +
          'To delete the Application and leave such resources behind, set its annotation driftless.io/leave-resources: "true"',
      ]);
      expect(writes() - before).toBeLessThanOrEqual(2);
      at.world.annotate(leave);
      await at.pass(10);
      expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
      expect(at.names()).toEqual(['one']);
      expect(events()).toContain(leftBehind);
    },
  );

  it.each([1, 20])('deletes its resources when its Secret is back after %d s', async (seconds) => {
    at.world.application(automated);
    await at.start();
    at.world.known = false;
    at.setDeleting([cascade]);
    await at.pass(seconds);
    at.world.known = true;
    await at.pass(20);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    expect(at.names()).toEqual([]);
  });

  it('names the Secret that hides its cluster', async () => {
    at.world.application(automated);
    await at.start();
    at.world.known = false;
    at.world.claim = 'Secret argocd/dest cannot be read: the key "config" is not valid JSON';
    at.setDeleting([cascade]);
    await at.pass(10);
    expect(deletionErrors()).toEqual([expect.stringContaining(`"https://dest"; ${at.world.claim}. 1 resource of`)]);
  });

  it('of an Application that has no resources ends when nothing has claimed its cluster for two leases', async () => {
    at.world.known = false;
    at.world.claim = 'Secret argocd/dest cannot be read: the key "config" is not valid JSON';
    at.world.application(automated, { metadata: { name: 'demo', namespace: 'argocd', finalizers: [cascade] } });
    await at.start();
    at.world.hub.delete('Application', 'demo');
    await at.pass(60);
    expect(deletionErrors()).toEqual([expect.stringContaining('Resources may still exist there.')]);
    at.world.claim = undefined;
    await at.pass(25);
    at.world.claim = 'Secret argocd/other cannot be read: the key "server" is missing or empty';
    await at.pass(10);
    at.world.claim = undefined;
    await at.pass(30);
    expect(at.world.hub.get('Application', 'demo')).toMatchObject({ kind: 'Application' });
    await at.pass(15);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    expect(events()).toContain(leftBehind);
  });

  const refused = (): never => {
    throw new KubeConnectionError(server, 'connection refused', new Error('ECONNREFUSED'));
  };
  // T-DEL-2
  it.each<[string, string, () => void, () => void]>([
    [
      'that refuses connections',
      'cannot reach https://dest: connection refused',
      () => (answers = false),
      () => (answers = true),
    ],
    [
      'that never answered',
      'failed to sync cluster https://dest: failed to get server version: refused',
      () => (at.world.dest.unreachable = 'failed to get server version: refused'),
      () => (at.world.dest.unreachable = undefined),
    ],
    [
      'whose cache is never filled',
      'waiting for the cache of cluster https://dest to fill for more than five minutes',
      () => (at.world.ready = false),
      () => (at.world.ready = true),
    ],
  ])(
    'on a cluster %s is reported once with advice, and continues when it answers',
    async (_name, why, leave, comeBack) => {
      answers = true;
      at.world.application(automated);
      await at.start({ dest: { before: () => (answers ? undefined : refused()) } });
      expect(at.names()).toEqual(['one']);
      leave();
      at.setDeleting([cascade]);
      const before = writes();
      await at.clock.advance(900_000);
      expect(deletionErrors()).toEqual([expect.stringContaining(why)]);
      expect(deletionErrors()[0]).toContain(
        'Removing its finalizers deletes the Application immediately and leaves its remaining resources behind.',
      );
      expect(writes() - before).toBeLessThanOrEqual(3);
      comeBack();
      await at.clock.advance(60_000);
      expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
      expect(at.names()).toEqual([]);
    },
  );
  let answers = true;

  // T-DEL-2
  it('on a cluster that never answers ends when a user removes the finalizers', async () => {
    answers = true;
    at.world.application(automated);
    await at.start({ dest: { before: () => (answers ? undefined : refused()) } });
    answers = false;
    at.setDeleting([cascade]);
    await at.clock.advance(60_000);
    at.world.edit((object) => ({ metadata: { ...object.metadata, finalizers: [] } }));
    await at.clock.advance(60_000);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    expect(at.names()).toEqual(['one']);
  });

  // T-DEL-3
  it('names a post-delete hook that does not end, and continues when it ends', async () => {
    const job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'farewell', annotations: hook('PostDelete') },
      spec: {},
    };
    at.world.git.push(first, [configMap('one'), job]);
    at.world.application(automated, { metadata: { name: 'demo', namespace: 'argocd', finalizers: [cascade] } });
    const { controller } = at.world.replica();
    await at.clock.advance(2000);
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(120_000);
    const what = 'waiting for the end of PostDelete hook(s) Job apps/farewell';
    // A hook may take time; a user who asks sees at once what the deletion waits for.
    expect(deletionErrors()).toEqual([]);
    const { signal } = newAbortController();
    expect(await controller.report.details(appKeyOf(at.world.app), signal)).toMatchObject({ waiting: { what } });
    await at.clock.advance(900_000);
    expect(deletionErrors()).toEqual([expect.stringContaining(`${what} for more than five minutes. `)]);
    expect(at.names()).toEqual(['farewell']);
    const done = { conditions: [{ type: 'Complete', status: 'True' }], succeeded: 1 };
    at.world.dest.put({ ...at.world.dest.get('Job', 'farewell')!, status: done });
    await at.clock.advance(30_000);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
  });

  // T-DEL-3
  it('names an object held by another finalizer, with that finalizer', async () => {
    at.world.application(automated);
    await at.start();
    const live = at.world.dest.get('ConfigMap', 'one')!;
    at.world.dest.put({ ...live, metadata: { ...live.metadata, finalizers: ['example.com/slow'] } });
    at.setDeleting([cascade]);
    await at.clock.advance(400_000);
    expect(deletionErrors()).toEqual([
      expect.stringContaining('waiting for the deletion of ConfigMap apps/one (finalizers: example.com/slow) for more'),
    ]);
  });

  it('counts five minutes from the begin of each reason', async () => {
    at.world.git.push(first, [configMap('one'), configMap('two')]);
    at.world.application(automated);
    await at.start();
    const hold = (name: string, finalizers: readonly string[]): void => {
      const live = at.world.dest.get('ConfigMap', name)!;
      at.world.dest.put({ ...live, metadata: { ...live.metadata, finalizers } });
    };
    for (const name of ['one', 'two']) hold(name, ['example.com/slow']);
    at.setDeleting([cascade]);
    await at.clock.advance(240_000);
    hold('one', []);
    await at.clock.advance(240_000);
    expect(deletionErrors()).toEqual([]);
    await at.clock.advance(120_000);
    expect(deletionErrors()).toEqual([expect.stringContaining('waiting for the deletion of ConfigMap apps/two')]);
  });

  it('whose finalizers the server adds again says so, and ends once it does not (argo-cd 20296)', async () => {
    at.world.application(automated);
    await at.start();
    const held = [cascade, 'example.com/other'];
    at.setDeleting(held);
    at.world.hub.admit = (object) =>
      object.kind === 'Application' ? { ...object, metadata: { ...object.metadata, finalizers: held } } : object;
    await at.clock.advance(30_000);
    expect([at.names(), deletionErrors()]).toEqual([
      [],
      [expect.stringMatching(/^the API server keeps the finalizers .*resources-finalizer/)],
    ]);
    at.world.hub.admit = (object) => object;
    await at.clock.advance(420_000);
    expect([at.world.app.metadata.finalizers, at.conditions()]).toEqual([
      ['example.com/other'],
      [expect.anything(), expect.stringMatching(/^WaitingWarning: .*finalizers of other controllers/)],
    ]);
  });

  const slow = (): void => {
    const live = at.world.dest.get('ConfigMap', 'one')!;
    at.world.dest.put({ ...live, metadata: { ...live.metadata, finalizers: ['example.com/slow'] } });
  };
  const held = [cascade, 'example.com/other'];
  const preDelete = 'pre-delete-finalizer.argocd.argoproj.io';
  // Each write of ours is an event, whose Application differs from the one that we wrote.
  it.each<[string, () => void, (app: Application) => Partial<Application>, RegExp | undefined, number]>([
    [
      'its finalizers',
      () => undefined,
      ({ metadata }) => ({ metadata: { ...metadata, finalizers: held } }),
      /^DeletionError: the API server keeps the finalizers .*: resources-finalizer/,
      70,
    ],
    [
      'a finalizer of an earlier step',
      () => undefined,
      ({ metadata }) => ({ metadata: { ...metadata, finalizers: [preDelete, 'example.com/other'] } }),
      /^DeletionError: the API server keeps the finalizers .*: pre-delete-finalizer/,
      70,
    ],
    [
      'the condition of a failed step away',
      () => (at.world.known = false),
      ({ status }) => ({ status: { ...status, conditions: [] } }),
      undefined,
      // A refresh that is due is tried once a second.
      1500,
    ],
    ['the condition of a wait away', slow, ({ status }) => ({ status: { ...status, conditions: [] } }), undefined, 300],
  ])('makes few attempts while a webhook changes %s at each write', async (_what, block, admit, condition, most) => {
    at.world.application(automated);
    await at.start();
    block();
    at.setDeleting(held);
    let stamps = 0;
    at.world.hub.admit = (object) => {
      if (object.kind !== 'Application') return object;
      stamps += 1;
      const changed = { ...object, ...admit(object as unknown as Application) };
      const annotations = { ...changed.metadata.annotations, 'example.com/stamp': String(stamps) };
      return { ...changed, metadata: { ...changed.metadata, annotations } } as typeof object;
    };
    await at.clock.advance(1_200_000);
    expect(stamps).toBeGreaterThan(15);
    expect(stamps).toBeLessThan(most);
    if (condition !== undefined) expect(at.conditions()).toContainEqual(expect.stringMatching(condition));
    at.world.hub.admit = (object) => object;
    at.world.known = true;
    const live = at.world.dest.get('ConfigMap', 'one');
    if (live !== undefined) at.world.dest.put({ ...live, metadata: { ...live.metadata, finalizers: [] } });
    await at.clock.advance(130_000);
    expect([at.names(), at.world.app.metadata.finalizers]).toEqual([[], ['example.com/other']]);
  });

  // T-DEL-3
  it('runs a hook of several types at each of them', async () => {
    at.world.git.push(first, [configMap('one'), configMap('both', '1', hook('PreDelete,PostDelete'))]);
    at.world.application(automated, { metadata: { name: 'demo', namespace: 'argocd', finalizers: [cascade] } });
    await at.start();
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(60_000);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    const order = at.world.dest.calls.filter((call) => /^(?:create ConfigMap both|delete ConfigMap one)$/.test(call));
    expect(order).toEqual(['create ConfigMap both', 'delete ConfigMap one', 'create ConfigMap both']);
  });
});
