// A cluster in this process: an object, a rollout, a refusal and a fault.
import { startCluster, SimError } from '@driftless/engine/sim';

const cluster = await startCluster({ workloads: { enabled: true, delayMs: 1 } });
const labels = { app: 'web' };
cluster.store.create({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  },
});
const isReady = () => cluster.store.get('apps', 'Deployment', 'default', 'web').status?.readyReplicas === 2;
while (!isReady()) await new Promise((resolve) => setTimeout(resolve, 5));
console.log(`${cluster.store.list('', 'Pod', 'default').length} pods are ready`);

try {
  cluster.store.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'Not A Name', namespace: 'default' } });
} catch (error) {
  console.log(error instanceof SimError, error.message.slice(0, 34));
}

cluster.addFault({ verb: 'list', resource: 'pods', times: 1, fault: { kind: 'status', code: 503 } });
for (let i = 0; i < 2; i += 1) console.log((await fetch(`${cluster.url}/api/v1/pods`)).status);
await cluster.close();
