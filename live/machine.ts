import { isObject } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { amounts, objectAt } from './pod.ts';
import type { Amounts } from './pod.ts';

/** What a Node object says of its machine. */
export interface MachineFacts {
  readonly capacity: Amounts;
  readonly system: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** Source: Argo CD controller/cache/info.go populateHostNodeInfo. */
export function machineFacts(node: KubeObject): MachineFacts {
  const status = objectAt(node, 'status');
  return {
    capacity: amounts(objectAt(status, 'capacity')),
    system: texts(objectAt(status, 'nodeInfo')),
    labels: texts(node.metadata.labels),
  };
}

function texts(values: Json | undefined): Readonly<Record<string, string>> {
  const found = Object.entries(isObject(values) ? values : {});
  return Object.fromEntries(found.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
