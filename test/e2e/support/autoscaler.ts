/** Stabilization window and policies of a HorizontalPodAutoscaler in one direction. */
export interface ScalingRules {
  readonly stabilizationWindowSeconds?: number;
  readonly policies?: readonly { readonly type: string; readonly value: number; readonly periodSeconds: number }[];
}

/**
 * The supported part of a HorizontalPodAutoscaler (autoscaling/v2): one pod metric with a target
 * average.
 */
export interface AutoscalerSpec {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  readonly metrics: readonly [
    {
      readonly type: 'Pods';
      readonly pods: {
        readonly metric: { readonly name: string };
        readonly target: { readonly type: 'AverageValue'; readonly averageValue: string };
      };
    },
  ];
  readonly behavior: { readonly scaleUp: ScalingRules; readonly scaleDown: ScalingRules };
}

/** The metric of a pod; undefined if the pod is not ready or does not answer. */
export type PodMetric = number | undefined;

const tolerance = 0.1;

/**
 * Test double of kube-controller-manager's autoscaling decision, as Kubernetes documents it: enough
 * replicas to bring the average to the target, rounded up; no change within the tolerance; pods
 * without a metric count as idle when scaling up and as on target when scaling down; the most
 * conservative recommendation within the window; policies limit the change per period.
 */
export class AutoscalerDouble {
  readonly #spec: AutoscalerSpec;
  #wanted: { readonly at: number; readonly replicas: number }[] = [];
  #changes: { readonly at: number; readonly by: number }[] = [];

  constructor(spec: AutoscalerSpec) {
    this.#spec = spec;
  }

  /** Returns the desired number of replicas. `at` is in seconds. */
  decide(at: number, current: number, pods: readonly PodMetric[]): number {
    const { minReplicas, maxReplicas, metrics, behavior } = this.#spec;
    const target = Number(metrics[0].pods.target.averageValue);
    const wanted = wantedReplicas(current, pods, target);
    this.#wanted.push({ at, replicas: wanted });
    const within = (seconds: number): number[] =>
      this.#wanted.filter((each) => at - each.at <= seconds).map(({ replicas }) => replicas);
    const up = Math.min(...within(behavior.scaleUp.stabilizationWindowSeconds ?? 0), wanted);
    const down = Math.max(...within(behavior.scaleDown.stabilizationWindowSeconds ?? 300), wanted);
    const stable = up > current ? up : down < current ? down : current;
    const allowed = stable > current ? this.#most(at, current) : this.#fewest(at, current);
    const limited = stable > current ? Math.min(stable, allowed) : Math.max(stable, allowed);
    const next = Math.min(maxReplicas, Math.max(minReplicas, limited));
    if (next !== current) this.#changes.push({ at, by: next - current });
    return next;
  }

  #most(at: number, current: number): number {
    const { policies = [] } = this.#spec.behavior.scaleUp;
    const limits = policies.map((policy) => {
      const before = current - this.#changed(at, policy.periodSeconds, 1);
      return policy.type === 'Pods' ? before + policy.value : Math.ceil(before * (1 + policy.value / 100));
    });
    return limits.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...limits);
  }

  #fewest(at: number, current: number): number {
    const { policies = [] } = this.#spec.behavior.scaleDown;
    const limits = policies.map((policy) => {
      const before = current + this.#changed(at, policy.periodSeconds, -1);
      return policy.type === 'Pods' ? before - policy.value : Math.ceil(before * (1 - policy.value / 100));
    });
    return limits.length === 0 ? 0 : Math.min(...limits);
  }

  /** The change in one direction within the period. */
  #changed(at: number, periodSeconds: number, sign: 1 | -1): number {
    const recent = this.#changes.filter(({ at: then, by }) => at - then < periodSeconds && by * sign > 0);
    return recent.reduce((sum, { by }) => sum + by * sign, 0);
  }
}

function wantedReplicas(current: number, pods: readonly PodMetric[], target: number): number {
  const known = pods.filter((value) => value !== undefined);
  if (known.length === 0) return current;
  const sum = known.reduce((total, value) => total + value, 0);
  const ratio = sum / (target * known.length);
  if (Math.abs(ratio - 1) <= tolerance) return current;
  const unknown = pods.length - known.length;
  if (unknown === 0) return Math.ceil(sum / target);
  const assumed = ratio > 1 ? 0 : target;
  const total = sum + unknown * assumed;
  const second = total / (target * pods.length);
  // Missing metrics never reverse the direction.
  if (Math.abs(second - 1) <= tolerance || ratio > 1 !== second > 1) return current;
  const wanted = Math.ceil(total / target);
  return ratio > 1 ? Math.max(current, wanted) : Math.min(current, wanted);
}
