import { describe, expect, it } from '@jest/globals';
import { automated, configMap } from './testing/fake-world.ts';
import { stage } from './testing/stage.ts';

const sha = 'a'.repeat(40);

const at = stage();

describe('stored poison Applications', () => {
  // T-SEC-43
  it('do not delay the others, even a thousand of them and after a restart', async () => {
    const { world } = at;
    const good = { project: 'default', source: { repoURL: 'https://git/x', path: 'p' }, destination: { name: 'dest' } };
    const faults: readonly object[] = [
      { project: 7 },
      { source: 7 },
      { source: { repoURL: 7, path: 'p' } },
      { sources: 'x' },
      { destination: 7 },
      { syncPolicy: { automated: {}, syncOptions: [7] } },
      { ignoreDifferences: 7 },
      { ignoreDifferences: [{ kind: 7, jsonPointers: [7] }] },
    ];
    for (let i = 0; i < 1000; i += 1)
      world.hub.put({
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'Application',
        metadata: { name: `poison-${i}`, namespace: 'argocd' },
        spec: { ...good, ...faults[i % faults.length] },
      });
    world.git.push(sha, [configMap('one')]);
    world.application(automated);
    const first = world.replica();
    await at.pass(60);
    expect(world.app.status?.sync?.status).toBe('Synced');
    const stopping = first.stop();
    await at.pass(30);
    await stopping;
    const next = 'b'.repeat(40);
    world.git.push(next, [configMap('one'), configMap('two')]);
    const { controller } = world.replica();
    await at.pass(240);
    expect(world.app.status?.sync).toMatchObject({ status: 'Synced', revision: next });
    const left = controller.report.pools().map(({ progress }) => progress());
    expect(left.map(({ waiting, running }) => waiting + running)).toEqual([0, 0, 0]);
  }, 120_000);
});
