import { describe, expect, it } from '@jest/globals';
import { changesBetween, reportOfChanges } from './changes.ts';
import { factsOf } from './facts.ts';
import type { SourceTree } from './facts.ts';
import { goCalls, goLiterals } from './go-source.ts';

const treeOf = (files: Readonly<Record<string, string>>): SourceTree => ({
  paths: Object.keys(files),
  read: (path) => files[path] ?? '',
});

describe('the sources of Go', () => {
  it('have literals outside comments and runes', () => {
    const source = `a := "one \\"two\\"" // "three"
/* "four" */ b := '"'; c := \`five "six"\``;
    expect(goLiterals(source).map(({ text }) => text)).toEqual(['one \\"two\\"', 'five "six"']);
  });

  it('have calls that end at their own parenthesis', () => {
    const source = 'x.Flags().IntVar(&n, "count", f(2), "how many :-)")\ny.Flags().BoolVar(&b, "open"';
    expect(goCalls(source, /Flags\(\)\.\w+\(/g)).toEqual([
      { args: '&n, "count", f(2), "how many :-)"', literals: ['count', 'how many :-)'] },
    ]);
  });
});

describe('the facts of a version', () => {
  const crd = `
spec:
  names: { kind: Application }
  versions:
    - schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties: { sources: { type: array, items: { type: object, properties: { path: { type: string } } } } }
`;
  const facts = factsOf(
    treeOf({
      'cmd/argocd-application-controller/commands/main.go':
        'c.Flags().IntVar(&n, "app-resync",\n  env.Num("ARGOCD_RESYNC", 120), "Seconds between two resyncs.")',
      'controller/metrics/metrics.go':
        'x = prometheus.NewDesc("argocd_app_info", "Info.", append(labels, "phase"), nil)',
      'controller/state_test.go': 'const message = "a message of a test"',
      'ui/x.go': 'const message = "a message of the dashboard"',
      'common/common.go': 'const a = "argocd.argoproj.io/refresh"; const b = "%s is not permitted in project"',
      'util/settings/settings.go': 'const key = "application.instanceLabelKey"',
      'resource_customizations/a.io/B/health.lua': 'return {}',
      'manifests/crds/application-crd.yaml': crd,
      'go.mod': 'require (\n\tk8s.io/api v0.36.1\n\tk8s.io/klog v1.2.3 // indirect\n)\n',
    }),
  );
  const names = (area: keyof typeof facts): readonly string[] => [...facts[area].keys()];

  it('are flags with their default and text, and variables of the environment', () => {
    expect(facts.flag.get('--app-resync')).toBe(
      '"app-resync", env.Num("ARGOCD_RESYNC", 120), "Seconds between two resyncs."',
    );
    expect(names('variable')).toEqual(['ARGOCD_RESYNC']);
  });

  it('are metrics with their labels', () => {
    expect(facts.metric.get('argocd_app_info')).toContain('"phase"');
  });

  it('are keys and messages of the folders that we follow, without tests', () => {
    expect(names('key')).toEqual(['argocd.argoproj.io/refresh', 'application.instanceLabelKey']);
    expect(names('text')).toEqual(['Seconds between two resyncs.', '%s is not permitted in project']);
  });

  it('are health scripts, fields of the definitions and direct modules', () => {
    expect(names('health')).toEqual(['resource_customizations/a.io/B/health.lua']);
    expect(names('field')).toContain('Application.spec.sources[].path');
    expect([...facts.module]).toEqual([['k8s.io/api', 'v0.36.1']]);
  });
});

describe('what changes between two versions', () => {
  const version = (flag: string, health: string): SourceTree =>
    treeOf({
      'cmd/a/main.go': 'package main',
      'cmd/argocd-application-controller/commands/main.go': `c.Flags().IntVar(&n, "qps", ${flag}, "Requests.")`,
      [`resource_customizations/a.io/${health}/health.lua`]: 'return {}',
    });
  const changes = changesBetween(
    factsOf(version('50', 'Old')),
    factsOf(version('100', 'New')),
    new Map([['cli/options.ts', "flag('qps')"]]),
  );

  it('is told with both definitions, and where we name it', () => {
    expect(changes.filter(({ area }) => area !== 'file')).toEqual([
      {
        area: 'flag',
        name: '--qps',
        change: 'changed',
        before: '"qps", 50, "Requests."',
        after: '"qps", 100, "Requests."',
        ours: 'cli/options.ts',
      },
      expect.objectContaining({ area: 'health', name: 'resource_customizations/a.io/New/health.lua', change: 'added' }),
      expect.objectContaining({ name: 'resource_customizations/a.io/Old/health.lua', change: 'removed' }),
    ]);
  });

  it('is a table by area, then a line for each', () => {
    const report = reportOfChanges(changes, { from: '1', to: '2' });
    expect(report).toContain('| flag | 0 | 0 | 1 |\n');
    expect(report).toContain('flag changed: --qps (named in cli/options.ts)\n  - "qps", 50');
    expect(report).toContain('health added: resource_customizations/a.io/New/health.lua (not named by us)');
  });

  it('is nothing between a version and itself', () => {
    const same = factsOf(version('50', 'Old'));
    expect(changesBetween(same, same, new Map())).toEqual([]);
  });
});
