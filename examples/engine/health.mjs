// Health of two objects, one of them by a Lua script.
import { healthOf, healthScripts, worstHealth } from '@driftless/engine/health';

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', generation: 1 },
  spec: { replicas: 3 },
  status: { observedGeneration: 1, replicas: 3, updatedReplicas: 3, availableReplicas: 1 },
};
const backup = {
  apiVersion: 'example.com/v1',
  kind: 'Backup',
  metadata: { name: 'nightly' },
  status: { failed: 2 },
};

const settings = await healthScripts({
  'example.com/Backup': `
    if obj.status.failed > 0 then
      return { status = "Degraded", message = obj.status.failed .. " failed" }
    end
    return { status = "Healthy" }`,
});
const found = [deployment, backup].map((object) => healthOf(object, settings));
for (const { status, message } of found) console.log(`${status}: ${message}`);
console.log(`together: ${worstHealth(found.map(({ status }) => status))}`);
