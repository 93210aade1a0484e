import { resourceKey } from '#model';
import type { ResourceKey } from '#model';
import type { NodeStore } from '../store/node-store.ts';
import { addAmounts } from '../objects/pod-facts.ts';
import type { ResourceAmounts, PodFacts } from '../objects/pod-facts.ts';
import type { LiveMachine } from '../types.ts';

/**
 * The cached Nodes of these pods, sorted by name. Finished pods count only in `requestedByPods`, as
 * in Argo CD's getAppHosts (appcontroller.go).
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
    const active = sumRequests(own.filter(({ ended }) => !ended));
    const others = Object.keys(all).map((resource) => [resource, (all[resource] ?? 0) - (active[resource] ?? 0)]);
    return [
      {
        name,
        ...machine,
        requestedByPods: sumRequests(own),
        requestedByOthers: Object.fromEntries(others) as ResourceAmounts,
      },
    ];
  });
}

function sumRequests(pods: readonly PodFacts[]): ResourceAmounts {
  const sum: Record<string, number> = {};
  for (const { requests } of pods) addAmounts(sum, requests);
  return sum;
}
