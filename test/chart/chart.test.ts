import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { load, loadAll } from 'js-yaml';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const chart = join(root, 'charts', 'driftless');
const read = (...path: readonly string[]): string => readFileSync(join(...path), 'utf8');

/** All production code: names of metrics, flags and variables occur in it literally. */
const code = [
  'api',
  'cli',
  'controller',
  'desired',
  'kube',
  'live',
  'publish',
  'queues',
  'settings',
  'sharding',
  'sync',
  'telemetry',
].map((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.includes('testing'))
    .map((name) => read(root, folder, name))
    .join('\n'),
);

/** Metrics of Prometheus itself, and of kube-state-metrics. */
const ofOthers = new Set(['up', 'kube_pod_container_status_restarts_total']);

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook: string };
}
interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}
interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly templating: { readonly list: readonly { readonly query: string | { readonly query: string } }[] };
  readonly panels: readonly Panel[];
}

const alerts = (load(read(chart, 'files', 'alerts.yaml')) as { readonly rules: readonly Alert[] }).rules;
const dashboards = readdirSync(join(chart, 'files', 'dashboards')).map(
  (name) => JSON.parse(read(chart, 'files', 'dashboards', name)) as Dashboard,
);

/** The metrics of a PromQL expression: names before a selector. */
function metricsIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/"[^"]*"/g, '""')
    .replaceAll(/\b(?:by|on|without|ignoring) \([^)]*\)/g, '')
    .replaceAll(/\[[^\]]*\]/g, '');
  return [...bare.matchAll(/\b([a-z_:][a-z0-9_:]*)(?=\{)/g)].map(([, name]) => name ?? '');
}

function isKnown(metric: string): boolean {
  const base = metric.replace(/_(?:bucket|sum|count)$/, '');
  const literal = (name: string): boolean => code.some((text) => text.includes(`'${name}'`));
  return ofOthers.has(metric) || literal(metric) || (base !== metric && literal(base));
}

describe('the alerts', () => {
  it('read only metrics that the program has', () => {
    const names = alerts.flatMap(({ expr }) => metricsIn(expr));
    expect(new Set(names).size).toBeGreaterThan(8);
    expect(names.filter((name) => !isKnown(name))).toEqual([]);
  });

  it('select one release, and have a runbook', () => {
    for (const { alert, expr, for: duration, labels, annotations } of alerts) {
      expect(alert).toMatch(/^Driftless[A-Z]/);
      expect((expr.match(/\{/g) ?? []).length).toBe((expr.match(/\{(?:JOB|RENDERER)\b/g) ?? []).length);
      expect(duration).toMatch(/^[0-9]+[mh]$/);
      expect(['critical', 'warning']).toContain(labels.severity);
      for (const text of [annotations.summary, annotations.description, annotations.runbook])
        expect(text.length).toBeGreaterThan(10);
    }
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  });
});

describe('the conditions of ownership', () => {
  it('that an administrator must resolve are in the runbook and on the troubleshooting page', () => {
    const runbook = alerts.find(({ alert }) => alert === 'DriftlessOwnershipCondition')?.annotations.runbook;
    const page = read(root, 'docs', 'troubleshooting.md');
    for (const type of [
      'HubUnreadable',
      'ReplicasMismatch',
      'ClustersUnreached',
      'WritesPaused',
      'ForeignController',
      'ForeignHolder',
      'PinOutOfRange',
    ]) {
      expect(runbook).toContain(`${type}:`);
      expect(page).toContain(`| \`${type}\``);
    }
  });
});

describe('parameters of Argo CD', () => {
  it('are in the table of the README, even if they have no effect', () => {
    const readme = read(chart, 'README.md');
    const silent = ['self.heal.backoff.cooldown.seconds'];
    for (const key of silent)
      expect(readme).toMatch(new RegExp(`configs.params."controller.${key}"\`.*No effect yet: `));
    expect(readme).toContain('`controller.profile.enabled` in `configs.params` | allowed, of no use');
  });
});

describe.each(dashboards)('the dashboard $title', (dashboard) => {
  it('reads only metrics that the program has', () => {
    const queries = dashboard.templating.list.map(({ query }) => (typeof query === 'string' ? query : query.query));
    const variables = queries.flatMap((query) => /^label_values\(([a-z_]+)/.exec(query)?.[1] ?? []);
    const names = dashboard.panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr)));
    expect(names.length).toBeGreaterThanOrEqual(dashboard.panels.filter(({ targets }) => targets !== undefined).length);
    expect([...names, ...variables].filter((name) => !isKnown(name))).toEqual([]);
  });

  it('has panels that do not overlap, each with a name', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h }, title }) => {
      expect(title).not.toBe('');
      expect(x + w).toBeLessThanOrEqual(24);
      return Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`);
    });
    expect(new Set(cells).size).toBe(cells.length);
  });
});

describe('the templates', () => {
  const pod = ['_pod.tpl', '_renderer.tpl'].map((name) => read(chart, 'templates', name)).join('\n');
  const optionFiles = readdirSync(join(root, 'cli', 'options')).filter((name) => !name.includes('.test.'));
  const options = [
    ...optionFiles.map((name) => read(root, 'cli', 'options', name)),
    read(root, 'cli', 'render', 'options.ts'),
  ].join('\n');

  it('use only flags and variables that the program reads', () => {
    const flags = [...pod.matchAll(/^- --([a-z-]+)=/gm)].map(([, flag]) => flag ?? '');
    const variables = [...pod.matchAll(/^- name: ([A-Z_]+)$/gm)].map(([, name]) => name ?? '');
    expect(flags.length).toBeGreaterThan(3);
    expect(variables).toContain('ARGOCD_APPLICATION_CONTROLLER_NAME');
    expect(flags.filter((flag) => !options.includes(`flag: '${flag}'`))).toEqual([]);
    expect(variables.filter((name) => !options.includes(`env: '${name}'`))).toEqual([]);
  });

  it('use the probes that the program serves', () => {
    const paths = [...pod.matchAll(/path: (\/\S+)/g)].map(([, path]) => path);
    expect(paths).toEqual(['/livez', '/livez', '/readyz']);
    for (const path of paths) expect(code.join('\n')).toContain(`case '${path ?? ''}':`);
  });

  it('begin after the process has started to listen, so that no start of a pod warns', () => {
    const delay = /\n {2}startupProbe:\n[^]*?initialDelaySeconds: (\d+)/.exec(read(chart, 'values.yaml'))?.[1];
    expect(Number(delay)).toBeGreaterThanOrEqual(2);
  });

  it('name the ConfigMaps of ownership as the program does', () => {
    const rbac = read(chart, 'templates', '_rbac.tpl');
    const names = [...code.join('\n').matchAll(/export const (?:slots|table)ConfigMap = '([^']+)'/g)].map(
      ([, name]) => name,
    );
    expect(names).toHaveLength(2);
    for (const name of names) expect(rbac).toContain(name);
  });
});

describe('generated files', () => {
  it.each(['chart-docs.mjs', 'crds.mjs'])('are what %s writes', (script) => {
    const result = spawnSync(process.execPath, [join(root, 'scripts', 'generate', script), '--check'], {
      encoding: 'utf8',
    });
    expect(result).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('resource limits', () => {
  const files = readdirSync(join(root, 'manifests'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('install.yaml'),
  );

  it.each(files)('exist for memory and disk in %s', (name) => {
    const pods = loadAll(read(root, 'manifests', name)).flatMap((object) => {
      const { kind, spec } = object as { readonly kind: string; readonly spec?: { readonly template?: Template } };
      return (kind === 'StatefulSet' || kind === 'Deployment') && spec?.template !== undefined
        ? [spec.template.spec]
        : [];
    });
    expect(pods).toHaveLength(1);
    for (const { containers, volumes } of pods) {
      expect(containers.map(({ name: container, resources }) => [container, resources?.limits])).toEqual([
        ['application-controller', { memory: '3Gi' }],
        ['renderer', { cpu: '2', memory: '2Gi' }],
      ]);
      const folders = volumes.filter(({ emptyDir }) => emptyDir !== undefined);
      expect(folders.map(({ name: volume, emptyDir }) => [volume, emptyDir?.sizeLimit])).toEqual([
        ['home', '20Gi'],
        ['tmp', '2Gi'],
        ['renderer-staging', '4Gi'],
        ['renderer-socket', '1Mi'],
      ]);
    }
  });
});

interface Template {
  readonly spec: {
    readonly containers: readonly {
      readonly name: string;
      readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
    }[];
    readonly volumes: readonly { readonly name: string; readonly emptyDir?: { readonly sizeLimit?: string } }[];
  };
}
