import { isObject } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { resourceAmounts, objectAt } from './pod-facts.ts';
import type { ResourceAmounts } from './pod-facts.ts';

/** The fields of a Node object that the UI shows. */
export interface MachineFacts {
  readonly capacity: ResourceAmounts;
  readonly system: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** Like Argo CD's populateHostNodeInfo in controller/cache/info.go. */
export function machineFacts(node: KubeObject): MachineFacts {
  const status = objectAt(node, 'status');
  return {
    capacity: resourceAmounts(objectAt(status, 'capacity')),
    system: texts(objectAt(status, 'nodeInfo')),
    labels: texts(node.metadata.labels),
  };
}

function texts(values: Json | undefined): Readonly<Record<string, string>> {
  const found = Object.entries(isObject(values) ? values : {});
  return Object.fromEntries(found.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
