import { addAmounts } from '../objects/pod-facts.ts';
import type { ResourceAmounts, PodFacts } from '../objects/pod-facts.ts';

/**
 * The sum of Pod requests on each Node, updated incrementally so that a tree needs no scan of all
 * Pods. Finished Pods request nothing.
 */
export class MachineLoad {
  readonly #loads = new Map<string, { pods: number; readonly asked: Record<string, number> }>();

  add(pod: PodFacts): void {
    if (!isCounted(pod)) return;
    const load = this.#loads.get(pod.node) ?? { pods: 0, asked: {} };
    this.#loads.set(pod.node, load);
    load.pods += 1;
    addAmounts(load.asked, pod.requests);
  }

  /** Removes a Pod that was added before. */
  drop(pod: PodFacts): void {
    const load = isCounted(pod) ? this.#loads.get(pod.node) : undefined;
    if (load === undefined) return;
    load.pods -= 1;
    for (const [name, value] of Object.entries(pod.requests)) load.asked[name] = (load.asked[name] ?? 0) - value;
    if (load.pods === 0) this.#loads.delete(pod.node);
  }

  of(machine: string): ResourceAmounts {
    return this.#loads.get(machine)?.asked ?? {};
  }
}

function isCounted({ ended, node }: PodFacts): boolean {
  return !ended && node !== '';
}
