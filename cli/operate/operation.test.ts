import { describe, expect, it } from '@jest/globals';
import type { Application } from '#model';
import { rollbackOperation, syncOperation, terminationOf } from './operation.ts';
import type { RollbackRequest, SyncRequest } from './operation.ts';

const source = { repoURL: 'https://git.example.com/shop.git', path: 'app', targetRevision: 'main' };
const running = { operation: {}, phase: 'Running', startedAt: '2026-11-28T12:00:00Z' };
const succeeded = { ...running, phase: 'Succeeded', finishedAt: '2026-11-28T12:00:03Z' };

function application(over: object = {}): Application {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { namespace: 'argocd', name: 'shop' },
    spec: { source, destination: { server: 'https://kubernetes.default.svc', namespace: 'shop' } },
    ...over,
  };
}

function spec(over: object): object {
  return { spec: { ...application().spec, ...over } };
}

const plain: SyncRequest = { revision: '', prune: false, dryRun: false, resources: [], username: 'jane' };
const back: RollbackRequest = { id: undefined, prune: false, dryRun: false, username: 'jane' };

describe('the operation of a sync', () => {
  it('has source, strategy, options, retry and initiator as those of the API server of Argo CD', () => {
    const retry = { limit: 3, backoff: { duration: '5s' } };
    const app = application(spec({ syncPolicy: { syncOptions: ['CreateNamespace=true'], retry } }));
    expect(syncOperation(app, { ...plain, revision: 'v2', prune: true, dryRun: true })).toEqual({
      sync: {
        revision: 'v2',
        prune: true,
        dryRun: true,
        syncStrategy: { hook: {} },
        source,
        syncOptions: ['CreateNamespace=true'],
      },
      initiatedBy: { username: 'jane' },
      retry,
    });
    expect(syncOperation(application(), { ...plain, username: '' })).toEqual({
      sync: { syncStrategy: { hook: {} }, source },
      initiatedBy: {},
      retry: {},
    });
  });

  it('has all sources of an Application with several, and takes no single revision', () => {
    const sources = [source, { ...source, path: 'other' }];
    const app = application({ spec: { sources, destination: {} } });
    expect(syncOperation(app, plain).sync).toEqual({ sources, syncStrategy: { hook: {} } });
    expect(() => syncOperation(app, { ...plain, revision: 'v2' })).toThrow(
      'Application argocd/shop has 2 sources, and --revision names one: change targetRevision of the source',
    );
  });

  it.each([
    ['another revision', 'v2', false, 'automated sync follows main, and would undo it'],
    ['its own revision', 'main', false, undefined],
    ['another revision as a dry run', 'v2', true, undefined],
  ])('of an Application with automated sync to %s', (_name, revision, dryRun, message) => {
    const app = application(spec({ syncPolicy: { automated: {} } }));
    const decide = (): unknown => syncOperation(app, { ...plain, revision, dryRun });
    if (message === undefined) expect(decide()).toMatchObject({ sync: { revision, ...(dryRun && { dryRun }) } });
    else expect(decide).toThrow(message);
  });

  it('names the resources that are chosen by group, kind, namespace and name', () => {
    const resources = [
      { version: 'v1', kind: 'Service', namespace: 'shop', name: 'web' },
      { group: 'apps', version: 'v1', kind: 'Deployment', namespace: 'shop', name: 'web' },
      { group: 'apps', version: 'v1', kind: 'Deployment', namespace: 'other', name: 'web' },
      { version: 'v1', kind: 'Namespace', name: 'shop' },
    ];
    const app = application({ status: { resources } });
    expect(syncOperation(app, plain).sync).not.toHaveProperty('resources');
    const chosen = (...texts: readonly string[]): unknown =>
      syncOperation(app, { ...plain, resources: texts }).sync?.resources?.map(
        ({ group = '', kind, namespace = '', name }) => `${group}:${kind}:${namespace}/${name}`,
      );
    expect(chosen('apps:Deployment:web')).toEqual(['apps:Deployment:shop/web', 'apps:Deployment:other/web']);
    expect(chosen('apps:Deployment:other/web')).toEqual(['apps:Deployment:other/web']);
    expect(chosen(':Namespace:shop', ':Service:web')).toEqual([':Service:shop/web', ':Namespace:/shop']);
    // argoproj/argo-cd#5811
    expect(chosen('apps:*:we*')).toEqual(['apps:Deployment:shop/web', 'apps:Deployment:other/web']);
    expect(chosen('*:*:*', '!apps:*:*')).toEqual([':Service:shop/web', ':Namespace:/shop']);
    // argoproj/argo-cd#17384
    expect(chosen('!:Namespace:shop', '!:Service:web')).toEqual([
      'apps:Deployment:shop/web',
      'apps:Deployment:other/web',
    ]);
  });

  // An operation without resources would sync all of them (argoproj/argo-cd#1205, #6583).
  it.each([
    ['apps:Deployment:wbe', 'has no resource apps:Deployment:wbe: did you mean apps:Deployment:web?'],
    ['!apps:Deployment:nobody-has-this', 'has no resource apps:Deployment:nobody-has-this'],
    [':Deployment:web', 'did you mean apps:Deployment:web?'],
    ['!*:*:*', '--resource leaves out every resource of Application argocd/shop'],
    ['apps/Deployment/web', '--resource must be GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME'],
    ['apps:Deployment:', '--resource must be GROUP:KIND:NAME'],
    ['apps:Deployment:a/b/c', '--resource must be GROUP:KIND:NAME'],
  ])('is refused for the resource %s', (text, message) => {
    const app = application({
      status: { resources: [{ group: 'apps', version: 'v1', kind: 'Deployment', namespace: 'shop', name: 'web' }] },
    });
    expect(() => syncOperation(app, { ...plain, resources: [text] })).toThrow(message);
  });

  it.each([
    ['a requested operation', { operation: { initiatedBy: { username: 'joe' } } }, 'a sync by joe, not begun yet'],
    [
      'a running operation',
      { operation: { initiatedBy: { automated: true } }, status: { operationState: running } },
      'a sync by automated sync, Running since 2026-11-28T12:00:00Z',
    ],
    [
      'an operation without its request',
      { status: { operationState: { ...running, phase: 'Terminating' } } },
      'Terminating',
    ],
  ])('is refused during %s', (_name, over, message) => {
    const expected = `another operation is already in progress for Application argocd/shop`;
    expect(() => syncOperation(application(over), plain)).toThrow(expected);
    expect(() => syncOperation(application(over), plain)).toThrow(message);
    expect(() => rollbackOperation(application(over), back)).toThrow(expected);
  });

  it('is refused for an Application that is being deleted', () => {
    const metadata = { ...application().metadata, deletionTimestamp: '2026-11-28T12:00:00Z' };
    expect(() => syncOperation(application({ metadata }), plain)).toThrow('Application argocd/shop is being deleted');
  });

  it.each([
    [
      { syncOptions: 'CreateNamespace=true' },
      'spec.syncPolicy.syncOptions of Application argocd/shop is not a list of texts',
    ],
    [{ syncOptions: [1] }, 'is not a list of texts'],
    [{ retry: 3 }, 'spec.syncPolicy.retry of Application argocd/shop is not an object'],
  ])('is refused for a sync policy with members of another type: %j', (syncPolicy, message) => {
    expect(() => syncOperation(application(spec({ syncPolicy })), plain)).toThrow(message);
  });
});

describe('the operation of a rollback', () => {
  const entry = (id: number, over: object = {}): object => ({
    id,
    revision: `sha${id}`,
    source: { ...source, path: `app${id}` },
    deployedAt: '2026-11-28T12:00:00Z',
    ...over,
  });

  it('has revision and source of the entry, and runs no hooks', () => {
    const app = application({ status: { history: [entry(3), entry(4), entry(5)], operationState: succeeded } });
    expect(rollbackOperation(app, { ...back, id: '3', prune: true })).toEqual({
      sync: { revision: 'sha3', prune: true, syncStrategy: { apply: {} }, source: { ...source, path: 'app3' } },
      initiatedBy: { username: 'jane' },
      retry: {},
    });
    expect(rollbackOperation(app, back).sync?.revision).toBe('sha4');
  });

  it('has sources and revisions of an entry with several', () => {
    const several = { revision: undefined, revisions: ['a', 'b'], source: { repoURL: '' }, sources: [source, source] };
    const app = application({ status: { history: [entry(0, several), entry(1)] } });
    expect(rollbackOperation(app, { ...back, id: '0' }).sync).toMatchObject({
      revisions: ['a', 'b'],
      sources: [source, source],
    });
  });

  it.each([
    ['9', [entry(0), entry(1)], 'has no deployment with ID 9: its history has 0, 1'],
    [undefined, [entry(0)], 'has no earlier deployment to roll back to: its history has 0'],
    [undefined, undefined, 'its history is empty'],
    ['0', [entry(0, { source: undefined })], 'has no source: sync to its revision instead, with --revision sha0'],
    ['first', [entry(0)], 'the ID of a history entry is a whole number, not "first"'],
    ['-1', [entry(0)], 'the ID of a history entry is a whole number, not "-1"'],
    ['0', 'none', 'status.history of Application argocd/shop is not a list of objects'],
  ])('to the entry %s is refused', (id, history, message) => {
    const app = application({ status: { history } });
    expect(() => rollbackOperation(app, { ...back, id })).toThrow(message);
  });

  it('is refused while automated sync is on, and permitted while it is switched off', () => {
    const status = { history: [entry(0), entry(1)] };
    const automated = (enabled?: boolean): Application =>
      application({ status, ...spec({ syncPolicy: { automated: { enabled } } }) });
    expect(() => rollbackOperation(automated(), back)).toThrow('automated sync would undo it');
    expect(rollbackOperation(automated(false), back).sync?.revision).toBe('sha0');
  });
});

describe('a termination', () => {
  it('ends an operation in flight, and withdraws one that nobody has begun', () => {
    expect(terminationOf(application({ operation: {}, status: { operationState: running } }))).toEqual({
      do: 'terminate',
    });
    expect(terminationOf(application({ operation: {}, status: { operationState: succeeded } }))).toEqual({
      do: 'withdraw',
    });
    expect(terminationOf(application({ operation: {} }))).toEqual({ do: 'withdraw' });
  });

  it('is refused without an operation', () => {
    expect(() => terminationOf(application({ status: { operationState: succeeded } }))).toThrow(
      'has no operation in progress, so there is none to terminate',
    );
  });
});
