import { abortable, aborted, isObject } from '#base';
import type { Clock, Random, Runnable } from '#base';
import { apiResource, createInformer } from '#kube';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import type { Logger } from '#telemetry';
import { parseSlots, slotsConfigMap } from './slots-document.ts';
import type { Slots } from './slots-document.ts';
import { compressedKey, tableConfigMap, tableKey } from './table-document.ts';

export interface HubHintsDeps {
  readonly client: Pick<KubeClient, 'list' | 'watch' | 'server'>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The holders as a watch brought them. */
  readonly onSlots: (slots: Slots) => void;
  /** Somebody has written what others may wait for: worth a look. */
  readonly onNews: (what: 'slots' | 'table') => void;
}

/** Watches of the two ConfigMaps. Only hints: nothing of the protocol depends on their coming in order, in time, or at all. */
export function hubHints(deps: HubHintsDeps): readonly Runnable[] {
  return [hint(deps, 'slots', slotsConfigMap), hint(deps, 'table', tableConfigMap)];
}

function hint({ onSlots, onNews, ...deps }: HubHintsDeps, what: 'slots' | 'table', name: string): Runnable {
  const resource = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
  const informer = createInformer({ ...deps, resource, fieldSelector: `metadata.name=${name}` });
  let known = '';
  const stop = informer.onEvent(({ type, object }) => {
    const slots = what === 'slots' && type !== 'deleted' ? slotsOf(object) : undefined;
    if (slots !== undefined) onSlots(slots);
    // Renewals of others are no news; a shard that changes hands and an acknowledgment are.
    const other = what === 'table' ? tableTextOf(object) : (object.metadata.resourceVersion ?? '');
    const news = slots === undefined ? `${type === 'deleted' ? type : ''} ${other}` : newsOf(slots);
    if (news !== known) onNews(what);
    known = news;
  });
  return {
    name: `watch of ${name}`,
    run: (signal) =>
      abortable(informer.run(signal), signal)
        .catch(() => aborted(signal))
        .finally(stop),
  };
}

function slotsOf(object: KubeObject): Slots | undefined {
  const data = object['data'];
  const found = isObject(data) ? parseSlots(data) : undefined;
  return found?.state === 'ok' ? found.value : undefined;
}

/** Without the claims beside it: they tell something to their slot's holder only, who has written them or looks. */
function tableTextOf(object: KubeObject): string {
  const [data, binaryData] = [object['data'], object['binaryData']];
  const text = isObject(data) ? data[tableKey] : undefined;
  const packed = isObject(binaryData) ? binaryData[compressedKey] : undefined;
  return `${typeof text === 'string' ? text : ''} ${typeof packed === 'string' ? packed : ''}`;
}

/** What others wait for, without the renewals. */
function newsOf(slots: Slots): string {
  const news = [...slots.values()].map(({ slot, incarnation, acked, warm }) =>
    [slot, incarnation, acked, warm].join(' '),
  );
  return news.join('\n');
}
