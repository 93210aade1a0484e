import { formatSlots, membersKey, parseSlots, slotsConfigMap, slotsKey } from '../documents/slots-document.ts';
import { tableConfigMap, tableKey } from '../documents/table-document.ts';
import type { ConfigMapLoss } from './scenario.ts';
import type { SimulatedHub } from './simulated-hub.ts';
import type { VirtualTime } from './virtual-time.ts';

/* Writes of third parties to the two ConfigMaps. */

/** Deletes, corrupts or restores a ConfigMap. */
export function lose(hub: SimulatedHub, which: 'slots' | 'table', how: ConfigMapLoss, back: number): void {
  const name = which === 'slots' ? slotsConfigMap : tableConfigMap;
  if (how === 'deleted') hub.remove('ConfigMap', name);
  else if (how === 'emptied') hub.put('ConfigMap', name, { data: {} });
  else if (how === 'blanked' || how === 'unkeyed') takeNamesOut(hub, how === 'blanked' ? '[]' : undefined);
  else if (how === 'restored') hub.restore('ConfigMap', name, back);
  else hub.put('ConfigMap', name, { data: { [which === 'slots' ? slotsKey : tableKey]: '{"oops":[' } });
}

/**
 * Removes names as Argo CD's controller does with a list longer than expected, or as a user does
 * with a key.
 */
function takeNamesOut(hub: SimulatedHub, list: string | undefined): void {
  const members = slotsData(hub)[membersKey];
  const kept = members === undefined ? {} : { [membersKey]: members };
  hub.put('ConfigMap', slotsConfigMap, { data: { ...kept, ...(list === undefined ? {} : { [slotsKey]: list }) } });
}

/**
 * Simulates an Argo CD controller that holds a slot for a while: it renews by its clock and obeys
 * no table.
 */
export function intrude(hub: SimulatedHub, time: VirtualTime, slot: number, ms: number): void {
  const until = time.now + ms;
  const beat = (): void => {
    const data = slotsData(hub);
    const found = parseSlots(data);
    if (found.state !== 'ok' || time.now > until) return;
    const entry = { slot, holder: 'go-pod', incarnation: 'argocd/go-pod', renewals: time.now, acked: 0 };
    const held = found.value.get(slot)?.holder;
    if (held !== undefined && held !== 'go-pod') return;
    const slots = new Map(found.value).set(slot, { ...entry, heartbeat: time.now });
    hub.put('ConfigMap', slotsConfigMap, { data: { ...data, ...formatSlots(slots, slots.size) } });
    time.at(time.now + 10_000, beat);
  };
  beat();
}

function slotsData(hub: SimulatedHub): Readonly<Record<string, unknown>> {
  return (hub.get('ConfigMap', slotsConfigMap)?.['data'] ?? {}) as Readonly<Record<string, unknown>>;
}
