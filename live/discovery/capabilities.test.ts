import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ApiDiscovery } from '#kube';
import { KubeApiError } from '#kube';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { capabilitiesOf, ClusterCapabilities } from './capabilities.ts';
import type { ApiVersionLists, ClusterIdentity } from './capabilities.ts';

const { signal } = new AbortController();
const core = ['v1', 'v1/Pod'];
const acme = ['acme.io/v1', 'acme.io/v1/Widget'];
const all = [...acme, ...core];

function discovery(apiVersions: readonly string[], failed: Readonly<Record<string, string>> = {}): ApiDiscovery {
  return { preferred: [], served: [], apiVersions, failedGroups: new Map(Object.entries(failed)) };
}

const down = discovery(core, { 'acme.io': 'it is stale' });

describe('capabilitiesOf', () => {
  it.each([
    ['a group that failed', down, undefined],
    ['every group but core that failed', discovery(core, { '*': 'no answer' }), undefined],
    ['a server that may not name everything yet', discovery(core), 'it has just started'],
  ])('uses the last complete list for %s', (_what, found, unsure) => {
    const { apiVersions, missing, hasCompleteList } = capabilitiesOf(found, unsure, all);
    expect([apiVersions, missing.size, hasCompleteList]).toEqual([all, 1, true]);
    expect(capabilitiesOf(found, unsure, undefined).hasCompleteList).toBe(false);
  });

  it('uses a complete discovery as it is, so removed groups are gone', () => {
    expect(capabilitiesOf(discovery(core), undefined, all)).toEqual({
      apiVersions: core,
      missing: new Map(),
      hasCompleteList: true,
    });
  });

  it('includes all served versions, and earlier ones only of missing groups', () => {
    const groups = fc.subarray(['', 'acme.io', 'apps', 'v1beta.io']);
    const text = (group: string): string => (group === '' ? 'v1' : `${group}/v1`);
    fc.assert(
      fc.property(groups, groups, groups, (now, before, failed) => {
        const served = now.map(text).sort();
        const found = discovery(served, Object.fromEntries(failed.map((group) => [group, 'down'])));
        const { apiVersions } = capabilitiesOf(found, undefined, before.map(text));
        const expected = [...now, ...before.filter((group) => failed.includes(group))].map(text);
        expect(apiVersions).toEqual([...new Set(expected)].sort());
      }),
    );
  });
});

class Lists implements ApiVersionLists {
  readonly kept = new Map<string, readonly string[]>();
  saves = 0;

  load({ server, uid }: ClusterIdentity): Promise<readonly string[] | undefined> {
    return Promise.resolve(this.kept.get(`${server} ${uid}`));
  }

  save({ server, uid }: ClusterIdentity, apiVersions: readonly string[]): Promise<void> {
    this.saves += 1;
    this.kept.set(`${server} ${uid}`, apiVersions);
    return Promise.resolve();
  }
}

function capabilities(lists: Lists, identity: () => string): ClusterCapabilities {
  const get = async (): Promise<KubeObject> => {
    const metadata = { name: 'kube-system', uid: identity() };
    return { apiVersion: 'v1', kind: 'Namespace', metadata };
  };
  const common = { server: 'https://a', clock: new FakeClock(), logger: silentLogger };
  return new ClusterCapabilities({ ...common, lists, client: { get } });
}

const refused = (code: number) => (): string => {
  throw new KubeApiError({ code, reason: 'Refused', message: 'no' }, 'get');
};

describe('the capabilities of a cluster', () => {
  it('are the same after a restart', async () => {
    const lists = new Lists();
    await capabilities(lists, () => 'one').note(discovery(all), undefined, signal);
    const next = capabilities(lists, () => 'one');
    await next.load(signal);
    expect(next.of(down, undefined)).toMatchObject({ apiVersions: all, hasCompleteList: true });
  });

  it('are not those of an earlier cluster with the same address', async () => {
    const lists = new Lists();
    await capabilities(lists, () => 'one').note(discovery(all), undefined, signal);
    const next = capabilities(lists, () => 'rebuilt');
    await next.load(signal);
    expect(next.of(down, undefined)).toMatchObject({ apiVersions: core, hasCompleteList: false });
  });

  it.each([403, 404])('are known by the address where the identity may not be read (%d)', async (code) => {
    const lists = new Lists();
    await capabilities(lists, refused(code)).note(discovery(all), undefined, signal);
    expect([...lists.kept.keys()]).toEqual(['https://a ']);
    const next = capabilities(lists, refused(code));
    await next.load(signal);
    expect(next.of(down, undefined).apiVersions).toEqual(all);
  });

  it("are neither stored nor loaded while the cluster's identity is unknown", async () => {
    const lists = new Lists();
    lists.kept.set('https://a ', ['foreign.io/v1']);
    const one = capabilities(lists, refused(503));
    await one.load(signal);
    expect(one.of(down, undefined)).toMatchObject({ apiVersions: core, hasCompleteList: false });
    await one.note(discovery(all), undefined, signal);
    expect(lists.saves).toBe(0);
  });

  it('are stored once per list, and never while a group is missing or a kind is undiscovered', async () => {
    const lists = new Lists();
    const one = capabilities(lists, () => 'one');
    const found = discovery(all);
    await one.note(down, undefined, signal);
    await one.note(found, 'it has just started', signal);
    expect(lists.saves).toBe(0);
    for (const each of [found, found, discovery([...all])]) await one.note(each, undefined, signal);
    expect(lists.saves).toBe(1);
  });

  it('are the same value until something changes', async () => {
    const one = capabilities(new Lists(), () => 'one');
    expect(one.of(down, undefined)).toBe(one.of(down, undefined));
    const before = one.of(down, undefined);
    await one.note(discovery(all), undefined, signal);
    expect(one.of(down, undefined)).not.toBe(before);
  });
});
