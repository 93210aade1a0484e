// An operator: for each Site a ConfigMap and a Deployment, a status with an inventory, and a finalizer.
import { setTimeout as sleep } from 'node:timers/promises';
import { openCache } from '@driftless/engine/live';
import { kubeConfigOf, startCluster } from '@driftless/engine/sim';
import { openGate, openWriter, runSync } from '@driftless/engine/sync';

const apiVersion = 'example.com/v1';
const finalizer = 'example.com/site';
const retryMs = 5000;

/** The objects of a site. They name it as their owner, so that the cache leads back to it. */
function childrenOf({ metadata: { name, namespace, uid }, spec }) {
  const labels = { site: name };
  const ownerReferences = [{ apiVersion, kind: 'Site', name, uid, controller: true }];
  const metadata = { name, namespace, labels, ownerReferences };
  const containers = [{ name: 'web', image: spec.image }];
  const template = { metadata: { labels }, spec: { containers } };
  const page = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'index.html': spec.text } };
  const deploymentSpec = { replicas: spec.replicas, selector: { matchLabels: labels }, template };
  return [page, { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: deploymentSpec }];
}

/** One run per site at a time; what changes meanwhile is looked at once more. */
function queueOf(reconcile, signal) {
  const isChanged = new Map();
  return async function enqueue(site) {
    const key = `${site.namespace}/${site.name}`;
    const isRunning = isChanged.has(key);
    isChanged.set(key, true);
    if (isRunning) return;
    while (isChanged.get(key)) {
      isChanged.set(key, false);
      await reconcile(site).catch((error) => {
        if (signal.aborted) return;
        console.error(key, error.code, error.message);
        if (error.code === 'KUBE_CONFLICT') isChanged.set(key, true);
        else setTimeout(() => void enqueue(site), retryMs).unref();
      });
    }
    isChanged.delete(key);
  };
}

/** Starts the operator; its return value ends it. */
async function startOperator({ kubeConfig, onStatus }) {
  const cache = await openCache({ kubeConfig });
  const writer = await openWriter({ kubeConfig, gate: openGate(), fieldManager: 'site-operator' });
  const stop = new AbortController();
  const { signal } = stop;

  async function reconcile(ref) {
    const { namespace, name } = ref;
    const { objects } = await cache.read([ref], signal);
    let [site] = objects;
    if (site === undefined) return;
    const { deletionTimestamp, finalizers = [], uid } = site.metadata;
    const isDeleted = deletionTimestamp !== undefined;
    if (isDeleted && !finalizers.includes(finalizer)) return;
    if (!isDeleted && !finalizers.includes(finalizer)) site = await setFinalizers(site, [...finalizers, finalizer]);
    const { phase, message, inventory } = await runSync({
      targets: isDeleted ? [] : childrenOf(site),
      writer,
      cache,
      signal,
      inventory: site.status?.inventory,
      inventoryName: uid,
      options: { prune: true, serverSideApply: true },
    });
    if (isDeleted) {
      if (phase !== 'Succeeded') throw new Error(message);
      // The inventory keeps a child until it is gone. Its deletion then calls `changed` below.
      const others = finalizers.filter((one) => one !== finalizer);
      if (inventory.objects.length === 0) await setFinalizers(site, others);
      return;
    }
    const web = { group: 'apps', kind: 'Deployment', namespace, name };
    const { health } = await cache.waitFor(web, (object) => object !== undefined, { signal });
    const status = { phase, message, health: health.status, inventory };
    cache.observe(await writer.patchStatus(site, status, signal));
    onStatus(name, status);
  }

  async function setFinalizers(site, finalizers) {
    const stored = await writer.patchMetadata(site, { finalizers }, signal);
    cache.observe(stored);
    return stored;
  }

  const enqueue = queueOf(reconcile, signal);
  const changed = (object) =>
    [object, ...object.owners].filter(({ kind }) => kind === 'Site').forEach((site) => void enqueue(site));
  cache.subscribe({ created: changed, updated: changed, deleted: changed });
  return async () => {
    stop.abort();
    await Promise.all([cache.close(), writer.close()]);
  };
}

// A cluster in this process with the definition of Site. It rolls out Deployments.
const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const versions = [
  { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources: { status: {} } },
];
const cluster = await startCluster({ workloads: { enabled: true, delayMs: 1 } });
cluster.store.create({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'sites.example.com' },
  spec: { group: 'example.com', scope: 'Namespaced', names: { plural: 'sites', kind: 'Site' }, versions },
});
let seen = () => {};
const end = await startOperator({ kubeConfig: kubeConfigOf(cluster), onStatus: (...args) => seen(...args) });
const until = (isReached) =>
  new Promise((resolve) => {
    seen = (name, status) => isReached(status) && resolve(status);
  });

const spec = { replicas: 1, image: 'web:1', text: 'hello' };
const healthy = until(({ health }) => health === 'Healthy');
cluster.store.create({ apiVersion, kind: 'Site', metadata: { name: 'shop', namespace: 'default' }, spec });
const { phase, health } = await healthy;
console.log('created:', phase, health);

const changedSpec = { ...spec, text: 'goodbye' };
const site = () => cluster.store.get('example.com', 'Site', 'default', 'shop');
const page = () => cluster.store.get('', 'ConfigMap', 'default', 'shop');
const updated = until(() => page().data['index.html'] === 'goodbye');
cluster.store.update({ ...site(), spec: changedSpec });
await updated;
console.log('updated:', page().data['index.html']);

const repaired = until(() => page().data['index.html'] === 'goodbye');
cluster.store.update({ ...page(), data: { 'index.html': 'drift' } });
await repaired;
console.log('drift repaired:', page().data['index.html']);

const { uid } = page().metadata;
const isNew = () => page() !== undefined && page().metadata.uid !== uid;
const recreated = until(isNew);
cluster.store.delete('', 'ConfigMap', 'default', 'shop');
await recreated;
console.log('deleted child is back:', isNew());

cluster.store.delete('example.com', 'Site', 'default', 'shop');
while (site() !== undefined) await sleep(20);
console.log('deleted, and so is its page:', page() === undefined);
await end();
await cluster.close();
