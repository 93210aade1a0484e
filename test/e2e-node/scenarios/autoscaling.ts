import { expect, it } from '@jest/globals';
import { eventually } from '#support';
import { NodeApplication } from '../support/application.ts';
import type { Cluster } from '../support/cluster.ts';
import { MetricsAdapter } from '../support/metrics-adapter.ts';
import { note } from '../support/note.ts';
import { ControllerPod } from '../support/pod.ts';
import { Release } from '../support/release.ts';

const applications = 4;

/** The HorizontalPodAutoscaler of the chart, with the controller of Kubernetes. */
export function autoscaling(cluster: Cluster): void {
  it('gets a second replica when its load doubles, and repairs drift meanwhile', async () => {
    const { world } = cluster;
    const rules = { stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 2, periodSeconds: 15 }] };
    const autoscaler = {
      enabled: true,
      minReplicas: 1,
      maxReplicas: 3,
      // One replica may have half as many Applications again.
      targetAverageValue: String(applications * 1.5),
      behavior: { scaleUp: rules, scaleDown: rules },
    };
    const controller = { autoscaling: autoscaler, sharding: { clusterSplit: 2 }, heartbeatTime: 2 };
    const release = await Release.install(world, 'scaled', { values: { controller } });
    const adapter = await MetricsAdapter.start(world, 'driftless_shard_load');
    try {
      const grow = async (prefix: string): Promise<NodeApplication[]> => {
        const names = Array.from({ length: applications }, (_, index) => `${prefix}-${index}`);
        return Promise.all(names.map((name) => NodeApplication.create(world, name, { namespace: 'scaled' })));
      };
      const [app] = await grow('early');
      if (app === undefined) throw new Error('no Application');
      await app.isGood();
      await eventually(async () => {
        const status = await release.shell(
          'kubectl -n scaled get hpa driftless -o jsonpath={.status}; kubectl get apiservice v1beta1.custom.metrics.k8s.io -o jsonpath={.status}\n',
        );
        expect(status).toContain(`"averageValue":"${applications}"`);
      }, 90_000);
      expect(await release.pods()).toEqual(['driftless-0']);
      const others = await grow('late');
      const replicas = eventually(async () => {
        expect(await release.pods()).toEqual(['driftless-0', 'driftless-1']);
        await new ControllerPod(world, 'driftless-1', 'scaled').isReady();
      }, 120_000);
      note(`two replicas instead of one: longest drift ${await app.healsDuring(replicas)} ms`);
      for (const one of others) await one.isGood();
      await app.heals();
      expect(await new ControllerPod(world, 'driftless-0', 'scaled').restarts()).toBe(0);
    } finally {
      await adapter.close();
    }
    await release.uninstall();
  }, 400_000);
}
