import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { argoFamilies } from '../acceptance/argo-metrics.ts';

const modules = ['api', 'cli', 'controller', 'live', 'publish', 'queues', 'settings', 'sharding', 'telemetry'];
const root = join(import.meta.dirname, '../..');

function sources(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'testing' ? [] : sources(path);
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts') ? [path] : [];
  });
}

const names = (text: string, pattern: RegExp): readonly string[] =>
  [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))].sort();

it('docs/metrics.md documents every metric, and no others: node scripts/generate/metrics-docs.mjs', () => {
  const code = modules.flatMap(sources).map((path) => readFileSync(join(root, path), 'utf8'));
  const made = names(code.join('\n'), /'(driftless_[a-z_]+)'/g);
  expect(made.length).toBeGreaterThan(30);
  expect(names(readFileSync(join(root, 'docs/metrics.md'), 'utf8'), /`(driftless_[a-z_]+)/g)).toEqual(made);
});

it("registers every family of Argo CD's controller with its type and labels, and no other", () => {
  const page = readFileSync(join(root, 'docs/metrics.md'), 'utf8');
  const rows = [
    ...page.matchAll(/^\| `((?:argocd|workqueue)_[a-z0-9_]+)` \| (gauge|counter|histogram) \| ([^|]*)\|/gm),
  ];
  const registered = rows.map(([, name = '', type = '', labels = '']) => [
    name,
    [type, ...[...labels.matchAll(/`([^`]+)`/g)].map(([, label = '']) => label).sort()].join(' '),
  ]);
  expect(Object.fromEntries(registered)).toEqual(argoFamilies);
});
