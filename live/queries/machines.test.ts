import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { defaultSettings, resourceKey } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import { machinesOf } from './machines.ts';
import { createNodeReader } from '../objects/stored-node.ts';
import { NodeStore } from '../store/node-store.ts';

const nodeOf = createNodeReader(defaultSettings, ({ kind }) => kind !== 'Node');
const pods = (...names: readonly string[]): readonly ResourceKey[] =>
  names.map((name) => resourceKey('', 'Pod', 'ns', name));

interface PodSpec {
  readonly name: string;
  readonly machine: string;
  readonly cpu: string;
  readonly phase?: string;
}

function pod({ name, machine, cpu, phase = 'Running' }: PodSpec): KubeObject {
  const containers = [{ name: 'a', resources: { requests: { cpu, memory: '1Ki', 'nvidia.com/gpu': '1' } } }];
  const metadata = { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '1' };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: machine, containers }, status: { phase } };
}

function machine(name: string, more: object = {}): KubeObject {
  const capacity = { cpu: '4', memory: '2Ki', storage: '0', pods: '110' };
  const nodeInfo = { kubeletVersion: 'v1.36.3', swap: { capacity: 1 } };
  const metadata = { name, uid: `uid-${name}`, resourceVersion: '1', labels: { zone: 'a' }, ...more };
  return { apiVersion: 'v1', kind: 'Node', metadata, status: { capacity, nodeInfo } };
}

function storeOf(...objects: readonly KubeObject[]): NodeStore {
  const store = new NodeStore();
  for (const object of objects) store.put(nodeOf(object));
  return store;
}

describe('the machines of pods', () => {
  it('have a capacity, the requests of these Pods, and those of all others', () => {
    const store = storeOf(
      machine('n1'),
      machine('idle'),
      pod({ name: 'own', machine: 'n1', cpu: '250m' }),
      pod({ name: 'own-done', machine: 'n1', cpu: '100m', phase: 'Succeeded' }),
      pod({ name: 'other', machine: 'n1', cpu: '1' }),
      pod({ name: 'other-done', machine: 'n1', cpu: '2', phase: 'Failed' }),
      pod({ name: 'elsewhere', machine: 'idle', cpu: '1' }),
    );
    expect(machinesOf(store, pods('own', 'own-done', 'own', 'gone'))).toEqual([
      {
        name: 'n1',
        capacity: { cpu: 4000, memory: 2_048_000 },
        requestedByPods: { cpu: 350, memory: 2_048_000 },
        requestedByOthers: { cpu: 1000, memory: 1_024_000 },
        system: { kubeletVersion: 'v1.36.3' },
        labels: { zone: 'a' },
      },
    ]);
  });

  it('are missing if their Node is not cached, or if a Pod is not scheduled', () => {
    const store = storeOf(
      machine('n2'),
      pod({ name: 'a', machine: 'n1', cpu: '1' }),
      pod({ name: 'b', machine: '', cpu: '1' }),
      pod({ name: 'c', machine: 'n2', cpu: '1' }),
    );
    expect(machinesOf(store, pods('a', 'b', 'c')).map(({ name }) => name)).toEqual(['n2']);
    expect(machinesOf(store, [])).toEqual([]);
  });

  it('ignore malformed fields of a Node', () => {
    const odd = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', labels: 'x' }, status: { capacity: 3 } };
    const store = storeOf(odd as object as KubeObject, pod({ name: 'a', machine: 'n1', cpu: '1' }));
    expect(machinesOf(store, pods('a'))).toMatchObject([{ capacity: {}, system: {}, labels: {} }]);
  });

  it('have the same sums as a scan of all Pods, over random histories', () => {
    const spec = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      machine: fc.constantFrom('', 'n1', 'n2'),
      cpu: fc.constantFrom('1', '3m', '250m'),
      phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed'),
    });
    fc.assert(
      fc.property(fc.array(fc.oneof(spec, fc.constantFrom('a', 'b', 'c', 'd'))), (steps) => {
        const store = storeOf(machine('n1'), machine('n2'), pod({ name: 'own', machine: 'n1', cpu: '5' }));
        const there = new Map<string, PodSpec>();
        for (const step of steps) {
          if (typeof step === 'string') {
            there.delete(step);
            for (const key of pods(step)) store.remove(key);
          } else {
            there.set(step.name, step);
            store.put(nodeOf(pod(step)));
          }
        }
        const milli = { '1': 1000, '3m': 3, '250m': 250 } as const;
        const expected = [...there.values()]
          .filter((each) => each.machine === 'n1' && each.phase !== 'Succeeded' && each.phase !== 'Failed')
          .reduce((sum, { cpu }) => sum + milli[cpu as keyof typeof milli], 0);
        expect(machinesOf(store, pods('own'))[0]?.requestedByOthers['cpu'] ?? 0).toBe(expected);
      }),
    );
  });
});
