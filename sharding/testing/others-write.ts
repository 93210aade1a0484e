import { formatSlots, membersKey, parseSlots, slotsConfigMap, slotsKey } from '../slots-document.ts';
import { tableConfigMap, tableKey } from '../table-document.ts';
import type { Loss } from './scenario.ts';
import type { SimulatedHub } from './simulated-hub.ts';
import type { VirtualTime } from './virtual-time.ts';

/* What others than our replicas do to the two ConfigMaps. */

/** Removes, spoils or brings back a ConfigMap. */
export function lose(hub: SimulatedHub, which: 'slots' | 'table', how: Loss, back: number): void {
  const name = which === 'slots' ? slotsConfigMap : tableConfigMap;
  if (how === 'deleted') hub.remove('ConfigMap', name);
  else if (how === 'emptied') hub.put('ConfigMap', name, { data: {} });
  else if (how === 'blanked' || how === 'unkeyed') takeNamesOut(hub, how === 'blanked' ? '[]' : undefined);
  else if (how === 'restored') hub.restore('ConfigMap', name, back);
  else hub.put('ConfigMap', name, { data: { [which === 'slots' ? slotsKey : tableKey]: '{"oops":[' } });
}

/** What Argo CD's own controller does to a list that is longer than it thinks, and what a person does to a key. */
function takeNamesOut(hub: SimulatedHub, list: string | undefined): void {
  const members = slotsData(hub)[membersKey];
  const kept = members === undefined ? {} : { [membersKey]: members };
  hub.put('ConfigMap', slotsConfigMap, { data: { ...kept, ...(list === undefined ? {} : { [slotsKey]: list }) } });
}

/** A replica of Argo CD's own controller holds a slot for a while: it renews by its clock, obeys nothing, and ends. */
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
