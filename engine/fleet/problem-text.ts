import { slotsConfigMap, tableConfigMap } from '#sharding';

/** Words of the controller's conditions, and those of a fleet of your own. Order matters. */
const words: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`the ConfigMaps ${slotsConfigMap} and ${tableConfigMap}`), 'the documents of the fleet'],
  [new RegExp(`^ConfigMap \\S+/${slotsConfigMap} `), 'the document "holders" '],
  [new RegExp(`^ConfigMap \\S+/${tableConfigMap} `), 'the document "table" '],
  [
    /until all replicas are known again, some clusters have no owner$/,
    'until all members are known, some items have none',
  ],
  [/Raise its CPU request or limit, or --heartbeat-seconds$/, 'Give it more, or raise heartbeatMs'],
  [/the hub cannot be reached$/, 'the documents cannot be reached'],
  [
    /the hub did not answer the renewal in time. Check its API server/,
    'the store did not answer the renewal in time. Check it',
  ],
  [/^writes of shard (\S+) are paused: its lease/, 'writes of this member (slot $1) are paused: its lease'],
  [/^this replica waits for a free shard of (\d+) /, 'this member stands by: it waits for a free slot of $1 '],
  [/; a Deployment is replaced pod by pod with maxSurge: 0 only$/, ''],
];

/** A condition of the controller for users of a fleet, who have no hub, flags or ConfigMaps. */
export function problemText(message: string): string {
  return words.reduce((text, [controllers, ours]) => text.replace(controllers, ours), message);
}
