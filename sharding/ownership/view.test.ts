import { expect, it } from '@jest/globals';
import { appKeyOf } from '#model';
import type { Application, ApplicationDestination, Cluster } from '#model';
import type { TableDocument, TableEntry } from '../documents/table-document.ts';
import { clusterOf } from '../testing/cluster.ts';
import { ClusterView } from './view.ts';

const a = clusterOf('a');
const b = clusterOf('b');

function appOf(destination: ApplicationDestination): Application {
  return { metadata: { namespace: 'argocd', name: 'app' }, spec: { destination } } as unknown as Application;
}

/** A table with the names of each server. */
function tableOf(names: Readonly<Record<string, readonly string[]>>): TableDocument {
  const entry = (list: readonly string[]): TableEntry => ({
    names: list,
    shards: [0],
    homes: [0],
    waits: [[]],
    everyone: 0,
  });
  const entries = new Map(Object.entries({ '': [], ...names }).map(([server, list]) => [server, entry(list)]));
  return { epoch: 1000, replicas: 1, algorithm: 'legacy', slots: 1, entries, movedAt: new Map() };
}

function placed(destination: ApplicationDestination, cluster: Cluster | undefined, table: TableDocument): unknown {
  const app = appOf(destination);
  const view = new ClusterView([a, b], [app], { algorithm: 'legacy', defaultParts: 1, weighting: 'applications' });
  return view.placeOf(appKeyOf(app), cluster, table)?.server;
}

it.each<[string, ApplicationDestination, Cluster | undefined, TableDocument, string | undefined]>([
  ['its server', { server: a.server }, a, tableOf({ [a.server]: ['a'] }), a.server],
  ['its name', { name: 'a' }, a, tableOf({ [a.server]: ['a'], [b.server]: ['b'] }), a.server],
  ['no cluster, and the table knows none', { name: 'x' }, undefined, tableOf({ [a.server]: ['a'] }), ''],
  ['a name that the table gives to another cluster', { name: 'a' }, a, tableOf({ [b.server]: ['a'] }), undefined],
  ['a name that the table gives twice', { name: 'a' }, a, tableOf({ [a.server]: ['a'], [b.server]: ['a'] }), undefined],
  ['no cluster, but the table knows one', { name: 'a' }, undefined, tableOf({ [a.server]: ['a'] }), undefined],
  ['a server that the table lacks', { server: a.server }, a, tableOf({ [b.server]: ['b'] }), undefined],
])('an Application belongs to the cluster of %s, unless the table disagrees', (_what, to, cluster, table, server) => {
  expect(placed(to, cluster, table)).toBe(server);
});
