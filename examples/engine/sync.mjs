// Syncs two waves with a hook, then prunes what the next version no longer has.
import { kubeConfigOf, startCluster } from '@driftless/engine/sim';
import { openWriter, planSync, runSync, serverSideDiff } from '@driftless/engine/sync';

const cluster = await startCluster({ workloads: { enabled: true, delayMs: 1 } });
const kubeConfig = kubeConfigOf(cluster); // for a real cluster: process.env.KUBECONFIG
const writer = await openWriter({ kubeConfig });

const annotated = (name, key, value) => ({ name, annotations: { [`argocd.argoproj.io/${key}`]: value } });
const pod = { restartPolicy: 'Never', containers: [{ name: 'main', image: 'web:1' }] };
const targets = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: annotated('last', 'sync-wave', '1'), data: { port: '80' } },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'first' }, data: { port: '80' } },
  {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: annotated('migrate', 'hook', 'PreSync'),
    spec: { template: { spec: pod } },
  },
];
const namespace = 'default';
for (const { phase, wave, action, kind, name } of await planSync({ targets, namespace, writer }))
  console.log(`${phase} ${wave}: ${action} ${kind} ${name}`);

const first = await runSync({ targets, namespace, writer });
console.log(first.phase, first.message);
for (const { name, message } of first.results) console.log(`- ${name}: ${message}`);

const next = [{ ...targets[1], data: { port: '8080' } }];
for (const { name, change, diff } of await serverSideDiff({ targets: next, namespace, writer }))
  console.log(`${name} would be ${change}: ${diff.paths}`);
const second = await runSync({ targets: next, known: targets, namespace, writer, options: { prune: true } });
for (const { name, status } of second.results) console.log(`- ${name}: ${status}`);
await writer.close();
await cluster.close();
