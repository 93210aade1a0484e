import { DriftlessError } from '#base';
import { ManifestError, RepositoryError, RevisionNotFound, SourcePathError, ToolFailed } from '#desired';
import type { KubeObject } from '#model';
import { automated, configMap } from '../../../controller/testing/index.ts';
import type { TestStage } from '../../../controller/testing/index.ts';

/** An Application that does not work, and the row of docs/troubleshooting.md that describes it. */
export interface BrokenApplication {
  readonly what: string;
  readonly make: (at: TestStage) => void;
  /** The outcome of a write to the cluster. */
  readonly call?: (call: string) => void;
  readonly verdict: 'waiting' | 'broken';
  readonly cause: string;
  /** Parts of the reason and of the next step. */
  readonly reason: string;
  readonly next: string;
}

const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];
const refused = (message: string) => (call: string) => {
  if (call.endsWith('ConfigMap two')) throw new DriftlessError('X', message);
};

/** Pushes a commit with these objects, which automated sync applies. */
function push(at: TestStage, ...objects: readonly KubeObject[]): void {
  at.world.git.push(second, [configMap('one'), ...objects]);
}

function job(annotations: Readonly<Record<string, string>> = {}): KubeObject {
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'migrate', annotations }, spec: {} };
}

/** The Job fails as soon as it exists. */
function failJobs({ world }: TestStage): void {
  world.dest.onEvent(({ object }) => {
    if (object.kind !== 'Job' || 'status' in object) return;
    const conditions = [{ type: 'Failed', status: 'True', message: 'BackoffLimitExceeded' }];
    queueMicrotask(() => world.dest.put({ ...object, status: { conditions } }));
  });
}

function spec(at: TestStage, change: object): void {
  at.world.edit((object) => ({ spec: { ...(object['spec'] as object), ...change } }));
}

const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };

/** Twenty ways to break an Application that was Synced and Healthy before. */
export const brokenApplications: readonly BrokenApplication[] = [
  {
    what: 'a path that is not in Git',
    make: ({ world }) => (world.git.failure = new SourcePathError('shop/web: app path does not exist')),
    ...{ verdict: 'broken', cause: 'path', reason: 'shop/web: app path does not exist', next: 'Correct path' },
  },
  {
    what: 'a revision that is not in Git',
    make: ({ world }) => (world.git.failure = new RevisionNotFound('v9')),
    ...{ verdict: 'broken', cause: 'revision', reason: "unable to resolve 'v9'", next: 'Correct targetRevision' },
  },
  {
    what: 'YAML that cannot be read',
    make: ({ world }) => (world.git.failure = new ManifestError('Failed to unmarshal "a.yaml": document 1: line 4')),
    ...{ verdict: 'broken', cause: 'manifest', reason: 'Failed to unmarshal "a.yaml"', next: 'Correct the file' },
  },
  {
    what: 'a chart that helm refuses',
    make: ({ world }) => (world.git.failure = new ToolFailed('`helm template .` failed exit status 1: nil pointer')),
    ...{ verdict: 'broken', cause: 'rendering', reason: '`helm template .` failed', next: 'driftless manifests -f' },
  },
  {
    what: 'a repository that cannot be reached',
    make: ({ world }) => (world.git.failure = new RepositoryError('cannot reach https://git/x: connection refused')),
    ...{ verdict: 'broken', cause: 'repository', reason: 'cannot reach https://git/x', next: 'Check the URL' },
  },
  {
    what: 'credentials that the server refuses',
    make: ({ world }) => (world.git.failure = new RepositoryError('failed to authenticate to git repository')),
    ...{ verdict: 'broken', cause: 'credentials', reason: 'failed to authenticate', next: 'repository Secret' },
  },
  {
    what: 'a project that does not exist',
    make: (at) => spec(at, { project: 'gone' }),
    ...{ verdict: 'broken', cause: 'project', reason: 'referencing project gone', next: 'Create AppProject gone' },
  },
  {
    what: 'a repository that its project refuses',
    make: ({ world }) => world.project('default', { sourceRepos: ['https://elsewhere'] }),
    ...{
      verdict: 'broken',
      cause: 'source-denied',
      reason: 'https://git/x is not permitted',
      next: 'spec.sourceRepos',
    },
  },
  {
    what: 'a cluster that has no Secret',
    make: (at) => spec(at, { destination: { server: 'https://unknown', namespace: 'apps' } }),
    ...{ verdict: 'broken', cause: 'destination', reason: 'https://unknown', next: 'Correct spec.destination' },
  },
  {
    what: 'a destination that its project refuses',
    make: ({ world }) => world.project('default', { destinations: [{ server: '*', namespace: 'other' }] }),
    ...{
      verdict: 'broken',
      cause: 'destination-denied',
      reason: "namespace 'apps'",
      next: 'spec.destinations of AppProject default',
    },
  },
  {
    what: 'a source without a path',
    make: (at) => spec(at, { source: { repoURL: 'https://git/x' } }),
    ...{ verdict: 'broken', cause: 'spec', reason: 'spec.source', next: 'kubectl -n argocd edit application demo' },
  },
  {
    what: 'a cluster that does not answer',
    make: ({ world }) => (world.dest.unreachable = 'failed to get server version: refused'),
    ...{
      verdict: 'broken',
      cause: 'cluster',
      reason: 'failed to sync cluster https://dest',
      next: 'its cluster Secret',
    },
  },
  {
    what: 'a kind without a CustomResourceDefinition',
    make: (at) => push(at, { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' } }),
    ...{
      verdict: 'broken',
      cause: 'kind-missing',
      reason: 'Widget.example.com',
      next: 'Install the CustomResourceDefinition of Widget.example.com',
    },
  },
  {
    what: 'a kind that its project refuses',
    make: (at) => {
      at.world.project('default', { clusterResourceWhitelist: [] });
      push(at, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'too-much' } });
    },
    ...{
      verdict: 'broken',
      cause: 'kind-denied',
      reason: 'Namespace too-much: resource :Namespace is not permitted',
      next: 'clusterResourceWhitelist',
    },
  },
  {
    what: 'an account without the right',
    make: (at) => push(at, configMap('two')),
    call: refused('configmaps is forbidden: User "u" cannot create resource "configmaps"'),
    ...{
      verdict: 'broken',
      cause: 'rights',
      reason: 'ConfigMap apps/two: configmaps is forbidden',
      next: 'Grant the right',
    },
  },
  {
    what: 'an object that a webhook denies',
    make: (at) => push(at, configMap('two')),
    call: refused('admission webhook "policy" denied the request'),
    ...{
      verdict: 'broken',
      cause: 'object',
      reason: 'ConfigMap apps/two: admission webhook',
      next: 'Correct ConfigMap apps/two in Git',
    },
  },
  {
    what: 'a hook that fails',
    make: (at) => {
      failJobs(at);
      push(at, configMap('two'), job({ 'argocd.argoproj.io/hook': 'PreSync' }));
    },
    ...{
      verdict: 'broken',
      cause: 'hook',
      reason: 'PreSync hook Job apps/migrate',
      next: 'kubectl -n apps logs job/migrate --all-containers',
    },
  },
  {
    what: 'an object that is Degraded',
    make: (at) => {
      failJobs(at);
      push(at, job());
    },
    ...{
      verdict: 'broken',
      cause: 'degraded',
      reason: 'Job apps/migrate is Degraded',
      next: 'kubectl -n apps describe job migrate',
    },
  },
  {
    what: 'a commit without any object',
    make: ({ world }) => world.git.push(second, []),
    ...{
      verdict: 'broken',
      cause: 'operation',
      reason: 'auto-sync will wipe out all resources',
      next: 'Correct the cause',
    },
  },
  {
    what: 'an object that cannot be deleted',
    make: (at) => {
      const live = at.world.dest.get('ConfigMap', 'one')!;
      at.world.dest.put({ ...live, metadata: { ...live.metadata, finalizers: ['example.com/slow'] } });
      at.setDeleting(['resources-finalizer.argocd.argoproj.io']);
    },
    ...{
      verdict: 'broken',
      cause: 'deletion',
      reason: 'ConfigMap apps/one (finalizers: example.com/slow)',
      next: 'An Application is not deleted',
    },
  },
];

/** The Application before it breaks: Synced and Healthy, with automated sync. */
export function prepare({ world }: TestStage): void {
  world.git.push(first, [configMap('one')]);
  world.application({ ...automated, source });
}
