import type { HealthStatus, KubeObject } from '#model';
import { argo } from './argo.ts';
import { cluster } from './cluster.ts';
import { crossplane } from './crossplane.ts';
import { databases } from './databases.ts';
import { delivery } from './delivery.ts';
import { evaluateCheck } from './rules/check.ts';
import type { HealthCheck } from './rules/check.ts';
import { gateway } from './gateway.ts';
import { kafka } from './kafka.ts';
import { kruise } from './kruise.ts';
import { kserve } from './knative.ts';
import { observability } from './observability.ts';
import { openshift } from './openshift.ts';
import { operators } from './operators.ts';
import { promoter } from './promoter.ts';
import { storage } from './storage.ts';
import { ObjectView } from './rules/view.ts';

/** Every check of a custom kind, by ecosystem. One row each in docs/health.md. */
export const customChecks: readonly HealthCheck[] = [
  argo,
  cluster,
  crossplane,
  databases,
  delivery,
  gateway,
  kafka,
  kruise,
  kserve,
  observability,
  openshift,
  operators,
  promoter,
  storage,
].flat();

const exact = new Map<string, HealthCheck>();
/** Checks for every kind of a group, and for all groups under a domain. */
const ofGroup = new Map<string, HealthCheck>();
const ofDomain: (readonly [suffix: string, check: HealthCheck])[] = [];
for (const check of customChecks) {
  for (const key of check.kinds) {
    const [group = '', kind] = key.split('/');
    if (kind !== '*') exact.set(key, check);
    else if (group.startsWith('*.')) ofDomain.push([group.slice(1), check]);
    else ofGroup.set(group, check);
  }
}

/** The check of a custom kind: its own, otherwise that of its group. Undefined if there is none. */
export function customCheck(group: string, kind: string): ((object: KubeObject) => HealthStatus) | undefined {
  const found =
    exact.get(`${group}/${kind}`) ?? ofGroup.get(group) ?? ofDomain.find(([suffix]) => group.endsWith(suffix))?.[1];
  return found === undefined ? undefined : (object) => evaluateCheck(found, new ObjectView(object));
}
