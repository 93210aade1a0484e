import { abortable, untilAborted, isObject } from '#base';
import type { Clock, RandomSource, Runnable } from '#base';
import { apiResource, createInformer } from '#kube';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import type { Logger } from '#telemetry';
import { parseSlots, slotsConfigMap } from './slots-document.ts';
import type { SlotHolders } from './slots-document.ts';
import { compressedKey, tableConfigMap, tableKey } from './table-document.ts';

export interface HubHintsDeps {
  readonly client: Pick<KubeClient, 'list' | 'watch' | 'server'>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  /** Holders as delivered by the watch, with their ConfigMap. */
  readonly onSlots: (slots: SlotHolders, object: KubeObject) => void;
  /** Another replica wrote something that this one may be waiting for. */
  readonly onNews: (what: 'slots' | 'table') => void;
}

/**
 * Watches both ConfigMaps. Only hints: the protocol does not depend on their order, timing or
 * delivery. A write of the own record may build on slots from the watch, since the hub compares.
 */
export function hubHints(deps: HubHintsDeps): readonly Runnable[] {
  return [hint(deps, 'slots', slotsConfigMap), hint(deps, 'table', tableConfigMap)];
}

function hint({ onSlots, onNews, ...deps }: HubHintsDeps, what: 'slots' | 'table', name: string): Runnable {
  const resource = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
  const informer = createInformer({ ...deps, resource, fieldSelector: `metadata.name=${name}` });
  let known = '';
  const stop = informer.onEvent(({ type, object }) => {
    const slots = what === 'slots' && type !== 'deleted' ? slotsOf(object) : undefined;
    if (slots !== undefined) onSlots(slots, object);
    const other = what === 'table' ? tableTextOf(object) : (object.metadata.resourceVersion ?? '');
    const news = slots === undefined ? `${type === 'deleted' ? type : ''} ${other}` : relevantState(slots);
    if (news !== known) onNews(what);
    known = news;
  });
  return {
    name: `watch of ${name}`,
    run: (signal) =>
      abortable(informer.run(signal), signal)
        .catch(() => untilAborted(signal))
        .finally(stop),
  };
}

function slotsOf(object: KubeObject): SlotHolders | undefined {
  const data = object['data'];
  const found = isObject(data) ? parseSlots(data) : undefined;
  return found?.state === 'ok' ? found.value : undefined;
}

/** Excludes the claims: only the holder of the slot needs them, and it wrote them or polls. */
function tableTextOf(object: KubeObject): string {
  const [data, binaryData] = [object['data'], object['binaryData']];
  const text = isObject(data) ? data[tableKey] : undefined;
  const packed = isObject(binaryData) ? binaryData[compressedKey] : undefined;
  return `${typeof text === 'string' ? text : ''} ${typeof packed === 'string' ? packed : ''}`;
}

/** The fields that others wait for: renewals are no news, a new holder or an acknowledgment is. */
export function relevantState(slots: SlotHolders): string {
  const news = [...slots.values()].map(({ slot, incarnation, acked, warm, released }) =>
    [slot, incarnation, acked, warm, released].join(' '),
  );
  return news.join('\n');
}
