import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatSlots, parseSlots, slotsKey } from './slots-document.ts';
import type { SlotRecord } from './slots-document.ts';

const record = (heartbeat: number): SlotRecord => ({
  slot: 0,
  holder: 'ctl-0',
  incarnation: 'p0/0',
  renewals: 1,
  acked: 0,
  heartbeat,
});
const heartbeatOf = (data: Readonly<Record<string, string>>): unknown =>
  (JSON.parse(data[slotsKey] ?? '[]') as readonly { readonly HeartbeatTime?: unknown }[])[0]?.HeartbeatTime;

// T-LEASE-1
describe('times in leases', () => {
  // A lease is an entry of Argo CD's ConfigMap; its HeartbeatTime is a metav1.Time: UTC, whole
  // seconds.
  const end = Date.UTC(9999, 11, 31);

  // T-LEASE-1
  it('are written like a Kubernetes Time for any clock value, and read back', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: end, noNaN: true }), (ms) => {
        const data = formatSlots(new Map([[0, record(ms)]]), 1);
        expect(heartbeatOf(data)).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/);
        const found = parseSlots(data);
        expect(found.state === 'ok' && found.value.get(0)?.heartbeat).toBe(Math.floor(Math.floor(ms) / 1000) * 1000);
      }),
    );
    expect(heartbeatOf(formatSlots(new Map([[0, record(0)]]), 1))).toBeNull();
  });

  // T-LEASE-1
  it('appear nowhere else but in the Lease of the agent, whose times need six fractional digits', () => {
    const folders = ['cli', 'controller', 'kube', 'live', 'publish', 'settings', 'sharding', 'sync', 'desired'];
    const sources = folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
        .map((name) => `${folder}/${name}`),
    );
    expect(sources.length).toBeGreaterThan(100);
    const naming = sources.filter((name) =>
      /apiResource\('coordination|leases'|MicroTime/.test(readFileSync(name, 'utf8')),
    );
    expect(naming).toEqual(['cli/agent/lease-holder.ts']);
  });
});

describe('the process of a holder', () => {
  const holder = (home: SlotRecord['home'] | Readonly<Record<string, unknown>>): SlotRecord['home'] => {
    const data = formatSlots(new Map([[0, { ...record(1000), home: home as SlotRecord['home'] } as SlotRecord]]), 1);
    const found = parseSlots(data);
    return found.state === 'ok' ? found.value.get(0)?.home : undefined;
  };

  it('is read back as it was written, with and without a start time', () => {
    const place = 'pod/1';
    expect(holder({ place, pid: 7, started: 4711 })).toEqual({ place, pid: 7, started: 4711 });
    expect(holder({ place, pid: 7 })).toEqual({ place, pid: 7 });
  });

  it('loses a start time that is no number, and nothing else', () => {
    expect(holder({ place: 'pod/1', pid: 7, started: 'today' })).toEqual({ place: 'pod/1', pid: 7 });
  });
});

it('clusters that a holder offers are digests: other texts in their list are left out', () => {
  const read = (list: readonly string[]): readonly (readonly string[] | undefined)[] => {
    const found = parseSlots(formatSlots(new Map([[0, { ...record(1000), unreached: list, reaches: list }]]), 1));
    const known = found.state === 'ok' ? found.value.get(0) : undefined;
    return [known?.unreached, known?.reaches];
  };
  expect(read(['a1', 'https://a', 'UPPER', 'eightchr', '', 'b2'])).toEqual([
    ['a1', 'b2'],
    ['a1', 'b2'],
  ]);
  expect(read(['https://a'])).toEqual([undefined, undefined]);
});
