import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chartFolder, repository } from './rendered-controller.ts';
import { startServers, toolsPath } from './support/index.ts';
import type { Server, Servers } from './support/index.ts';

interface Workload {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly replicas: number };
}

/**
 * Commands of the shell examples of a page, except those that wait for pods: there is no kubelet.
 */
function commandsOf(page: string, pattern: RegExp): string[] {
  const text = readFileSync(join(repository, page), 'utf8');
  const examples = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  const inline = [...text.matchAll(/`((?:helm|kubectl) [^`]+)`/g)].map(([, command = '']) =>
    command.replaceAll('\n', ' '),
  );
  return [...examples.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n')), ...inline].filter((line) =>
    pattern.test(line),
  );
}

describe('a release of the chart over time', () => {
  let world: Servers<'hub'>;
  let hub: Server;

  /**
   * Runs helm with values in a file: `--values -` does not work with a second helm in a pipeline.
   */
  const helm = (command: string, values?: object): Promise<string> =>
    hub.helm([...command.split(' '), ...(values === undefined ? [] : ['--values', '-'])], {
      input: JSON.stringify(values ?? {}),
    });
  const replicas = async (namespace: string): Promise<number | undefined> =>
    (await hub.api.get<Workload>(`/apis/apps/v1/namespaces/${namespace}/statefulsets/driftless`))?.spec.replicas;
  const scale = (namespace: string, number: number): Promise<string> =>
    hub.kubectl(['scale', '-n', namespace, 'sts/driftless', `--replicas=${number}`]);
  /** Runs a command of the documentation in a checkout. */
  const asWritten = (line: string): { readonly status: number | null; readonly output: string } => {
    const folder = mkdtempSync(join(world.folder, 'checkout-'));
    for (const name of ['charts', 'manifests']) symlinkSync(join(repository, name), join(folder, name));
    const home = { HOME: world.folder, HELM_CACHE_HOME: join(world.folder, 'helm') };
    const env = { ...process.env, ...home, PATH: toolsPath(), KUBECONFIG: hub.kubeconfig };
    const { status, stdout, stderr } = spawnSync('bash', ['-c', line], { cwd: folder, env, encoding: 'utf8' });
    return { status, output: `${line}\n${stdout}${stderr}` };
  };

  beforeAll(async () => {
    world = await startServers({ names: ['hub'] });
    hub = world.servers.hub;
    await hub.kubectl(['apply', '--server-side', '--force-conflicts', '-f', join(repository, 'manifests', 'crds')]);
    for (const name of ['team-a', 'monitoring']) await hub.kubectl(['create', 'namespace', name]);
  });
  afterAll(async () => {
    await world.close();
  });

  const install = `install driftless ${chartFolder} --create-namespace --set crds.install=false`;
  const upgrade = `upgrade driftless ${chartFolder} --reuse-values`;

  it.each(['live', 'null'])(
    'keeps the live number of replicas for replicas=%s, at upgrades and rollbacks',
    async (word) => {
      await helm(`${install} -n theirs --set controller.replicas=${word}`);
      expect(await replicas('theirs')).toBe(1);
      await scale('theirs', 3);
      await helm(`${upgrade} -n theirs --set controller.statusProcessors=30`);
      expect(await replicas('theirs')).toBe(3);
      await scale('theirs', 5);
      await helm(`${upgrade} -n theirs --set controller.statusProcessors=40`);
      expect(await replicas('theirs')).toBe(5);
      await helm('rollback driftless 2 -n theirs');
      expect(await replicas('theirs')).toBe(5);
      await helm('rollback driftless 1 -n theirs');
      expect(await replicas('theirs')).toBe(5);
      await helm('uninstall driftless -n theirs');
    },
  );

  it('gives up its number of replicas, and sets it again if the values say so', async () => {
    await helm(`${install} -n mine --set controller.replicas=2`);
    // From Helm, the only manager of the value 2.
    await helm(`${upgrade} -n mine --set controller.replicas=live`);
    expect(await replicas('mine')).toBe(2);
    await scale('mine', 4);
    await helm(`${upgrade} -n mine --set controller.statusProcessors=30`);
    expect(await replicas('mine')).toBe(4);
    await expect(helm(`${upgrade} -n mine --set controller.replicas=3`)).rejects.toThrow('.spec.replicas');
    await helm(`${upgrade} -n mine --set controller.replicas=3 --force-conflicts`);
    expect(await replicas('mine')).toBe(3);
    // The usual values, from then on.
    await helm(`${upgrade} -n mine --set controller.replicas=6`);
    expect(await replicas('mine')).toBe(6);
    await helm('rollback driftless -n mine');
    expect(await replicas('mine')).toBe(3);
    await helm('uninstall driftless -n mine');
  });

  it('keeps the number of replicas of an autoscaler, and of a release by helm 3', async () => {
    await helm(`${install} -n client --server-side=false --set controller.replicas=live`);
    await scale('client', 3);
    await helm(`${upgrade} -n client --server-side=false --set controller.statusProcessors=30`);
    await scale('client', 4);
    await helm(`${upgrade} -n client --server-side=false --set controller.autoscaling.enabled=true`);
    expect(await replicas('client')).toBe(4);
    await helm('uninstall driftless -n client');
  });

  it('works as the pages install, upgrade and scale document', async () => {
    const [first = ''] = commandsOf('docs/install.md', /^helm install/);
    expect(asWritten(`${first} --set crds.install=false --set controller.statusProcessors=30`)).toMatchObject({
      status: 0,
    });
    const upgrading = commandsOf('docs/upgrade.md', /^helm (?:get values|upgrade|rollback) driftless/);
    expect(upgrading).toHaveLength(4);
    const [get = '', again = '', back = '', handOver = ''] = upgrading;
    expect(back).toMatch(/^helm rollback/);
    // One checkout for both: the second command reads what the first one writes.
    expect(asWritten(`${get}\n${again} --set crds.install=false`)).toMatchObject({ status: 0 });
    expect(await hub.kubectl(['get', 'sts', '-n', 'argocd', 'driftless', '-o', 'yaml'])).toContain(
      '--status-processors=30',
    );
    expect(await hub.kubectl(['get', 'sts', '-n', 'argocd', 'driftless', '-o', 'yaml'])).toContain('driftless:NEW');
    expect(asWritten(back)).toMatchObject({ status: 0 });

    const scaling = [
      ...commandsOf('docs/scale.md', /^helm upgrade/),
      ...commandsOf('charts/driftless/README.md', /^helm upgrade.*replicas=3/),
    ];
    expect(scaling.length).toBeGreaterThan(1);
    for (const line of scaling) {
      expect(asWritten(line)).toMatchObject({ status: 0 });
      expect(await replicas('argocd')).toBe(Number(/replicas=(\d+)/.exec(line)?.[1]));
    }
    await scale('argocd', 4);
    const refused = asWritten(scaling[0] ?? '');
    expect(refused.status).not.toBe(0);
    expect(refused.output).toContain(
      /conflict with "kubectl" with subresource "scale"/.exec(
        readFileSync(join(repository, 'docs/upgrade.md'), 'utf8'),
      )?.[0],
    );
    expect(asWritten(handOver)).toMatchObject({ status: 0 });
    expect(await replicas('argocd')).toBe(4);
  });

  it('can be rolled back as docs/migrate-from-argocd.md documents', async () => {
    const [down = ''] = commandsOf('docs/migrate-from-argocd.md', /^helm upgrade.*replicas=0/);
    await helm(`${upgrade} -n argocd --set controller.replicas=2 --force-conflicts`);
    expect(asWritten(down)).toMatchObject({ status: 0 });
    expect(await replicas('argocd')).toBe(0);
    const [joined = ''] = commandsOf('docs/migrate-from-argocd.md', /^helm install/);
    expect(asWritten(joined.replaceAll('argocd', 'joined') + ' --create-namespace')).toMatchObject({ status: 0 });
    expect(await replicas('joined')).toBe(3);
  });

  it('keeps the settings when it joins an Argo CD and when it is uninstalled', async () => {
    const settings = async (): Promise<unknown> =>
      (await hub.api.get<{ data?: unknown }>('/api/v1/namespaces/argocd/configmaps/argocd-cmd-params-cm'))?.data;
    await helm(`${upgrade} -n argocd`, { configs: { params: { 'application.namespaces': 'team-a' } } });
    const said = { 'application.namespaces': 'team-a' };
    expect(await settings()).toEqual(said);
    const notes = await helm(`upgrade driftless ${chartFolder} -n argocd --reset-values --set dropIn=true`);
    expect(await settings()).toEqual(said);
    expect(notes).toMatch(/WARNING: Applications are also in the namespaces team-a/);
    const rights = await helm(
      `upgrade driftless ${chartFolder} -n argocd --reset-values --set dropIn=true,rbac.applicationNamespaces={team-a}`,
    );
    expect(rights).not.toContain('WARNING');
    expect(await hub.kubectl(['get', 'roles', '-n', 'team-a', '-o', 'name'])).toContain(
      'role.rbac.authorization.k8s.io/argocd-driftless-applications',
    );
    await hub.helm(['uninstall', 'driftless', '-n', 'argocd']);
    expect(await settings()).toEqual(said);
  });

  it('installs beside another release in the same cluster', async () => {
    for (const kind of ['ServiceMonitor', 'PrometheusRule']) {
      const names = { kind, plural: `${kind.toLowerCase()}s`, singular: kind.toLowerCase(), listKind: `${kind}List` };
      const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
      const object = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${names.plural}.monitoring.coreos.com` },
        spec: {
          group: 'monitoring.coreos.com',
          scope: 'Namespaced',
          names,
          versions: [{ name: 'v1', served: true, storage: true, schema }],
        },
      };
      await hub.kubectl(['create', '-f', '-'], { input: JSON.stringify(object) });
      await hub.kubectl(['wait', '--for=condition=Established', `crd/${object.metadata.name}`]);
    }
    const on = { enabled: true, namespace: 'monitoring' };
    const values = {
      controller: { metrics: { serviceMonitor: on, rules: on, dashboards: on } },
      rbac: { writeNamespaces: ['team-a'], applicationNamespaces: ['team-a'] },
    };
    for (const namespace of ['one', 'two']) await helm(`${install} -n ${namespace}`, values);
    interface List {
      readonly items: readonly { readonly metadata: { readonly name: string }; readonly spec: unknown }[];
    }
    const rules = await hub.api.get<List>('/apis/monitoring.coreos.com/v1/namespaces/monitoring/prometheusrules');
    const monitors = await hub.api.get<List>('/apis/monitoring.coreos.com/v1/namespaces/monitoring/servicemonitors');
    expect(rules?.items.map(({ metadata }) => metadata.name)).toEqual(['one-driftless', 'two-driftless']);
    for (const [index, namespace] of ['one', 'two'].entries()) {
      const job = `${namespace}/driftless-metrics`;
      const alerts = JSON.stringify(rules?.items[index]?.spec);
      expect(new Set([...alerts.matchAll(/job=\\"([^"\\]*)\\"/g)].map(([, name]) => name))).toEqual(new Set([job]));
      expect(monitors?.items[index]?.spec).toMatchObject({
        endpoints: [{ relabelings: [{ targetLabel: 'job', replacement: job }] }],
      });
    }
    for (const namespace of ['one', 'two']) await helm(`uninstall driftless -n ${namespace}`);
  });
});
