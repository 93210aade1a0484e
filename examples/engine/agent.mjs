// An agent that keeps one cluster equal to one folder: it renders, syncs what changed through cache
// and gate, repairs drift as soon as the cache sees it, and prunes by a stored inventory.
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRenderer } from '@driftless/engine/desired';
import { openCache } from '@driftless/engine/live';
import { kubeConfigOf, startCluster } from '@driftless/engine/sim';
import { openGate, openWriter, runSync } from '@driftless/engine/sync';

/** Starts an agent; `sync` runs one pass, `follow` repairs until `signal` aborts. */
async function openAgent({ kubeConfig, folder, stateFile, namespace, onSync = () => {} }) {
  const renderer = await openRenderer({ env: process.env });
  const cache = await openCache({ kubeConfig });
  const gate = openGate();
  const writer = await openWriter({ kubeConfig, gate, fieldManager: 'folder-agent' });
  let inventory = existsSync(stateFile) ? JSON.parse(readFileSync(stateFile, 'utf8')) : undefined;

  function store(next) {
    inventory = next;
    writeFileSync(`${stateFile}.new`, JSON.stringify(next));
    renameSync(`${stateFile}.new`, stateFile);
  }

  async function sync() {
    const { objects, ignored } = await renderer.render({ source: { folder }, namespace, ...cache.capabilities() });
    for (const file of ignored) console.error('ignored:', file);
    const outcome = await runSync({
      targets: objects,
      namespace,
      writer,
      cache,
      inventory,
      inventoryName: 'agent',
      owner: { label: 'example.com/agent', value: namespace },
      // A file that cannot be read may have had objects: they stay until it can.
      options: { prune: ignored.length === 0, serverSideApply: true, createNamespace: true },
      // Stored after each step: a crash loses nothing that was created.
      onStep: (step) => store(step.inventory),
    });
    onSync(outcome, gate.metrics());
    return outcome;
  }

  /** A pass at each interval, and as soon as one of our objects changes. */
  async function follow(signal, intervalMs) {
    let wake = () => {};
    const isOurs = ({ group, kind, namespace: space, name }) =>
      (inventory?.objects ?? []).some(
        (own) =>
          own.kind === kind &&
          own.name === name &&
          (own.namespace ?? '') === space &&
          (own.apiVersion.includes('/') ? own.apiVersion.split('/')[0] : '') === group,
      );
    const changed = (object) => isOurs(object) && wake();
    const unsubscribe = cache.subscribe({ updated: changed, deleted: changed });
    signal.addEventListener('abort', () => wake(), { once: true });
    while (!signal.aborted) {
      const woken = new Promise((resolve) => {
        wake = resolve;
      });
      await sync().catch((error) => console.error(error.code, error.message));
      const timer = setTimeout(wake, intervalMs);
      if (!signal.aborted) await woken;
      clearTimeout(timer);
    }
    unsubscribe();
  }

  async function close() {
    await Promise.all([cache.close(), writer.close(), renderer.close()]);
  }
  return { sync, follow, close };
}

// A cluster in this process, and a folder with a namespace, a definition and its object.
const cluster = await startCluster({ workloads: { enabled: true, delayMs: 1 } });
const kubeConfig = kubeConfigOf(cluster); // for a real cluster: process.env.KUBECONFIG
const folder = mkdtempSync(join(tmpdir(), 'agent-'));
const state = mkdtempSync(join(tmpdir(), 'agent-state-'));
const manifest = (name, value) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { value: "${value}" }\n`;
for (const name of ['a', 'b', 'c']) writeFileSync(join(folder, `${name}.yaml`), manifest(name, 1));

let requests = 0;
cluster.onRequest(({ verb, agent, resource }) => {
  if (agent.startsWith('driftless-') && resource !== '' && verb !== 'list' && verb !== 'watch') requests += 1;
});
const passes = [];
const waiting = new Set();
const agent = await openAgent({
  kubeConfig,
  folder,
  stateFile: join(state, 'inventory.json'),
  namespace: 'shop',
  onSync: (outcome, { hits }) => {
    passes.push({ phase: outcome.phase, hits, objects: outcome.inventory.objects.length });
    for (const check of waiting) check();
  },
});
const valueOf = (name) => cluster.store.get('', 'ConfigMap', 'shop', name)?.data.value;
const until = (condition) =>
  new Promise((resolve) => {
    const check = () => {
      if (!condition()) return;
      waiting.delete(check);
      resolve();
    };
    waiting.add(check);
    check();
  });

const first = await agent.sync();
console.log(first.phase, first.results.length, 'objects');
await agent.sync(); // The namespace is watched and known from here on.
requests = 0;
const { phase } = await agent.sync();
console.log(`unchanged: ${phase}, ${requests} requests`);

const end = new AbortController();
const following = agent.follow(end.signal, 60_000);
await until(() => passes.length >= 4);
cluster.store.update({ ...cluster.store.get('', 'ConfigMap', 'shop', 'a'), data: { value: 'drift' } });
await until(() => valueOf('a') === '1');
console.log('drift repaired:', valueOf('a'));

end.abort();
await following;
rmSync(join(folder, 'c.yaml'));
writeFileSync(join(folder, 'b.yaml'), manifest('b', 2));
const last = await agent.sync();
for (const { name, status } of last.results) console.log(`- ${name}: ${status}`);
console.log('b is', valueOf('b'), 'and c is', valueOf('c'));

await agent.close();
await cluster.close();
for (const path of [folder, state]) rmSync(path, { recursive: true });
