import { expect, it } from '@jest/globals';
import { eventually } from '#support';
import { NodeApplication } from '../support/application.ts';
import type { Cluster } from '../support/cluster.ts';
import { runShell } from '../support/documented.ts';
import { note } from '../support/note.ts';
import { ControllerPod, waitedForCpu } from '../support/pod.ts';
import { Release } from '../support/release.ts';

/** A lease takes 30 s: drift that waits for one would take longer than this, with a CPU at hand. */
const withoutLeaseMs = 20_000;

/** Ways to install that change the workload or its rights. */
export function releases(cluster: Cluster): void {
  it('rolls a Deployment over, one replica more at a time, while drift is repaired', async () => {
    const { world } = cluster;
    const rollingUpdate = { maxSurge: 1, maxUnavailable: 1 };
    const controller = {
      dynamicClusterDistribution: true,
      replicas: 2,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate },
    };
    const release = await Release.install(world, 'surge', { values: { controller }, kind: 'deployment' });
    const app = await NodeApplication.create(world, 'rolled', { namespace: 'surge' });
    await app.isGood();
    const before = await release.pods();
    const longest = await app.healsDuring(
      release.shell(
        'kubectl -n surge rollout restart deployment/driftless\n' +
          'kubectl -n surge rollout status deployment/driftless --timeout=150s\n',
      ),
    );
    const after = await release.pods();
    const starved = await Promise.all(
      after.map(async (name) => waitedForCpu(await new ControllerPod(world, name, 'surge').process())),
    );
    note(`rollout of a Deployment with surge: longest drift ${longest} ms, without a CPU ${String(starved)}`);
    expect(longest - Math.max(...starved)).toBeLessThan(withoutLeaseMs);
    expect(after).toHaveLength(2);
    expect(after.filter((name) => before.includes(name))).toEqual([]);
    for (const name of after) expect(await new ControllerPod(world, name, 'surge').restarts()).toBe(0);
    await release.uninstall();
  }, 400_000);

  it('manages the namespaces of rbac.namespaces without any ClusterRole, and no other', async () => {
    const { world } = cluster;
    await runShell(world, 'kubectl create namespace tenant-app\n');
    const rbac = { namespaced: true, clusterWrite: false, namespaces: ['tenant', 'tenant-app'] };
    const release = await Release.install(world, 'tenant', { values: { rbac } });
    const roles = await release.shell('kubectl get clusterroles,clusterrolebindings -o name\n');
    expect(roles).not.toContain('/tenant-');
    const app = await NodeApplication.create(world, 'tenant-app', { namespace: 'tenant', createsNamespace: false });
    await app.isGood();
    await app.heals();
    const outside = await NodeApplication.create(world, 'outside', {
      namespace: 'tenant',
      target: 'default',
      createsNamespace: false,
    });
    await outside.hasCondition(/default/);
    expect(await outside.deployed()).toBeUndefined();
    expect((await new ControllerPod(world, 'driftless-0', 'tenant').readyz()).status).toBe(200);
    await release.uninstall();
  }, 300_000);

  it('runs one replica on a node with hostNetwork, and says why the second is Pending', async () => {
    const { world } = cluster;
    const controller = { hostNetwork: true, replicas: 1 };
    const release = await Release.install(world, 'host', { values: { controller } });
    await release.shell('kubectl -n host scale statefulset/driftless --replicas=2\n');
    await eventually(async () => {
      const events = await release.shell('kubectl -n host get events --field-selector reason=FailedScheduling\n');
      // docs/troubleshooting.md quotes it.
      expect(events).toContain("didn't have free ports for the requested pod ports");
    }, 60_000);
    const pods = await release.shell('kubectl -n host get pods --no-headers\n');
    expect(pods).toMatch(/driftless-0 +2\/2 +Running/);
    expect(pods).toMatch(/driftless-1 +0\/2 +Pending/);
    await release.uninstall();
  }, 300_000);

  it('works within 256Mi: a heap of half of it, live state that does not fit, and a restart by the kernel', async () => {
    const { world } = cluster;
    const controller = { resources: { requests: { memory: '128Mi' }, limits: { memory: '256Mi' } } };
    const release = await Release.install(world, 'small', { values: { controller } });
    const app = await NodeApplication.create(world, 'frugal', { namespace: 'small' });
    await app.isGood();
    const pod = new ControllerPod(world, 'driftless-0', 'small');
    const log = await release.shell('kubectl -n small logs driftless-0 -c application-controller\n');
    expect(log).toMatch(/Sized the heap/);
    expect(log).toMatch(/"?heapMb"?[=:] ?128\b/);
    expect(log).toMatch(/"?memoryLimitMb"?[=:] ?256\b/);

    await release.shell(ballast);
    await app.heals();
    await app.heals();
    expect(await pod.restarts()).toBe(0);
    await release.shell('kubectl delete namespace ballast --wait=false\n');

    const old = await pod.process();
    await release.shell(hogs);
    await pod.processAfter(old);
    await app.heals();
    await eventually(async () => expect(await pod.restarts()).toBe(1), 60_000);
    const state = await release.shell(
      "kubectl -n small get pod driftless-0 -o jsonpath='{.status.containerStatuses[*].lastState.terminated}'\n",
    );
    note(`after the limit was reached: ${state}`);
    expect(state).toMatch(/OOMKilled|"exitCode":137/);
    await pod.isReady();
    await release.uninstall();
  }, 400_000);
}

/** 54 MB of objects, three times what the live state of a cluster may take with this heap. */
const ballast =
  'kubectl create namespace ballast\n' +
  'head -c 900000 /dev/zero | tr \'\\0\' x > "$HOME/ballast"\n' +
  'seq 60 | xargs -P 4 -I{} kubectl -n ballast create configmap ballast-{} --from-file="$HOME/ballast" >/dev/null\n';

/**
 * Processes that are each smaller than the controller. Together they exceed the limit, also when
 * the kernel has dropped all pages of programs.
 */
const hogs =
  'kubectl -n small exec driftless-0 -c application-controller -- sh -c ' +
  `'for i in 1 2 3 4 5 6 7 8 9 10; do node -e "globalThis.b = Buffer.alloc(20e6, 1); setTimeout(() => {}, 6e4)" & done; wait' || true\n`;
