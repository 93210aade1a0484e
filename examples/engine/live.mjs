// Follows a cluster until a Deployment and its pods are healthy, and walks their tree.
import { openCache } from '@driftless/engine/live';
import { kubeConfigOf, startCluster } from '@driftless/engine/sim';

const cluster = await startCluster({ workloads: { enabled: true, delayMs: 1 } });
const kubeConfig = kubeConfigOf(cluster); // for a real cluster: process.env.KUBECONFIG
const cache = await openCache({ kubeConfig, keep: ({ kind, spec }) => (kind === 'Deployment' ? spec.replicas : null) });

const labels = { app: 'web' };
const pod = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } };
cluster.store.create({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default', labels },
  spec: { replicas: 2, selector: { matchLabels: labels }, template: pod },
});
const labelled = { namespaces: ['default'], matchLabels: labels };
await new Promise((resolve) => {
  const check = async () => {
    const { objects } = await cache.list(labelled);
    if (objects.filter(({ health }) => health?.status === 'Healthy').length === 4) resolve();
  };
  cache.subscribe({ created: check, updated: check });
});

const { objects: roots } = await cache.list({ ...labelled, topLevelOnly: true });
for (const { kind, name, kept } of roots) console.log(`${kind} ${name} wants ${kept} replicas`);
for await (const { kind, owners } of cache.iterateTree(roots)) console.log(kind, owners.length);

console.log(cache.apiMetadata({ group: 'apps', kind: 'Deployment' }).resource);
const { incomplete } = await cache.list({ kinds: [{ group: 'example.com', kind: 'Gone' }] });
console.log(incomplete[0].reason);
await cache.close();
await cluster.close();
