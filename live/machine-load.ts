import { add } from './pod.ts';
import type { Amounts, PodFacts } from './pod.ts';

/**
 * What the pods of each machine ask for, all together, kept while pods come and go: nobody has to walk over all pods of a cluster for one
 * tree. Pods that have ended ask for nothing.
 */
export class MachineLoad {
  readonly #loads = new Map<string, { pods: number; readonly asked: Record<string, number> }>();

  add(pod: PodFacts): void {
    if (!counts(pod)) return;
    const load = this.#loads.get(pod.node) ?? { pods: 0, asked: {} };
    this.#loads.set(pod.node, load);
    load.pods += 1;
    add(load.asked, pod.requests);
  }

  /** A pod that was added before. */
  drop(pod: PodFacts): void {
    const load = counts(pod) ? this.#loads.get(pod.node) : undefined;
    if (load === undefined) return;
    load.pods -= 1;
    for (const [name, value] of Object.entries(pod.requests)) load.asked[name] = (load.asked[name] ?? 0) - value;
    if (load.pods === 0) this.#loads.delete(pod.node);
  }

  of(machine: string): Amounts {
    return this.#loads.get(machine)?.asked ?? {};
  }
}

function counts({ ended, node }: PodFacts): boolean {
  return !ended && node !== '';
}
