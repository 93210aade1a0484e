import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { seededRandom, systemClock } from '#base';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { driftless } from '../testing/run-here.ts';

const canary = 'Y2FuYXJ5LTNmOWExYw==';
let folder = '';
let hub: SimCluster;
let kubeconfig = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'driftless-diff-'));
  hub = await startSimCluster({ clock: systemClock, random: seededRandom(7), name: 'hub' });
  kubeconfig = file('kubeconfig', kubeconfigFor([hub]));
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } };
  hub.store.create(namespace);
  hub.store.create({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'argocd-cm', namespace: 'argocd' },
    data: {
      'resource.customizations.ignoreDifferences.ConfigMap': 'jsonPointers: [/data/ignored]',
      'resource.customizations.ignoreDifferences.e.io_Gadget': 'jqPathExpressions: [".data | limit(1; .[])"]',
      'resource.customizations.health.ConfigMap': 'return {status = "Degraded", message = "as argocd-cm says"}',
      'resource.sensitive.mask.annotations': 'token',
    },
  });
});
afterAll(async () => {
  await hub.close();
  rmSync(folder, { recursive: true, force: true });
});

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const secret = (name: string, token: string, text = 'data'): string =>
  file(
    name,
    `apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {token: ${token}}}\n${text}: {a: ${token}, same: ${canary}}\n`,
  );
const configMap = (name: string, ignored: string): string =>
  file(name, `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {ignored: "${ignored}"}\n`);

describe('driftless diff', () => {
  it('masks values of Secrets and of the annotations that argocd-cm names, and tells that they differ', async () => {
    const [one, two] = [secret('one.yaml', canary), secret('two.yaml', 'b3RoZXItM2Y5YTFj')];
    const args = ['diff', '--live', one, '--target', two, '--kubeconfig', kubeconfig, '-n', 'argocd'];
    const { code, said } = await driftless(...args, '-o', 'json');
    expect(code).toBe(1);
    expect(said).not.toContain(canary);
    expect(said).not.toContain('b3RoZXItM2Y5YTFj');
    const { normalizedLive: live, predictedLive: target } = JSON.parse(said) as Record<
      string,
      { data: Record<string, string>; metadata: { annotations: Record<string, string> } }
    >;
    expect(live?.data['a']).not.toEqual(target?.data['a']);
    expect(live?.data['same']).toEqual(target?.data['same']);
    expect(live?.metadata.annotations['token']).toMatch(/^\++$/);
    const folded = await driftless('diff', '--live', one, '--target', secret('three.yaml', canary, 'stringData'));
    expect([folded.code, folded.said.includes(Buffer.from(canary).toString('base64'))]).toEqual([1, false]);
  });

  it("takes settings from a cluster's argocd-cm, and writes nothing to it", async () => {
    const files = ['--live', configMap('live.yaml', '1'), '--target', configMap('target.yaml', '2')];
    expect((await driftless('diff', ...files)).code).toBe(1);
    expect((await driftless('diff', ...files, '--kubeconfig', kubeconfig, '-n', 'argocd')).code).toBe(0);
    const judged = await driftless('health', '-f', files[1] ?? '', '--kubeconfig', kubeconfig, '-n', 'argocd');
    expect(judged.said).toContain('as argocd-cm says');
    expect([...hub.requests().keys()].filter((request) => !/^get\b/i.test(request))).toEqual([]);
  });

  it('has the programs run that only jq can run', async () => {
    const text = (first: string, second: string): string =>
      file(
        `${first}-${second}.yaml`,
        `apiVersion: e.io/v1\nkind: Gadget\nmetadata: {name: g}\ndata: {a: ${first}, b: ${second}}\n`,
      );
    const settings = ['--kubeconfig', kubeconfig, '-n', 'argocd'];
    const of = (live: string, target: string): Promise<{ code: number; said: string }> =>
      driftless('diff', '--live', live, '--target', target, ...settings, '-o', 'json');
    expect((await of(text('eA==', 'eA=='), text('eQ==', 'eA=='))).code).toBe(0);
    const found = await of(text('eA==', 'eA=='), text('eA==', 'eQ=='));
    expect([found.code, JSON.parse(found.said)]).toEqual([
      1,
      expect.not.objectContaining({ faults: expect.anything() }),
    ]);
  });

  it('prints a unified diff, with masked values', async () => {
    const text = (replicas: number): string =>
      `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: ${replicas}}\n`;
    const [live, target] = [file('five.yaml', text(5)), file('two.yaml', text(2))];
    const { code, said } = await driftless('diff', '--live', live, '--target', target);
    expect(code).toBe(1);
    expect(said.split('\n').slice(0, 3)).toEqual(['--- live', '+++ target', expect.stringMatching(/^@@ -\d/)]);
    expect(said).toContain('-  replicas: 5\n+  replicas: 2');
    const files = ['--live', secret('a.yaml', canary), '--target', secret('b.yaml', 'b3RoZXI=')];
    const secrets = await driftless('diff', ...files, '--kubeconfig', kubeconfig, '-n', 'argocd');
    expect([secrets.code, secrets.said.includes(canary)]).toEqual([1, false]);
    expect(await driftless('diff', '--live', live, '--target', live)).toEqual({ code: 0, said: '' });
  });

  it('refuses two different objects', async () => {
    const [live, target] = [configMap('live.yaml', '1'), secret('other.yaml', canary)];
    const { code, said } = await driftless('diff', '--live', live, '--target', target);
    expect([code, said]).toEqual([2, expect.stringContaining('--live is ConfigMap c, and --target is another object')]);
  });

  it.each([
    ['both', ['--settings', 'x.yaml', '--kubeconfig', 'y'], 'mutually exclusive'],
    ['a namespace of nothing', ['-n', 'argocd'], '--namespace needs --kubeconfig FILE'],
  ])('refuses %s', async (_name, args, text) => {
    const files = ['--live', configMap('live.yaml', '1'), '--target', configMap('target.yaml', '2')];
    const { code, said } = await driftless('diff', ...files, ...args);
    expect([code, said]).toEqual([2, expect.stringContaining(text)]);
  });

  it('says where it has looked when there are no settings', async () => {
    const files = ['--live', configMap('live.yaml', '1'), '--target', configMap('target.yaml', '2')];
    const { code, said } = await driftless('diff', ...files, '--kubeconfig', kubeconfig, '-n', 'elsewhere');
    expect([code, said]).toEqual([2, expect.stringContaining('ConfigMap argocd-cm of namespace elsewhere')]);
  });
});
