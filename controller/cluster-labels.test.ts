import { beforeEach, describe, expect, it } from '@jest/globals';
import { omit, OwnershipLost } from '#base';
import { apiResource, KubeApiError } from '#kube';
import type { Cluster } from '#model';
import type { PublishTerms } from '#publish';
import { FakeClock } from '#support';
import { createLogger } from '#telemetry';
import { ClusterLabels } from './cluster-labels.ts';
import { FakeApi } from './testing/fake-api.ts';
import type { Interference } from './testing/fake-api.ts';

const asks = 'argocd.argoproj.io/auto-label-cluster-info';
const version = 'argocd.argoproj.io/kubernetes-version';
const terms: PublishTerms = {
  signal: new AbortController().signal,
  fence: (send) => send(new AbortController().signal),
};

let hub: FakeApi;
let clock: FakeClock;
let lines: string[];
beforeEach(() => {
  hub = new FakeApi('https://hub', [apiResource('v1', 'Secret', 'secrets', 'namespaced')]);
  clock = new FakeClock();
  lines = [];
});

/** The cluster of a Secret that is stored with these labels. */
function cluster(labels: Readonly<Record<string, string>>): Cluster {
  const { uid = '' } = hub.put({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'dest', namespace: 'argocd', labels },
    data: { server: 'aHR0cHM6Ly9kZXN0', config: 'e30=' },
  }).metadata;
  const connection = { server: 'https://dest', insecure: false, credentials: {} };
  const plain = { name: 'dest', namespaces: [], clusterResources: false, annotations: {} };
  return { ...plain, id: uid, secretName: 'dest', server: 'https://dest', labels, connection };
}

function labeller(interference: Interference = {}): ClusterLabels {
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ level: 'info', format: 'json', destination });
  return new ClusterLabels({ hub: hub.client(interference), clock, logger }, 'argocd');
}

const refused = (code: number, reason: string) => (): never => {
  throw new KubeApiError({ code, reason, message: `${reason}: no` }, 'fake');
};

describe('the label with the version of a cluster', () => {
  it('11.2: is brought up to date on a Secret that asks for it, and nothing else of it is touched', async () => {
    const asking = cluster({ [asks]: 'true', [version]: 'v1.35.0', env: 'prod' });
    await labeller().update(asking, 'v1.36.3', terms);
    expect(hub.get('Secret', 'dest')).toMatchObject({
      metadata: { labels: { [asks]: 'true', [version]: 'v1.36.3', env: 'prod' } },
      data: { server: 'aHR0cHM6Ly9kZXN0', config: 'e30=' },
    });
    expect(hub.calls).toEqual(['patch Secret dest']);
  });

  it.each<[string, Readonly<Record<string, string>>, string | undefined]>([
    ['nobody asks for it', { [version]: 'v1.35.0' }, 'v1.36.3'],
    ['it is not asked for in so many words', { [asks]: 'yes' }, 'v1.36.3'],
    ['it is right', { [asks]: 'true', [version]: 'v1.36.3' }, 'v1.36.3'],
    ['the version is not known', { [asks]: 'true', [version]: 'v1.35.0' }, undefined],
  ])('11.2: is left alone where %s', async (_why, labels, known) => {
    await labeller().update(cluster(labels), known, terms);
    expect(hub.calls).toEqual([]);
  });

  it('11.2: of the implicit cluster, which has no Secret, is nowhere', async () => {
    const implicit = omit(cluster({ [asks]: 'true' }), 'secretName');
    await labeller().update(implicit, 'v1.36.3', terms);
    expect(hub.calls).toEqual([]);
  });

  it('11.2: without the right to patch the Secret this is said, and tried again later, not every time', async () => {
    let tried = 0;
    const before = (): never => {
      tried += 1;
      return refused(403, 'Forbidden')();
    };
    const [labels, asking] = [labeller({ before }), cluster({ [asks]: 'true' })];
    for (let look = 0; look < 60; look += 1) {
      await labels.update(asking, 'v1.36.3', terms);
      await clock.advance(10_000);
    }
    expect(tried).toBe(2);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('rbac.extraRoleRules');
    expect(lines[0]).toContain('argocd/dest');
    expect(lines.join()).not.toContain('e30=');
  });

  it.each([
    ['changed', 409, 'Conflict'],
    ['gone', 404, 'NotFound'],
  ])('11.2: of a Secret that is %s meanwhile waits for the next look', async (_what, code, reason) => {
    await labeller({ before: refused(code, reason) }).update(cluster({ [asks]: 'true' }), 'v1.36.3', terms);
    expect(lines).toEqual([]);
  });

  it('11.2: is not written for a cluster that is not ours any more', async () => {
    const fence = (): Promise<never> => Promise.reject(new OwnershipLost('cluster https://dest'));
    await labeller().update(cluster({ [asks]: 'true' }), 'v1.36.3', { ...terms, fence });
    expect([hub.calls, lines]).toEqual([[], []]);
  });
});
