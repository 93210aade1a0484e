import { beforeEach, describe, expect, it } from '@jest/globals';
import { omit, OwnershipLost } from '#base';
import { apiResource, KubeApiError } from '#kube';
import type { Cluster } from '#model';
import { FakeClock } from '#support';
import { createLogger } from '#telemetry';
import { ClusterLabels } from './cluster-labels.ts';
import type { LabelTerms } from './cluster-labels.ts';
import { FakeApi } from '../testing/fake-api.ts';
import type { CallInterference } from '../testing/fake-api.ts';

const asks = 'argocd.argoproj.io/auto-label-cluster-info';
const version = 'argocd.argoproj.io/kubernetes-version';
const terms: LabelTerms = {
  signal: new AbortController().signal,
  fenced: (send) => send({ signal: new AbortController().signal, beforeSend: () => undefined }),
};

let hub: FakeApi;
let clock: FakeClock;
let lines: string[];
beforeEach(() => {
  hub = new FakeApi('https://hub', [apiResource('v1', 'Secret', 'secrets', 'namespaced')]);
  clock = new FakeClock();
  lines = [];
});

/** The cluster of a Secret stored with these labels. */
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

function labeller(interference: CallInterference = {}): ClusterLabels {
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ level: 'info', format: 'json', destination });
  return new ClusterLabels({ hub: hub.client(interference), clock, logger }, 'argocd');
}

const refused = (code: number, reason: string) => (): never => {
  throw new KubeApiError({ code, reason, message: `${reason}: no` }, 'fake');
};

describe('the label with the version of a cluster', () => {
  it('is updated on a Secret that asks for it, without touching anything else', async () => {
    const asking = cluster({ [asks]: 'true', [version]: 'v1.35.0', env: 'prod' });
    await labeller().update(asking, 'v1.36.3', terms);
    expect(hub.get('Secret', 'dest')).toMatchObject({
      metadata: { labels: { [asks]: 'true', [version]: 'v1.36.3', env: 'prod' } },
      data: { server: 'aHR0cHM6Ly9kZXN0', config: 'e30=' },
    });
    expect(hub.calls).toEqual(['patch Secret dest']);
  });

  it.each<[string, Readonly<Record<string, string>>, string | undefined]>([
    ['it is not requested', { [version]: 'v1.35.0' }, 'v1.36.3'],
    ['it is not requested explicitly', { [asks]: 'yes' }, 'v1.36.3'],
    ['it is correct', { [asks]: 'true', [version]: 'v1.36.3' }, 'v1.36.3'],
    ['the version is unknown', { [asks]: 'true', [version]: 'v1.35.0' }, undefined],
  ])('is left alone where %s', async (_why, labels, known) => {
    await labeller().update(cluster(labels), known, terms);
    expect(hub.calls).toEqual([]);
  });

  it('is not written for the implicit cluster, which has no Secret', async () => {
    const implicit = omit(cluster({ [asks]: 'true' }), 'secretName');
    await labeller().update(implicit, 'v1.36.3', terms);
    expect(hub.calls).toEqual([]);
  });

  it('without the right to patch the Secret, logs a warning and retries later, not every time', async () => {
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
  ])('of a Secret that is %s meanwhile waits for the next update', async (_what, code, reason) => {
    await labeller({ before: refused(code, reason) }).update(cluster({ [asks]: 'true' }), 'v1.36.3', terms);
    expect(lines).toEqual([]);
  });

  it('is not written for a cluster that is no longer ours', async () => {
    const fenced = (): Promise<never> => Promise.reject(new OwnershipLost('cluster https://dest'));
    await labeller().update(cluster({ [asks]: 'true' }), 'v1.36.3', { ...terms, fenced });
    expect([hub.calls, lines]).toEqual([[], []]);
  });
});
