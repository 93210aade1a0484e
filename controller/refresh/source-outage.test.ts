import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import type { ApplicationCondition, KubeObject } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);
const at = tidyStage(({ git }) => git.push(first, [configMap('one'), configMap('two')]));

const valueOf = (name: string): unknown => (at.world.dest.get('ConfigMap', name)?.['data'] as { key?: string }).key;

function drift(name: string): void {
  const live = at.world.dest.get('ConfigMap', name);
  if (live === undefined) throw new Error('nothing is there');
  at.world.dest.put({ ...live, data: { key: 'by hand' } });
}

function conditions(type: ApplicationCondition['type']): readonly string[] {
  return (at.world.app.status?.conditions ?? []).filter((one) => one.type === type).map(({ message }) => message);
}

async function synced(): Promise<void> {
  at.world.application(automated);
  await at.start();
  await at.pass(3);
  expect(at.world.app.status?.sync?.status).toBe('Synced');
}

describe.each(['refuses', 'hangs'] as const)('while the Git server %s', (server) => {
  it('repairs drift within seconds, before and after the grace period', async () => {
    await synced();
    at.world.git.server = server;
    for (const seconds of [1, 125, 60, 400, 1000]) {
      await at.pass(seconds);
      drift('one');
      await at.pass(8);
      expect([seconds, valueOf('one')]).toEqual([seconds, '1']);
    }
  });

  it('repairs drift that waits for its backoff once a requested refresh has failed', async () => {
    await synced();
    at.world.git.server = server;
    // The next self-heal waits for 18 s.
    for (let n = 0; n < 3; n += 1) {
      drift('one');
      await at.pass(8);
    }
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    drift('one');
    // The refresh may wait for a minute, but not the next pass as well.
    await at.pass(85);
    expect(valueOf('one')).toBe('1');
  });

  it('repairs drift after a restart', async () => {
    await synced();
    at.world.git.server = server;
    await at.pass(600);
    await at.world.close(at.clock);
    drift('two');
    at.world.replica();
    await at.pass(20);
    expect(valueOf('two')).toBe('1');
  });

  it('shows since when, and the commit that it compares with; all is gone when Git is back', async () => {
    await synced();
    at.world.git.server = server;
    await at.pass(600);
    expect(conditions('SourceUnavailableWarning')).toEqual([
      expect.stringMatching(/^The source cannot be read since 2026-01-01T00:0\d:\d\dZ.*compared with commit a{40}/),
    ]);
    expect(conditions('ComparisonError')).toHaveLength(1);
    expect(at.world.app.status?.sync).toMatchObject({ status: 'Unknown', revision: first });
    drift('one');
    await at.pass(8);
    expect(valueOf('one')).toBe('1');
    expect(at.world.app.status?.sync).toMatchObject({ status: 'Unknown', revision: first });
    expect(conditions('ComparisonError')).toHaveLength(1);
    at.world.git.server = 'answers';
    at.world.git.push(second, [configMap('one', '2'), configMap('two')]);
    await at.pass(200);
    expect(at.world.app.status?.conditions).toBeUndefined();
    expect(at.world.app.status?.sync).toMatchObject({ status: 'Synced', revision: second });
  });

  it('answers a requested refresh with the truth, and repairs drift after it', async () => {
    await synced();
    at.world.git.server = server;
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await at.pass(100);
    expect(at.world.app.metadata.annotations).toEqual({});
    expect(at.world.app.status?.sync?.status).toBe('Unknown');
    expect(conditions('ComparisonError')).toHaveLength(1);
    drift('one');
    await at.pass(8);
    expect(valueOf('one')).toBe('1');
  });
});

describe('a source that cannot be read', () => {
  it('does not stop the repair of other objects by one bad file', async () => {
    await synced();
    at.world.git.push(second, []);
    at.world.git.failure = new Error('Failed to unmarshal "bad.yaml"');
    at.world.git.fails = (_source, revision) => revision === second;
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await at.pass(5);
    expect(conditions('ComparisonError')[0]).toContain('bad.yaml');
    drift('one');
    await at.pass(8);
    expect(valueOf('one')).toBe('1');
    expect(conditions('ComparisonError')[0]).toContain('bad.yaml');
  });

  it('is compared after a restart with the last synced commit, not with one that was never rendered', async () => {
    await synced();
    at.world.git.push(second, []);
    at.world.git.failure = new Error('Failed to unmarshal "bad.yaml"');
    at.world.git.fails = (_source, revision) => revision === second;
    await at.pass(300);
    at.world.edit((object) => {
      const status = object['status'] as { readonly sync: JsonObject };
      return { status: { ...status, sync: { ...status.sync, status: 'Unknown', revision: second } } };
    });
    await at.world.close(at.clock);
    drift('one');
    at.world.replica();
    await at.pass(20);
    expect(valueOf('one')).toBe('1');
  });

  it('is read at once for a requested refresh, also soon after a failure', async () => {
    await synced();
    at.world.git.server = 'refuses';
    await at.pass(600);
    at.world.git.server = 'answers';
    at.world.git.push(second, [configMap('one', '2'), configMap('two')]);
    // Changes are compared with the last good rendering for half a minute after each failure.
    for (let n = 0; n < 3; n += 1) {
      at.world.git.server = 'refuses';
      await at.pass(35);
      at.world.git.server = 'answers';
      at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
      await at.pass(3);
      expect(at.world.app.status?.sync).toMatchObject({ revision: second });
    }
  });

  it('writes no status again and again', async () => {
    await synced();
    at.world.git.server = 'refuses';
    await at.pass(600);
    const { length } = at.world.writes();
    await at.pass(1200);
    expect(at.world.writes().length - length).toBeLessThan(15);
  });

  it('serves no longer than the limit', async () => {
    at.world.application(automated);
    await at.start({ config: { lastGoodLimitMs: 300_000 } });
    await at.pass(3);
    at.world.git.server = 'refuses';
    await at.pass(600);
    drift('one');
    await at.pass(60);
    expect(valueOf('one')).toBe('by hand');
    expect(conditions('SourceUnavailableWarning')[0]).toContain('Drift is not repaired');
  });

  it('adds nothing to the ComparisonError of an Application that was never rendered', async () => {
    at.world.git.server = 'refuses';
    at.world.application(automated);
    await at.start();
    await at.pass(600);
    expect(at.world.app.status?.conditions?.map(({ type }) => type)).toEqual(['ComparisonError']);
    at.world.git.server = 'answers';
    await at.pass(200);
    expect(at.world.app.status?.conditions).toBeUndefined();
  });

  it('keeps its warning after a restart in which no rendering can be used', async () => {
    at.world.application({ syncPolicy: {} });
    await at.start({ config: { lastGoodLimitMs: 300_000 } });
    await at.pass(3);
    at.world.git.server = 'refuses';
    await at.pass(600);
    const [warning] = conditions('SourceUnavailableWarning');
    expect(warning).toContain('Drift is not repaired');
    await at.world.close(at.clock);
    at.world.replica({ config: { lastGoodLimitMs: 300_000 } });
    await at.pass(600);
    expect(conditions('SourceUnavailableWarning')).toEqual([warning]);
  });

  it('is not served if the project has withdrawn the repository meanwhile', async () => {
    await synced();
    at.world.git.server = 'refuses';
    await at.pass(200);
    at.world.project('default', { sourceRepos: ['https://other/*'] });
    await at.pass(5);
    drift('one');
    await at.pass(60);
    expect(valueOf('one')).toBe('by hand');
  });

  it('is not served if its last commit has no good signature any more', async () => {
    await synced();
    at.world.git.server = 'refuses';
    await at.pass(200);
    at.world.git.problems.set(first, ['the key was revoked']);
    at.world.project('default', { signatureKeys: [{ keyID: 'ABCDEF0123456789' }] });
    await at.pass(5);
    drift('one');
    await at.pass(60);
    expect(valueOf('one')).toBe('by hand');
  });

  it('is not served for another source than the one that was compared', async () => {
    await synced();
    at.world.git.server = 'refuses';
    await at.pass(200);
    at.world.edit((object) => ({
      spec: {
        ...(object['spec'] as object),
        source: { repoURL: 'https://git/x', path: 'other', targetRevision: 'main' },
      },
    }));
    await at.pass(5);
    drift('one');
    await at.pass(60);
    expect(valueOf('one')).toBe('by hand');
  });

  it('prunes what the last commit does not have, as before the outage', async () => {
    await synced();
    at.world.git.server = 'refuses';
    await at.pass(300);
    const extra: KubeObject = {
      ...configMap('extra'),
      metadata: {
        name: 'extra',
        namespace: 'apps',
        annotations: { 'argocd.argoproj.io/tracking-id': 'demo:/ConfigMap:apps/extra' },
      },
    };
    at.world.dest.put(extra);
    await at.pass(10);
    expect(at.names()).toEqual(['one', 'two']);
  });
});
