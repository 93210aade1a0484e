import { expect } from '@jest/globals';
import { GitFixture, configMapYaml, namesOf, sourceBench } from './source-bench.ts';

/**
 * Renders `applications` directories of one repository at once, twice, and expects one ls-remote
 * and one fetch for all of them (T-REPO-1).
 */
export async function expectOneFetch(applications: number): Promise<void> {
  const names = Array.from({ length: applications }, (_, i) => `app-${i}`);
  const repo = new GitFixture();
  const sha = repo
    .write(Object.fromEntries(names.map((name) => [`apps/${name}/cm.yaml`, configMapYaml(name)])))
    .commit();
  const { render, count, ran } = sourceBench();
  const all = await Promise.all(names.map((app) => render(repo.path, { path: `apps/${app}`, app })));
  expect(all.map((made) => namesOf(made))).toEqual(names.map((name) => [name]));
  expect(new Set(all.map((made) => made.revision))).toEqual(new Set([sha]));
  expect(count('ls-remote')).toBe(1);
  expect(count('fetch')).toBe(1);
  expect(count('ls-tree')).toBe(1);
  // Reads are batched as well: far fewer processes than applications.
  expect(count('cat-file')).toBeLessThan(applications / 10);
  const before = ran.length;
  await Promise.all(names.map((app) => render(repo.path, { path: `apps/${app}` })));
  expect(ran.length).toBe(before);
}
