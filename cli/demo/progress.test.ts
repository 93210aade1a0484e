import { describe, expect, it } from '@jest/globals';
import type { Application } from '#model';
import { hints } from './dashboard-view.ts';
import { leftOutText } from './demo-tools.ts';
import { unsettledLines } from './progress.ts';
import { replicaAddress } from './replicas.ts';

function application(name: string, over: object = {}): Application {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name },
    spec: { destination: {} },
    ...over,
  };
}

describe('the demo', () => {
  it('names what is missing after the timeout in ten lines, however many Applications there are', () => {
    const message = 'failed\n'.repeat(1000);
    const status = { conditions: [{ type: 'ComparisonError', message }] };
    const settled = application('good', { status: { sync: { status: 'Synced' }, health: { status: 'Healthy' } } });
    const many = Array.from({ length: 1000 }, (_, i) => application(`fleet-${i}`, { status }));
    const lines = unsettledLines([settled, ...many], 90_000);
    expect(lines).toHaveLength(10);
    expect(lines[0]).toBe('1000 of 1001 Applications are not Synced and Healthy after 90 s:');
    expect(lines[1]).toMatch(/^ {2}fleet-0: sync not compared yet; .*ComparisonError: failed failed/);
    expect(lines.at(-1)).toBe('  and 992 more');
    for (const line of lines) expect(line.length).toBeLessThan(320);
  });

  it('says which samples are left out, and why', () => {
    expect(leftOutText({ missing: [] }, 13)).toBeUndefined();
    expect(leftOutText({ missing: ['helm', 'kustomize', 'jsonnet'] }, 10)).toBe(
      '10 of 13 samples (without helm, kustomize, jsonnet; npm run e2e:setup builds them)',
    );
  });

  it('suggests commands that work with what it prints', () => {
    const guide = {
      kubeconfig: '/k',
      clusters: [{ name: 'sim-0', url: 'http://c' }],
      repository: (name: string) => name,
    };
    const lines = hints({ ...guide, program: 'node main.js', toolFolders: ['/tools'] });
    expect(lines.slice(0, 3)).toEqual([
      '  export KUBECONFIG=/k',
      '  export PATH="$PATH:/tools"',
      "  alias driftless='node main.js'",
    ]);
    expect(lines).toContain('  driftless sync guestbook-sim-0 --wait');
  });

  it('proxies pods of its own replicas only', () => {
    const address = replicaAddress(2);
    expect([address('argocd', 'driftless-1'), address('argocd', 'driftless-2'), address('x', 'driftless-1')]).toEqual([
      '127.0.0.1',
      undefined,
      undefined,
    ]);
  });
});
