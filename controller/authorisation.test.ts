import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { defined } from '#base';
import type { AppProjectSpec, KubeObject } from '#model';
import { FakeClock } from '#support';
import { automated, configMap, FakeWorld, server } from './testing/fake-world.ts';

/**
 * The authorisation matrix (T-SEC-10, T-SEC-11): every way to get an object written to a cluster,
 * against every rule of a project, with one, two and five replicas. Generated, so that a new way or
 * rule is tested against all others.
 */
const sha = 'a'.repeat(40);
const ours = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };
const evil = { repoURL: 'https://git/evil', path: 'p', targetRevision: 'main' };
const namespace = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const elsewhere = (name: string): KubeObject => ({
  ...configMap(name),
  metadata: { name, namespace: 'kube-system' },
});

/** A rule of a project, and an Application that breaks it. */
interface Rule {
  readonly name: string;
  readonly project: Partial<AppProjectSpec>;
  readonly source?: typeof evil;
  readonly destination?: { readonly server: string; readonly namespace: string };
  /** Additional manifests in Git. */
  readonly object?: KubeObject;
  /**
   * Makes `object` the only manifest in Git: a refusal of another manifest could hide that this one
   * would have been accepted.
   */
  readonly alone?: boolean;
  readonly forbids: (object: KubeObject) => boolean;
}

const everything = (): boolean => true;
const rules: readonly Rule[] = [
  { name: 'sourceRepos', project: { sourceRepos: [ours.repoURL] }, source: evil, forbids: everything },
  {
    name: 'sourceRepos, denied',
    project: { sourceRepos: ['*', `!${evil.repoURL}`] },
    source: evil,
    forbids: everything,
  },
  {
    name: 'destinations, server',
    project: { destinations: [{ server: 'https://mine', namespace: '*' }] },
    alone: true,
    object: namespace('taken'),
    forbids: everything,
  },
  {
    name: 'destinations, namespace',
    project: { destinations: [{ server, namespace: 'mine' }] },
    alone: true,
    object: namespace('taken'),
    forbids: everything,
  },
  {
    name: 'destinations, denied',
    project: {
      destinations: [
        { server: '*', namespace: '*' },
        { server: `!${server}`, namespace: '*' },
      ],
    },
    alone: true,
    object: namespace('taken'),
    forbids: everything,
  },
  {
    name: 'destinations, namespace of the object',
    project: { destinations: [{ server, namespace: 'apps' }] },
    object: elsewhere('taken'),
    forbids: ({ metadata }) => metadata.namespace === 'kube-system',
  },
  {
    name: 'clusterResourceWhitelist',
    project: { clusterResourceWhitelist: [] },
    object: namespace('taken'),
    forbids: ({ kind }) => kind === 'Namespace',
  },
  {
    name: 'clusterResourceBlacklist',
    project: { clusterResourceBlacklist: [{ group: '', kind: 'Namespace' }] },
    object: namespace('taken'),
    forbids: ({ kind }) => kind === 'Namespace',
  },
  {
    name: 'namespaceResourceBlacklist',
    project: { namespaceResourceBlacklist: [{ group: '', kind: 'ConfigMap' }] },
    forbids: ({ kind }) => kind === 'ConfigMap',
  },
  {
    name: 'namespaceResourceWhitelist',
    project: { namespaceResourceWhitelist: [{ group: '', kind: 'Secret' }] },
    forbids: ({ kind }) => kind === 'ConfigMap',
  },
];

type Attempt = (world: FakeWorld, rule: Partial<Rule>, advance: (ms: number) => Promise<void>) => Promise<void>;

const specOf = ({ source = ours, destination }: Partial<Rule>): object => ({
  project: 'strict',
  source,
  ...defined({ destination }),
});
const objectsOf = ({ object, alone }: Partial<Rule>): readonly KubeObject[] => [
  ...(alone === true ? [] : [configMap('one')]),
  ...(object === undefined ? [] : [object]),
];
const manifestsOf = (rule: Partial<Rule>): string[] => objectsOf(rule).map((each) => JSON.stringify(each));
const running = (sync: object, syncResult: object): object => ({
  operation: { sync },
  status: {
    operationState: { phase: 'Running', startedAt: '2026-01-01T00:00:00Z', operation: { sync }, syncResult },
  },
});

/** Creates a valid Application, then changes it once as a tenant would. */
const afterwards =
  (write: (rule: Partial<Rule>) => object): Attempt =>
  async (world, rule, advance) => {
    world.application({ ...specOf({ ...rule, source: ours }) });
    await advance(3000);
    world.edit(() => write(rule));
    await advance(10_000);
  };

const deletionHook =
  (hook: string, finalizer: string): Attempt =>
  async (world, rule, advance) => {
    const hooks = (world.git.commits.get(sha) ?? []).map((object) => ({
      ...object,
      metadata: { ...object.metadata, annotations: { 'argocd.argoproj.io/hook': hook } },
    }));
    world.git.push(sha, hooks);
    world.application(specOf(rule), { metadata: { finalizers: [finalizer] } });
    world.edit((object) => ({ metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }));
    await advance(15_000);
  };

const ways: Readonly<Record<string, Attempt>> = {
  'an automated sync': async (world, rule, advance) => {
    world.application({ ...automated, ...specOf(rule) });
    await advance(15_000);
  },
  'an operation from the beginning': async (world, rule, advance) => {
    world.application(specOf(rule), { operation: { sync: {} } });
    await advance(15_000);
  },
  'one patch of spec and operation': afterwards((rule) => ({
    spec: { ...baseSpec, ...specOf(rule) },
    operation: { sync: {} },
  })),
  'a forced, replacing sync': afterwards((rule) => ({
    spec: { ...baseSpec, ...specOf(rule) },
    operation: { sync: { syncStrategy: { apply: { force: true } }, syncOptions: ['Replace=true', 'Validate=false'] } },
  })),
  'a sync that makes its namespace': afterwards((rule) => ({
    spec: { ...baseSpec, ...specOf(rule) },
    operation: { sync: { syncOptions: ['CreateNamespace=true'] } },
  })),
  'operation.sync.source': afterwards((rule) => ({ operation: { sync: { source: rule.source ?? ours } } })),
  'operation.sync.sources': afterwards((rule) => ({
    operation: { sync: { sources: [ours, rule.source ?? ours], revisions: [sha, sha] } },
  })),
  'local manifests': afterwards((rule) => ({
    spec: { ...baseSpec, ...specOf(rule) },
    operation: { sync: { manifests: manifestsOf(rule) } },
  })),
  'local manifests with a source': afterwards((rule) => ({
    operation: { sync: { manifests: manifestsOf(rule), source: rule.source ?? ours } },
  })),
  'a forged syncResult': afterwards((rule) => running({}, { revision: sha, source: rule.source ?? ours })),
  'a forged syncResult of many sources': afterwards((rule) =>
    running({}, { revision: '', revisions: [sha], sources: [rule.source ?? ours], source: ours }),
  ),
  'a hook before deletion': deletionHook('PreDelete', 'pre-delete-finalizer.argocd.argoproj.io'),
  'a hook after deletion': deletionHook('PostDelete', 'post-delete-finalizer.argocd.argoproj.io'),
};
const baseSpec = { destination: { server, namespace: 'apps' } };

let clock: FakeClock;
let world: FakeWorld;
let release: () => void;
let released: Promise<void>;
const advance = (ms: number): Promise<void> => clock.advance(ms);

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  released = new Promise((resolve) => (release = resolve));
});
afterEach(async () => {
  release();
  await world.close(clock);
});

/**
 * Keeps refreshes from running: the steps of an operation must check for themselves, whatever the
 * status contains.
 */
const busy = {
  config: { statusProcessors: 1 },
  hub: { before: (call: string) => (call === 'patch Application blocker' ? released : undefined) },
};

async function attempt(way: Attempt, rule: Partial<Rule>, replicas: number): Promise<readonly KubeObject[]> {
  world.git.push(sha, objectsOf(rule));
  world.project('strict', rule.project ?? {});
  for (let index = 0; index < replicas; index += 1) {
    world.replica({ index, ...(way === ways['an automated sync'] ? {} : busy) });
  }
  // Occupies the only refresh processor: the patch of its status never completes.
  world.application({}, { metadata: { name: 'blocker' } });
  await advance(3000);
  await way(world, rule, advance);
  return [...world.dest.objects.values()];
}

describe.each(Object.entries(ways))('%s', (_name, way) => {
  it('writes if no rule forbids it', async () => {
    expect((await attempt(way, {}, 1)).map(({ metadata }) => metadata.name)).toContain('one');
  });

  it.each(rules.flatMap((rule) => [1, 2, 5].map((replicas) => [rule.name, replicas, rule] as const)))(
    'obeys %s, with %d replicas',
    async (_rule, replicas, rule) => {
      const written = await attempt(way, rule, replicas);
      expect(written.filter(rule.forbids)).toEqual([]);
    },
  );
});
