import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { answerWith, before, noon, runningSync as sync } from '../testing/explained-application.ts';
import type { Application, ApplicationOperation, Condition, OperationResource } from '../application-types.ts';
import type { Degradation } from '../types.ts';
import type { VerdictCause } from './causes.ts';
import { attentionOf } from './verdict.ts';
import type { VerdictTerms } from './verdict.ts';

interface Situation {
  readonly what: string;
  readonly app?: Partial<Application>;
  readonly terms?: Partial<VerdictTerms>;
  readonly cause: VerdictCause;
  /** Parts of the reason and of the next step. */
  readonly reason?: string;
  readonly next?: string;
}

const target = 'Failed to load target state: failed to generate manifest for source 1 of 1: ';
const rpc = 'rpc error: code = Unknown desc = ';
const web = { group: 'apps', kind: 'Deployment', namespace: 'web', name: 'web' };
const job = { group: 'batch', kind: 'Job', namespace: 'web', name: 'migrate' };
const widget = { group: 'example.com', kind: 'Widget', namespace: 'web', name: 'w' };

const condition = (type: string, message: string): Partial<Application> => ({
  sync: 'Unknown',
  conditions: [{ type, message, since: before(60) }],
});
const source = (message: string): Partial<Application> => condition('ComparisonError', target + rpc + message);
const spec = (message: string): Partial<Application> => condition('InvalidSpecError', message);

const failure = (message: string, ref = web, more: Partial<OperationResource> = {}): OperationResource => ({
  ...ref,
  status: 'SyncFailed',
  message,
  ...more,
});
const failed = (result: OperationResource, message = 'one or more tasks failed'): Partial<Application> => ({
  operation: 'Failed',
  sync: 'OutOfSync',
  lastOperation: { ...sync, phase: 'Failed', finishedAt: before(5), message, resources: [result] },
});
const retrying = (result: OperationResource): Partial<Application> => ({
  operation: 'Running',
  sync: 'OutOfSync',
  health: 'Missing',
  lastOperation: {
    ...sync,
    retries: 2,
    retryLimit: 5,
    message: 'one or more tasks failed',
    blockedBy: { type: 'retry', message: 'one or more tasks failed', since: before(5), until: before(-30) },
    resources: [result],
  },
});
const blocked = (blockedBy: ApplicationOperation['blockedBy']): Partial<Application> => ({
  operation: 'Running',
  sync: 'OutOfSync',
  lastOperation: { ...sync, ...(blockedBy === undefined ? {} : { blockedBy }) },
});
const health = (status: string, message = ''): Partial<Application> => ({
  health: status,
  healthDetails: { status, message: '', decidedBy: { ...web, status, message } },
});
const part = (type: Degradation['type'], more: Partial<Degradation> = {}): Degradation => ({
  type,
  subject: 'its part',
  message: 'it is away',
  advice: 'repair it',
  ...more,
});
const drifted = (more: Partial<Application> = {}): Partial<Application> => ({ sync: 'OutOfSync', ...more });
const held = [{ name: 'window', passes: false, message: 'closed' }] as const;
const deleting: Partial<Application> = { isDeleting: true };
const gone: ApplicationOperation = { ...sync, type: 'deletion' };
const argo = { hasArgoServer: true };

const situations: readonly Situation[] = [
  { what: 'all is well', cause: 'fine' },
  { what: 'it was compared within a resync', app: { comparedAt: before(170) }, cause: 'fine' },
  {
    what: 'a new owner goes on from a fresh comparison',
    app: { comparedAt: before(100), ownership: { ...answerWith().application.ownership, since: before(10) } },
    cause: 'fine',
  },
  {
    what: 'an idle Application on a replica that does not own it',
    app: { comparedAt: before(9e5) },
    terms: { isStatusOnly: true },
    cause: 'fine',
  },
  {
    what: 'no resync, and nothing changed for long',
    app: { comparedAt: before(9e5) },
    terms: { resyncMs: 0 },
    cause: 'fine',
  },
  { what: 'a kind that is polled', app: { degraded: [part('kind', { effect: 'none' })] }, cause: 'fine' },
  {
    what: 'no replica',
    app: { owner: '' },
    cause: 'no-owner',
    reason: 'no replica holds shard 1',
    next: 'driftless shards',
  },
  {
    what: 'no replica for a pinned cluster',
    app: { owner: '', ownership: { ...answerWith().application.ownership, pinnedTo: 1 } },
    cause: 'no-owner',
    reason: 'to which its cluster Secret pins it',
    next: 'change shard in the cluster Secret',
  },
  {
    what: 'no replica, by its condition',
    app: condition('UnownedClusterWarning', 'No replica owns it'),
    cause: 'no-owner',
  },
  {
    what: 'a bad setting',
    app: condition('SettingsError', 'argocd-cm x cannot be read'),
    cause: 'settings',
    next: 'edit configmap argocd-cm',
  },
  {
    what: 'a bad path',
    app: source('Manifest generation error (cached): shop/web: app path does not exist'),
    cause: 'path',
    reason: 'shop/web: app path does not exist',
    next: 'Correct path',
  },
  { what: 'a path that is a file', app: source('x: app path is not a directory'), cause: 'path' },
  {
    what: 'a revision that does not exist',
    app: source("unable to resolve 'v9' to a commit SHA: revision not found"),
    cause: 'revision',
    reason: "unable to resolve 'v9'",
    next: 'targetRevision',
  },
  {
    what: 'YAML that cannot be read',
    app: source('Failed to unmarshal "a.yaml": document 1: line 4'),
    cause: 'manifest',
    reason: 'Failed to unmarshal "a.yaml"',
    next: 'Correct the file',
  },
  {
    what: 'a chart that cannot be rendered',
    app: source('`helm template .` failed exit status 1: nil pointer'),
    cause: 'rendering',
    next: 'driftless manifests',
  },
  {
    what: 'helm is not installed',
    app: source('helm is not installed on this machine'),
    cause: 'renderer',
    next: 'The source is not at fault',
  },
  {
    what: 'an unsigned commit',
    app: source('GIT/GPG: Failed verifying revision aaa'),
    cause: 'signature',
    next: 'Sign the commit',
  },
  {
    what: 'wrong credentials',
    app: source('failed to authenticate to git repository'),
    cause: 'credentials',
    next: 'repository Secret',
  },
  {
    what: 'a repository that does not exist',
    app: source('failed to list refs: repository not found'),
    cause: 'credentials',
  },
  { what: 'a repository without a route', app: source('cannot reach https://git: no route'), cause: 'repository' },
  {
    what: 'an error of a repository that fails, in words that are unknown',
    app: { ...source('the dog ate it'), degraded: [part('repository')] },
    cause: 'repository',
    reason: 'the dog ate it',
  },
  {
    what: 'one of several sources',
    app: condition(
      'ComparisonError',
      `Failed to load target state: failed to generate manifest for source 2 of 3: ${rpc}x: app path does not exist`,
    ),
    cause: 'path',
    reason: 'source 2 of 3: x: app path does not exist',
  },
  {
    what: 'a project that does not exist',
    app: spec('Application referencing project shop which does not exist'),
    cause: 'project',
    next: 'Create AppProject default',
  },
  {
    what: 'a namespace that the project refuses',
    app: spec("application 'a' in namespace 'x' is not permitted to use project 'default'"),
    cause: 'project',
  },
  {
    what: 'a repository that the project refuses',
    app: spec("application repo https://git/x is not permitted in project 'default'"),
    cause: 'source-denied',
    next: 'spec.sourceRepos of AppProject default',
  },
  {
    what: 'a destination that the project refuses',
    app: spec(
      "application destination server 'https://dest' and namespace 'web' do not match any of the allowed destinations in project 'default'",
    ),
    cause: 'destination-denied',
    next: 'spec.destinations of AppProject default',
  },
  {
    what: 'a cluster that does not exist',
    app: spec('error getting cluster by name "prod": there are no clusters with this name'),
    cause: 'destination',
    next: 'Correct spec.destination',
  },
  {
    what: 'a destination with two addresses',
    app: spec("application destination can't have both name and server defined: a b"),
    cause: 'destination',
  },
  {
    what: 'a spec without a path',
    app: spec('spec.source.repoURL and either spec.source.path or spec.source.chart are required'),
    cause: 'spec',
    next: 'edit application guestbook',
  },
  {
    what: 'a cluster that does not answer',
    app: condition(
      'ComparisonError',
      'Failed to load live state: failed to sync cluster https://dest: failed to get server version: refused',
    ),
    cause: 'cluster',
    reason: 'failed to sync cluster https://dest',
    next: 'its cluster Secret',
  },
  {
    what: 'an unreachable cluster without a condition yet',
    app: { degraded: [part('cluster')] },
    cause: 'cluster',
    reason: 'it is away',
    next: 'repair it',
  },
  {
    what: 'a kind that it holds and nobody may list',
    app: { sync: 'Unknown', ...health('Missing'), degraded: [part('kind')] },
    cause: 'kind',
    reason: 'its part: it is away',
  },
  { what: 'a kind that was readable once', app: { degraded: [part('kind')] }, cause: 'kind' },
  {
    what: 'objects that cannot be read',
    app: condition('ComparisonError', 'Failed to load live state: widgets is forbidden (Widget w)'),
    cause: 'kind',
  },
  {
    what: 'a kind that it holds is still listed',
    app: { degraded: [part('kind', { effect: 'waiting' })] },
    cause: 'listing',
    next: 'repair it',
  },
  {
    what: 'its own fault before that of a part',
    app: { ...spec('x: is missing'), degraded: [part('repository')] },
    cause: 'spec',
    reason: 'x: is missing',
  },
  {
    what: 'a failed sync before a part',
    app: { ...failed(failure('denied by a webhook')), degraded: [part('repository')] },
    cause: 'object',
    reason: 'denied by a webhook',
  },
  {
    what: 'a degraded object before a part',
    app: { ...health('Degraded'), degraded: [part('repository')] },
    cause: 'degraded',
  },
  {
    what: 'a comparison that failed',
    app: condition('ComparisonError', 'no such thing'),
    cause: 'comparison',
    reason: 'ComparisonError: no such thing',
  },
  { what: 'it could not be compared', app: { sync: 'Unknown' }, cause: 'comparison' },
  {
    what: 'an error of another type',
    app: condition('UnknownError', 'it happened'),
    cause: 'error',
    reason: 'UnknownError: it happened',
  },
  {
    what: 'a sync with an object that is refused',
    app: failed(failure('field is immutable')),
    cause: 'object',
    reason: 'Deployment web/web: field is immutable',
    next: 'Correct Deployment web/web',
  },
  {
    what: 'a sync of a kind without a definition',
    app: failed(failure('The Kubernetes API could not find example.com/Widget for requested resource web/w', widget)),
    cause: 'kind-missing',
    next: 'Install the CustomResourceDefinition of Widget.example.com web/w',
  },
  {
    what: 'a sync of a kind that the project refuses',
    app: failed(failure('resource example.com:Widget is not permitted in project default.', widget)),
    cause: 'kind-denied',
    next: 'Permit the kind in AppProject default',
  },
  {
    what: 'a sync without rights',
    app: failed(failure('deployments.apps is forbidden: User "u" cannot create resource "deployments"')),
    cause: 'rights',
    next: 'Grant the right',
  },
  {
    what: 'a failing hook',
    app: failed(failure('BackoffLimitExceeded', job, { status: '', hookType: 'PreSync', hookPhase: 'Failed' })),
    cause: 'hook',
    reason: 'PreSync hook Job web/migrate: BackoffLimitExceeded',
    next: 'kubectl -n web logs job/migrate --all-containers',
  },
  {
    what: 'a sync that failed as a whole',
    app: {
      operation: 'Error',
      lastOperation: { ...sync, phase: 'Error', finishedAt: before(1), message: 'no sources' },
    },
    cause: 'operation',
    reason: 'the last sync ended with Error: no sources',
  },
  {
    what: 'a failed sync, with a server of Argo CD',
    app: failed(failure('x')),
    terms: argo,
    cause: 'object',
    next: 'argocd app sync guestbook',
  },
  {
    what: 'a failed sync, without one',
    app: failed(failure('x')),
    cause: 'object',
    next: 'driftless sync guestbook',
  },
  {
    what: 'a refusal by automated sync',
    app: drifted({ conditions: [{ type: 'SyncError', message: 'auto-sync will wipe out all resources' }] }),
    cause: 'operation',
    reason: 'auto-sync will wipe out',
  },
  {
    what: 'a rival',
    app: drifted({ conditions: [{ type: 'ContestedResourceWarning', message: 'hpa undoes it' }] }),
    cause: 'contested',
    next: 'ignoreDifferences',
  },
  {
    what: 'retries of a kind without a definition',
    app: retrying(failure('the server could not find the requested resource', widget)),
    cause: 'kind-missing',
    reason: 'retry 2 of the sync fails',
  },
  {
    what: 'retries of a kind that the project refuses',
    app: retrying(failure('resource a:B is not permitted in project p.', widget)),
    cause: 'kind-denied',
  },
  {
    what: 'retries of something else',
    app: retrying(failure('connection lost')),
    cause: 'retry',
    reason: 'retry 2 of 5, after: one or more tasks failed',
    next: 'before the retry',
  },
  {
    what: 'a degraded object',
    app: health('Degraded', 'no pods'),
    cause: 'degraded',
    reason: 'Deployment web/web is Degraded: no pods',
    next: 'kubectl -n web describe deployment web',
  },
  {
    what: 'an object that is missing after its sync',
    app: health('Missing'),
    cause: 'missing',
    next: 'creates it again',
  },
  { what: 'a deletion', app: deleting, cause: 'deleting' },
  {
    what: 'a deletion that a finalizer holds',
    app: { ...deleting, lastOperation: { ...gone, blockedBy: { type: 'finalizer', message: 'waiting for Widget w' } } },
    cause: 'deleting',
    reason: 'Widget w',
  },
  {
    what: 'a deletion that fails',
    app: { ...deleting, ...health('Degraded'), conditions: [{ type: 'DeletionError', message: 'hook failed' }] },
    cause: 'deletion',
    reason: 'hook failed',
  },
  {
    what: 'a full queue',
    app: {
      waiting: {
        what: 'a free worker',
        since: before(9),
        queue: { name: 'app_reconciliation_queue', workers: 1, depth: 4 },
      },
    },
    cause: 'queue',
    next: '--status-processors',
  },
  {
    what: 'a wave',
    app: blocked({ type: 'health', message: 'is Progressing', object: web }),
    cause: 'syncing',
    next: 'describe deployment web',
  },
  {
    what: 'a sync window that blocks',
    app: blocked({ type: 'window', message: 'closed', until: before(-60) }),
    cause: 'sync-blocked',
    next: 'spec.syncWindows of AppProject default',
  },
  { what: 'a sync that runs', app: blocked(undefined), cause: 'syncing' },
  { what: 'the first comparison', app: { sync: '', health: '' }, cause: 'first-comparison' },
  {
    what: 'automated sync is off',
    app: drifted({ isAutomated: false }),
    cause: 'sync-off',
    next: 'spec.syncPolicy.automated',
  },
  {
    what: 'automated sync that a window holds',
    app: drifted({ automatedSync: { decision: 'skip', reason: 'closed', checks: held } }),
    cause: 'sync-held',
  },
  {
    what: 'automated sync that waits',
    app: drifted({ automatedSync: { decision: 'wait', reason: 'its backoff', checks: [] } }),
    cause: 'syncing',
    reason: 'its backoff',
  },
  {
    what: 'missing objects before the first sync',
    app: drifted({ ...health('Missing'), isAutomated: false }),
    cause: 'sync-off',
  },
  { what: 'a rollout', app: health('Progressing', 'waiting'), cause: 'progressing' },
  { what: 'a suspended object', app: health('Suspended'), cause: 'suspended' },
  { what: 'another wait', app: { waiting: { what: 'its turn', since: before(9) } }, cause: 'other' },
  {
    what: 'an owner that does not answer',
    terms: { ownerSilent: 'timed out' },
    cause: 'owner-silent',
    reason: 'driftless-1, which does not answer: timed out',
    next: 'get pod driftless-1',
  },
  {
    what: 'a sync that an owner that does not answer has not begun',
    app: { operation: 'Running', waiting: { what: 'waiting for its first step', since: before(9) } },
    terms: { ownerSilent: 'timed out' },
    cause: 'owner-silent',
  },
  {
    what: 'a deletion that an owner that does not answer has to carry out',
    app: { isDeleting: true },
    terms: { ownerSilent: 'timed out' },
    cause: 'owner-silent',
  },
  {
    what: 'a broken one whose owner does not answer',
    app: health('Degraded'),
    terms: { ownerSilent: 'timed out' },
    cause: 'degraded',
  },
  {
    what: 'nothing was compared since a hand-over',
    app: { comparedAt: before(1300) },
    cause: 'stale',
    reason: 'none since driftless-1 took it up',
    next: 'driftless refresh guestbook',
  },
  {
    what: 'it was not compared for long',
    app: { comparedAt: before(600) },
    cause: 'stale',
    reason: 'older than two resyncs',
  },
];

const judged = ({ app, terms }: Pick<Situation, 'app' | 'terms'>): Application['verdict'] =>
  answerWith(app, terms).application.verdict;

describe('the verdict of each situation:', () => {
  it.each(situations)('$what', ({ app, terms, cause, reason = '', next = '' }) => {
    const verdict = judged(defined({ app, terms }));
    expect(verdict).toMatchObject({ cause });
    expect(verdict.reason ?? '').toContain(reason);
    expect(verdict.next ?? '').toContain(next);
    expect(verdict.verdict === 'healthy').toBe(cause === 'fine');
    expect(attentionOf(verdict) === undefined).toBe(cause === 'fine');
  });

  it('is one of at least 60, and every cause has one', async () => {
    const { verdictCauses } = await import('./causes.ts');
    expect(situations.length).toBeGreaterThanOrEqual(60);
    expect([...new Set(situations.map(({ cause }) => cause))].sort()).toEqual(Object.keys(verdictCauses).sort());
  });
});

function defined(given: { readonly [K in keyof Situation]?: Situation[K] | undefined }): Pick<
  Situation,
  'app' | 'terms'
> {
  const { app, terms } = given;
  return { ...(app === undefined ? {} : { app }), ...(terms === undefined ? {} : { terms }) };
}

it('says how old it is, and who states it', () => {
  expect(judged({})).toMatchObject({ comparedAt: before(3), source: 'owner', by: 'driftless-1' });
  const ownership = { ...answerWith().application.ownership, since: before(1) };
  expect(judged({ app: { ownership } })).toMatchObject({ source: 'former-owner' });
  expect(judged({ terms: { ownerSilent: 'x' } })).not.toHaveProperty('by');
});

it('gives no command with a name that no API server has accepted', () => {
  const evil = { ...job, name: '$(reboot)' };
  const { next = '' } = judged({
    app: failed(failure('x', evil, { status: '', hookType: 'Sync', hookPhase: 'Failed' })),
  });
  expect(next).not.toContain('logs job/$(reboot)');
});

it('the printed sync names the namespace wherever the command would look into another one', () => {
  const next = (namespace: string, controllerNamespace: string): string =>
    judged({ app: drifted({ isAutomated: false, namespace }), terms: { controllerNamespace } }).next ?? '';
  expect(next('argocd', 'argocd')).toContain('driftless sync guestbook;');
  expect(next('team-a', 'argocd')).toContain('driftless sync team-a/guestbook;');
  expect(next('gitops', 'gitops')).toContain('driftless sync gitops/guestbook;');
});

describe('the order of facts', () => {
  const conditions: readonly Condition[] = [
    { type: 'ComparisonError', message: `${target}${rpc}x: app path does not exist` },
    { type: 'InvalidSpecError', message: 'Application referencing project shop which does not exist' },
    { type: 'SyncError', message: 'Failed last sync attempt' },
    { type: 'OrphanedResourceWarning', message: 'Application has 3 orphaned resources' },
  ];

  it('of conditions changes nothing', () => {
    const orders = fc.shuffledSubarray([...conditions], { minLength: conditions.length });
    fc.assert(
      fc.property(orders, (shuffled) => {
        expect(judged({ app: { sync: 'Unknown', conditions: shuffled } })).toMatchObject({ cause: 'project' });
      }),
    );
  });

  it('and any facts give one verdict, with a reason unless it is fine', () => {
    const any = fc.record(
      {
        owner: fc.constantFrom('', 'driftless-1'),
        sync: fc.constantFrom<Application['sync']>('Synced', 'OutOfSync', 'Unknown', ''),
        health: fc.constantFrom('', 'Healthy', 'Progressing', 'Degraded', 'Missing', 'Suspended', 'Unknown'),
        operation: fc.constantFrom('', 'Running', 'Failed', 'Error', 'Succeeded', 'Terminating'),
        isAutomated: fc.boolean(),
        isDeleting: fc.boolean(),
        conditions: fc.shuffledSubarray([...conditions]),
        comparedAt: fc.constantFrom(noon, before(1e6), 'nonsense'),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(any, (app) => {
        const { verdict, reason = '', cause } = judged({ app });
        expect(reason === '').toBe(verdict === 'healthy');
        expect(cause === 'fine').toBe(verdict === 'healthy');
        const isPlain = app.health === undefined || app.health === 'Healthy' || app.health === '';
        if (verdict === 'healthy') expect(isPlain).toBe(true);
      }),
    );
  });
});
