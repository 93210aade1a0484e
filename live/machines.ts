import { resourceKey } from '#model';
import type { ResourceKey } from '#model';
import type { NodeStore } from './node-store.ts';
import { add } from './pod.ts';
import type { Amounts, PodFacts } from './pod.ts';
import type { LiveMachine } from './types.ts';

/**
 * The machines that these pods run on, by name, as far as the cache has their Node objects. As in Argo CD a pod of `pods` counts also after it has
 * ended, any other only until then. Source: Argo CD appcontroller.go getAppHosts.
 */
export function machinesOf(store: NodeStore, pods: readonly ResourceKey[]): readonly LiveMachine[] {
  const byMachine = new Map<string, PodFacts[]>();
  for (const key of new Set(pods)) {
    const pod = store.get(key)?.details?.pod;
    if (pod === undefined || pod.node === '') continue;
    byMachine.set(pod.node, [...(byMachine.get(pod.node) ?? []), pod]);
  }
  return [...byMachine.keys()].sort().flatMap((name) => {
    const machine = store.get(resourceKey('', 'Node', '', name))?.details?.machine;
    if (machine === undefined) return [];
    const own = byMachine.get(name) ?? [];
    const all = store.load.of(name);
    const active = total(own.filter(({ ended }) => !ended));
    const others = Object.keys(all).map((resource) => [resource, (all[resource] ?? 0) - (active[resource] ?? 0)]);
    return [
      { name, ...machine, requestedByPods: total(own), requestedByOthers: Object.fromEntries(others) as Amounts },
    ];
  });
}

function total(pods: readonly PodFacts[]): Amounts {
  const sum: Record<string, number> = {};
  for (const { requests } of pods) add(sum, requests);
  return sum;
}
