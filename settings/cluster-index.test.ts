import { describe, expect, it } from '@jest/globals';
import { defined } from '#base';
import fc from 'fast-check';
import type { Cluster } from '#model';
import { chooseClusters, indexClusters } from './cluster-index.ts';
import { clusterList, resolveDestination } from './clusters.ts';

const url = 'https://shared';
const inClusterUrl = 'https://kubernetes.default.svc';
const early = '2026-01-01T00:00:00Z';
const late = '2026-02-01T00:00:00Z';

function cluster(given: Partial<Cluster>): Cluster {
  const { id = 'u', server = url } = given;
  return {
    id,
    name: id,
    server,
    secretName: `secret-${id}`,
    createdAt: early,
    namespaces: [],
    clusterResources: false,
    labels: {},
    annotations: {},
    connection: { server, insecure: false, credentials: {} },
    ...given,
  };
}

const proxied = (server = url): Cluster['connection'] => ({
  server,
  insecure: false,
  credentials: {},
  proxyUrl: 'http://tenant:1',
});

function resolved(list: readonly Cluster[], destination: { server?: string; name?: string }, project: string): string {
  const found = resolveDestination(destination, indexClusters(list), true, project);
  return 'error' in found ? found.error : found.id;
}

describe('several cluster Secrets with one URL', () => {
  it('a scoped one takes no cluster over, however low its UID and however old it is', () => {
    const shared = cluster({ id: 'z', createdAt: late });
    const scoped = cluster({ id: 'a', project: 'tenant', connection: proxied() });
    const [chosen, ...others] = chooseClusters([scoped, shared]);
    expect([chosen?.id, chosen?.connection.proxyUrl, others]).toEqual(['z', undefined, []]);
    for (const project of ['default', 'tenant']) expect(resolved([scoped, shared], { server: url }, project)).toBe('z');
  });

  it('the oldest unscoped one is used, then the one with the lower UID', () => {
    const list = [cluster({ id: 'a', createdAt: late }), cluster({ id: 'c' }), cluster({ id: 'b' })];
    expect(chooseClusters(list).map(({ id }) => id)).toEqual(['b']);
  });

  it('the condition names the Secrets and their projects, but none of their contents', () => {
    const scoped = cluster({ id: 'a', project: 'tenant', connection: proxied() });
    const [chosen] = chooseClusters([scoped, cluster({ id: 'z' })]);
    expect(chosen?.conflict).toBe(
      'several cluster Secrets have the URL https://shared: Secret secret-z is used, the oldest one without a project, ' +
        'and Secret secret-a (project tenant) is not; delete all but one of them',
    );
  });

  it('if all are scoped, the oldest serves its own project, and the others are refused with the reason', () => {
    const first = cluster({ id: 'z', project: 'one' });
    const second = cluster({ id: 'a', project: 'two', createdAt: late });
    const list = [second, first];
    expect(resolved(list, { server: url }, 'one')).toBe('z');
    for (const project of ['two', 'default']) {
      const error = resolved(list, { server: url }, project);
      expect(error).toMatch(
        /is scoped to project "one" by Secret secret-z, and project "(?:two|default)" may not use it/,
      );
      expect(error).toMatch(/Secret secret-a \(project two\) is not/);
    }
  });

  it('a single scoped one serves only its own project, by URL and by name', () => {
    const list = [cluster({ id: 'a', project: 'one' })];
    for (const destination of [{ server: url }, { name: 'a' }]) {
      expect(resolved(list, destination, 'one')).toBe('a');
      expect(resolved(list, destination, 'default')).toContain('is scoped to project "one"');
    }
    const place = resolveDestination({ server: url }, indexClusters(list), true);
    expect('error' in place).toBe(false);
  });

  it('a scoped one does not replace the cluster that the controller runs in', () => {
    const scoped = cluster({ id: 'a', server: inClusterUrl, project: 'tenant', connection: proxied(inClusterUrl) });
    const list = clusterList([scoped], true);
    const [chosen] = chooseClusters(list);
    expect([chosen?.id, chosen?.connection.proxyUrl]).toEqual(['', undefined]);
    expect(chosen?.conflict).toContain('the controller itself is used');
    expect(clusterList([cluster({ id: 'b', server: inClusterUrl })], true)).toHaveLength(1);
  });

  it('the name of an unused one still resolves to the cluster, unless a scoped one has the name of another cluster', () => {
    const prod = cluster({ id: 'p', name: 'prod', server: 'https://prod' });
    const shared = cluster({ id: 'z', name: 'shared' });
    const alias = cluster({ id: 'y', name: 'alias', createdAt: late });
    const scoped = cluster({ id: 'a', name: 'prod', project: 'tenant' });
    const list = [scoped, prod, shared, alias];
    expect(resolved(list, { name: 'alias' }, 'default')).toBe('z');
    expect(resolved(list, { name: 'prod' }, 'default')).toBe('p');
  });
});

describe('any Secrets', () => {
  const projects = fc.constantFrom<string | undefined>(undefined, '', 'one', 'two');
  const secrets = fc.uniqueArray(
    fc.record({
      id: fc.string({ minLength: 1, maxLength: 3 }),
      server: fc.constantFrom('https://a', 'https://b', inClusterUrl),
      name: fc.constantFrom('x', 'y', 'z'),
      createdAt: fc.constantFrom(early, late),
      project: projects,
    }),
    { selector: ({ id }) => id, maxLength: 8 },
  );
  const made = (given: readonly { readonly id: string; readonly project: string | undefined }[]): readonly Cluster[] =>
    given.map(({ project, ...rest }) => cluster({ ...rest, ...defined({ project }) }));

  it('give one cluster for each URL, independent of their order', () => {
    fc.assert(
      fc.property(secrets, fc.boolean(), (given, isInCluster) => {
        const list = clusterList(made(given), isInCluster);
        const back = clusterList([...made(given)].reverse(), isInCluster);
        const chosen = chooseClusters(list);
        expect(new Set(chosen.map(({ server }) => server)).size).toBe(chosen.length);
        expect(new Set(chosen.map(({ server }) => server))).toEqual(new Set(list.map(({ server }) => server)));
        expect(chooseClusters(back)).toEqual(chosen);
      }),
    );
  });

  it('never give a scoped Secret to another project, nor prefer it to an unscoped one', () => {
    fc.assert(
      fc.property(secrets, fc.constantFrom('one', 'two', 'default'), (given, project) => {
        const list = clusterList(made(given), true);
        const index = indexClusters(list);
        const destinations = [...list.map(({ server }) => ({ server })), ...list.map(({ name }) => ({ name }))];
        for (const destination of destinations) {
          const found = resolveDestination(destination, index, true, project);
          if ('error' in found) continue;
          expect(['', undefined, project]).toContain(found.project);
          const isShared = list.some(({ server, project: own = '' }) => server === found.server && own === '');
          if (isShared) expect(found.project ?? '').toBe('');
        }
      }),
    );
  });

  it('keep their cluster if a Secret is added later', () => {
    fc.assert(
      fc.property(secrets, fc.string({ minLength: 4, maxLength: 5 }), projects, (given, id, project) => {
        const list = made(given);
        const later = cluster({ id, createdAt: '2027-01-01T00:00:00Z', ...defined({ project }) });
        const owners = (of: readonly Cluster[]): object =>
          Object.fromEntries(chooseClusters(of).map((one) => [one.server, one.id]));
        const had = list.filter(({ server }) => server === later.server);
        const isFirst = had.length === 0;
        const outranks = (later.project ?? '') === '' && had.every((one) => (one.project ?? '') !== '');
        if (!isFirst && !outranks) expect(owners([later, ...list])).toEqual(owners(list));
      }),
    );
  });
});
