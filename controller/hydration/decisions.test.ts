import { describe, expect, it } from '@jest/globals';
import { asApplication } from '#model';
import type { Application, AppProject } from '#model';
import { removeRequestPatch } from '../application/refresh-annotation.ts';
import { hydrateAnnotation } from './hydrate-annotation.ts';
import { errorFor, hydrated, hydrating, hydrationFailed, hydrationStatusOf } from './hydration-status.ts';
import { hydratedApplication, hydrationKeyOf } from './hydrator-spec.ts';
import type { HydratedApplication } from './hydrator-spec.ts';
import { decideHydration, nextLookMs } from './needs-hydration.ts';
import { validateGroup } from './validate-group.ts';

const now = Date.parse('2026-01-01T00:10:00Z');
const minutesAgo = (minutes: number): string => new Date(now - minutes * 60_000).toISOString();
const spec = {
  drySource: { repoURL: 'https://git/dry', path: 'app', targetRevision: 'main' },
  syncSource: { targetBranch: 'env/prod', path: 'app' },
};

function application(
  sourceHydrator: object = spec,
  { status, annotations, name = 'demo' }: { status?: object; annotations?: Record<string, string>; name?: string } = {},
): Application {
  return asApplication({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace: 'argocd', ...(annotations === undefined ? {} : { annotations }) },
    spec: { project: 'default', destination: {}, sourceHydrator } as never,
    ...(status === undefined ? {} : { status: { sourceHydrator: status } as never }),
  });
}

function hydratedApp(...args: Parameters<typeof application>): HydratedApplication {
  const found = hydratedApplication(application(...args));
  if (found === undefined) throw new Error('no hydrator');
  return found;
}

describe('whether an Application is hydrated', () => {
  const done = { phase: 'Hydrated', message: '', sourceHydrator: spec };
  const failed = { ...done, phase: 'Failed', finishedAt: minutesAgo(1) };
  const hydrate = { 'argocd.argoproj.io/hydrate': 'normal' };
  it.each<[string, object | undefined, Record<string, string>, string, string]>([
    ['the first time', undefined, {}, 'hydrate', 'no previous hydrate operation'],
    [
      'not while it runs',
      { currentOperation: { ...done, phase: 'Hydrating', startedAt: minutesAgo(1) } },
      { 'argocd.argoproj.io/hydrate': 'hard' },
      'skip',
      'hydration operation already in progress',
    ],
    [
      'on a hard request',
      { currentOperation: done },
      { 'argocd.argoproj.io/hydrate': 'hard' },
      'hydrate',
      'hard hydrate requested',
    ],
    [
      'after a change of its spec',
      { currentOperation: { ...done, sourceHydrator: {} } },
      {},
      'hydrate',
      'spec.sourceHydrator differs',
    ],
    [
      'on a request after a failure',
      { currentOperation: failed },
      hydrate,
      'hydrate',
      'retrying previous failed hydration',
    ],
    [
      'two minutes after a failure',
      { currentOperation: { ...failed, finishedAt: minutesAgo(2.1) } },
      {},
      'hydrate',
      'previous hydrate operation failed more than 2 minutes ago',
    ],
    ['not soon after a failure', { currentOperation: failed }, {}, 'skip', 'previous hydrate operation failed'],
    ['if no revision was compared', { currentOperation: done }, {}, 'hydrate', 'new revision may have changes'],
  ])('%s', (_what, status, annotations, action, reason) => {
    const one = hydratedApp(spec, { ...(status === undefined ? {} : { status }), annotations });
    expect(decideHydration(one, { now, isRunning: true })).toMatchObject({ do: action, reason });
  });

  it('goes on if the process that hydrated is gone', () => {
    const one = hydratedApp(spec, { status: { currentOperation: { ...done, phase: 'Hydrating' } } });
    expect(decideHydration(one, { now, isRunning: false })).toEqual({
      do: 'hydrate',
      reason: 'hydration operation was interrupted',
    });
  });

  it.each([
    ['after a success', done],
    ['soon after a failure', { ...failed, drySHA: 'a1' }],
  ])('depends on the dry revision %s', (_what, currentOperation) => {
    const one = hydratedApp(spec, { status: { currentOperation, lastComparedDryRevision: 'a1' } });
    expect(decideHydration(one, { now, isRunning: true })).toEqual({ do: 'compare', last: 'a1' });
  });

  it('waits after a failure that has no dry revision, whatever was hydrated before', () => {
    const one = hydratedApp(spec, { status: { currentOperation: failed, lastComparedDryRevision: 'a1' } });
    expect(decideHydration(one, { now, isRunning: true })).toEqual({
      do: 'skip',
      reason: 'previous hydrate operation failed',
      inProgress: false,
    });
  });

  it('is looked at again after the resync, and after a failure once its pause is over', () => {
    expect(nextLookMs(hydratedApp(spec, { status: { currentOperation: done } }), { now, resyncMs: 180_000 })).toBe(
      180_000,
    );
    expect(nextLookMs(hydratedApp(spec, { status: { currentOperation: done } }), { now, resyncMs: 0 })).toBeUndefined();
    expect(nextLookMs(hydratedApp(spec, { status: { currentOperation: failed } }), { now, resyncMs: 0 })).toBe(61_000);
  });
});

describe('the group of an Application', () => {
  it('is that of its repositories, dry revision and destination branch', () => {
    const same = { ...spec, drySource: { ...spec.drySource, repoURL: 'https://GIT/dry.git', path: 'other' } };
    expect(hydrationKeyOf(hydratedApp(same))).toBe(hydrationKeyOf(hydratedApp()));
    for (const other of [
      { ...spec, drySource: { ...spec.drySource, targetRevision: 'v2' } },
      { ...spec, syncSource: { ...spec.syncSource, targetBranch: 'env/dev' } },
      { ...spec, syncSource: { ...spec.syncSource, repoURL: 'https://git/wet' } },
      { ...spec, hydrateTo: { targetBranch: 'env/prod-next' } },
    ])
      expect(hydrationKeyOf(hydratedApp(other))).not.toBe(hydrationKeyOf(hydratedApp()));
  });

  it('does not exist without a hydrator', () => {
    expect(hydratedApplication(application({ drySource: null }))).toBeDefined();
    expect(
      hydratedApplication(asApplication({ ...application(), spec: { destination: {} } } as never)),
    ).toBeUndefined();
  });
});

describe('validation of a group', () => {
  const project = (sourceRepos: readonly string[]): AppProject =>
    ({ metadata: { name: 'default' }, spec: { sourceRepos } }) as never;
  const errors = (one: object, project_: AppProject | { error: string } = project(['*'])): readonly string[] => {
    const app = hydratedApp(one);
    return [...validateGroup([app], [app], () => project_).values()];
  };
  const at = (path: string): object => ({ ...spec, syncSource: { ...spec.syncSource, path } });

  it.each<[string, object, AppProject | { error: string }, string]>([
    ['no project', spec, { error: 'gone' }, 'failed to get project "default": gone'],
    [
      'a dry repository',
      spec,
      project(['https://other']),
      "application repo https://git/dry is not permitted in project 'default'",
    ],
    [
      'a dry repository with a password, which is not shown',
      { ...spec, drySource: { ...spec.drySource, repoURL: 'https://u:secret@git/dry' } },
      project(['https://other']),
      "application repo https://git/dry is not permitted in project 'default'",
    ],
    [
      'a destination',
      { ...spec, syncSource: { ...spec.syncSource, repoURL: 'https://git/wet' } },
      project(['https://git/dry']),
      "destination repo https://git/wet is not permitted in project 'default'",
    ],
    [
      'a destination with dots, which leads to the branch of another team',
      { ...spec, syncSource: { ...spec.syncSource, repoURL: 'https://git/team-a/../team-b-deploy.git' } },
      project(['https://git/dry', 'https://git/team-a/**']),
      'destination repo "https://git/team-a/../team-b-deploy.git" is refused: its path has the segment ".."',
    ],
    [
      'a destination with a user that a pattern for hosts would match',
      { ...spec, syncSource: { ...spec.syncSource, repoURL: 'https://git.corp.@evil/x' } },
      project(['https://git/dry', 'https://git.*/x']),
      "destination repo https://evil/x is not permitted in project 'default'",
    ],
    [
      'the dry branch in another spelling',
      {
        ...spec,
        syncSource: { targetBranch: 'main', path: 'app', repoURL: 'HTTPS://u@GIT:443/%64ry.git/' },
      },
      project(['*']),
      'app is configured to hydrate to its own dry source (branch "main"): hydrate to another branch',
    ],
    [
      'the dry branch',
      { ...spec, syncSource: { targetBranch: 'main', path: 'app' } },
      project(['*']),
      'app is configured to hydrate to its own dry source (branch "main"): hydrate to another branch',
    ],
  ])('refuses %s', (_what, one, project_, expected) => {
    expect(errors(one, project_)).toEqual([expected]);
  });

  it.each(['', '.', './', '/', 'a/..', './/.'])('refuses the root of the repository as %j', (path) => {
    expect(errors(at(path))).toEqual([
      `app is configured to hydrate to the repository root (branch "env/prod", path ${JSON.stringify(path)}) which is not allowed`,
    ]);
  });

  it.each(['../x', 'a/../../b', '/abs', 'a/.git', '.GIT/hooks', 'a\\b', 'a\nb'])('refuses the path %j', (path) => {
    expect(errors(at(path))).toEqual([
      expect.stringContaining(`hydrate to the path ${JSON.stringify(path)}, which is not allowed`),
    ]);
  });

  it('refuses the younger of two Applications that write to one path, with the names of both', () => {
    const [a, b] = [hydratedApp(spec, { name: 'a' }), hydratedApp(at('./app/'), { name: 'b' })];
    const c = hydratedApp(at('c'), { name: 'c' });
    const found = validateGroup([a, b, c], [a, b, c], () => project(['*']));
    expect([...found]).toEqual([
      [
        'argocd/b',
        'app argocd/a hydrator uses the same destination: repo=https://git/dry, path=./app/; it is older and goes on, app argocd/b waits',
      ],
    ]);
    const two = new Map([
      ['argocd/a', 'x'],
      ['argocd/b', 'y'],
    ]);
    expect(errorFor('argocd/c', two)).toBe('cannot hydrate because application argocd/a and 1 more have errors');
    expect(errorFor('argocd/c', new Map([['argocd/a', 'x']]))).toBe(
      'cannot hydrate because application argocd/a has an error',
    );
  });

  it('finds the same path also in another group', () => {
    const other = {
      ...spec,
      drySource: { ...spec.drySource, repoURL: 'https://git/third' },
      syncSource: { ...spec.syncSource, repoURL: 'https://git/dry' },
    };
    const [a, b] = [hydratedApp(spec, { name: 'a' }), hydratedApp(other, { name: 'b' })];
    expect([...validateGroup([b], [a, b], () => project(['*'])).keys()]).toEqual(['argocd/b']);
    expect([...validateGroup([a], [a, b], () => project(['*'])).keys()]).toEqual([]);
  });

  it('prefers the older Application by its creation, not by its name', () => {
    const born = (name: string, creationTimestamp: string): ReturnType<typeof hydratedApp> => {
      const one = hydratedApp(spec, { name });
      return { ...one, app: { ...one.app, metadata: { ...one.app.metadata, creationTimestamp } } };
    };
    const [old, young] = [born('z', '2025-01-01T00:00:00Z'), born('a', '2026-01-01T00:00:00Z')];
    expect([...validateGroup([young, old], [young, old], () => project(['*'])).keys()]).toEqual(['argocd/a']);
  });

  it('is not changed by an Application that its project does not permit, however old', () => {
    const [mine, foreign] = [hydratedApp(spec, { name: 'z' }), hydratedApp(spec, { name: 'a' })];
    const projectOf = (app: typeof mine.app): AppProject | { error: string } =>
      app.metadata.name === 'z' ? project(['*']) : { error: 'gone' };
    expect([...validateGroup([mine], [mine, foreign], projectOf).keys()]).toEqual([]);
  });
});

describe('the status', () => {
  it('goes from Hydrating to Hydrated, and keeps the start', () => {
    const started = hydrating({}, spec, now);
    expect(started).toEqual({
      currentOperation: { startedAt: '2026-01-01T00:10:00Z', phase: 'Hydrating', message: '', sourceHydrator: spec },
    });
    expect(hydrating(started, spec, now + 60_000)).toBe(started);
    const ended = hydrated(started, { drySha: 'd', hydratedSha: 'h' }, now + 5000);
    const result = { drySHA: 'd', hydratedSHA: 'h', sourceHydrator: spec };
    expect(ended).toEqual({
      currentOperation: {
        startedAt: '2026-01-01T00:10:00Z',
        finishedAt: '2026-01-01T00:10:05Z',
        phase: 'Hydrated',
        message: '',
        ...result,
      },
      lastSuccessfulOperation: result,
      lastComparedDryRevision: 'd',
    });
    expect(hydrationStatusOf(application(spec, { status: ended }))).toEqual(ended);
  });

  it('keeps the last success when a hydration fails', () => {
    const before = hydrated(hydrating({}, spec, now), { drySha: 'd', hydratedSha: 'h' }, now);
    const after = hydrationFailed(hydrating(before, spec, now), 'no', { drySha: 'e', now });
    expect(after).toMatchObject({
      currentOperation: {
        phase: 'Failed',
        message: 'Failed to hydrate: no',
        drySHA: 'e',
        finishedAt: '2026-01-01T00:10:00Z',
      },
      lastSuccessfulOperation: { drySHA: 'd' },
      lastComparedDryRevision: 'e',
    });
    expect(hydrationFailed(before, 'no', { drySha: '', now }).lastComparedDryRevision).toBe('d');
  });

  it('of another shape counts as none', () => {
    expect(hydrationStatusOf(application(spec, { status: { currentOperation: { phase: 'x' } } }))).toEqual({});
    expect(hydrationStatusOf(application(spec, { status: [] as never }))).toEqual({});
  });
});

it('the annotation is removed only if it is still the same request', () => {
  const annotations = { 'argocd.argoproj.io/hydrate': 'hard', 'argocd.argoproj.io/hydrate-timestamp': 't1' };
  const asked = hydrateAnnotation(application(spec, { annotations }));
  expect(asked).toEqual({ type: 'hard', value: 'hard', timestamp: 't1' });
  const [path, timePath] = ['hydrate', 'hydrate-timestamp'].map(
    (name) => `/metadata/annotations/argocd.argoproj.io~1${name}`,
  );
  expect(asked === undefined ? [] : removeRequestPatch('hydrate', asked)).toEqual([
    { op: 'test', path, value: 'hard' },
    { op: 'test', path: timePath, value: 't1' },
    { op: 'remove', path: timePath },
    { op: 'remove', path },
  ]);
  expect(hydrateAnnotation(application())).toBeUndefined();
});
