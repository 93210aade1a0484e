import { describe, expect, it } from '@jest/globals';
import { permissionsOf, renderChart, renderedController } from './rendered-controller.ts';

const on = { dropIn: true, controller: { shadow: { enabled: true } } };

async function refusal(values: object): Promise<string> {
  return renderChart(values).then(
    () => 'it was rendered',
    (error: unknown) => String(error),
  );
}

describe('controller.shadow.enabled', () => {
  it('starts the controller with --shadow, its grace period and its share of a fixed number', async () => {
    const values = { ...on, controller: { shadow: { enabled: true, grace: '2m' }, replicas: 3 } };
    const { args, env, replicas, workload } = await renderedController(values);
    expect(args).toEqual(expect.arrayContaining(['--shadow', '--shadow-grace=2m']));
    expect([env('driftless-shadow-1')['ARGOCD_CONTROLLER_REPLICAS'], replicas, workload.kind]).toEqual([
      '3',
      3,
      'StatefulSet',
    ]);
  });

  it.each([
    ['in the whole cluster', { clusterWrite: true, impersonation: true, grantRoles: true }],
    ['by rules', { clusterWrite: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] }],
    ['by namespace', { writeNamespaces: ['a', 'b'], applicationNamespaces: ['team'] }],
    ['by pattern', { applicationNamespaces: ['team-*'], impersonation: true }],
    ['without a ClusterRole', { namespaced: true, namespaces: ['a'], impersonation: true }],
  ])('has no right but to read, where the rights of the other are said %s', async (_name, rbac) => {
    const { objects } = await renderedController({ ...on, rbac });
    const rules = objects.flatMap(
      (object) => (object['rules'] ?? []) as readonly { readonly verbs: readonly string[] }[],
    );
    expect(rules.length).toBeGreaterThan(2);
    expect([...new Set(rules.flatMap(({ verbs }) => verbs))].sort()).toEqual(['get', 'list', 'watch']);
  });

  it('may read Applications, projects, settings and deployed objects', async () => {
    const { granted } = await renderedController(on);
    const texts = permissionsOf(granted).map(({ verb, group, resource }) => `${verb} ${group}/${resource}`);
    for (const wanted of ['list argoproj.io/applications', 'watch argoproj.io/appprojects', 'list /secrets', 'get */*'])
      expect(texts).toContain(wanted);
  });

  it.each([{}, { fullnameOverride: 'argocd-application-controller', nameOverride: 'argocd-application-controller' }])(
    'has its own names and labels beside a release with %j',
    async (names) => {
      const shadow = await renderedController({ ...on, ...names });
      const real = await renderedController({ dropIn: true, ...names });
      const texts = (of: typeof real): string[] => of.objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      expect(texts(shadow).filter((text) => texts(real).includes(text))).toEqual([]);
      const labels = shadow.podTemplate.metadata.labels;
      const selector = (real.workload['spec'] as { selector: { matchLabels: Record<string, string> } }).selector;
      expect(Object.entries(selector.matchLabels).every(([key, value]) => labels[key] === value)).toBe(false);
      expect(labels['app.kubernetes.io/component']).toBe('application-controller-shadow');
    },
  );

  it.each<[string, object, string]>([
    ['without an Argo CD beside it', { controller: { shadow: { enabled: true } } }, 'set dropIn: true'],
    [
      'without a number of replicas',
      { dropIn: true, controller: { shadow: { enabled: true }, replicas: 'live' } },
      'needs a number in controller.replicas',
    ],
    [
      'as several pods without numbers',
      { dropIn: true, controller: { shadow: { enabled: true }, replicas: 2, dynamicClusterDistribution: true } },
      'controller.dynamicClusterDistribution: false',
    ],
    [
      'with more rights to write',
      { ...on, rbac: { extraClusterRules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'delete'] }] } },
      'does not need the right to delete',
    ],
  ])('is refused %s', async (_name, values, text) => {
    expect(await refusal(values)).toContain(text);
  });
});
