import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { changelogEntry, missingPrograms, releaseProblems, releaseSteps } from '../scripts/release/release.mjs';
import type { ReleaseFacts } from '../scripts/release/release.mjs';

const good: ReleaseFacts = {
  version: '0.2.0',
  lockVersion: '0.2.0',
  chart: 'version: 0.2.0\nappVersion: "0.2.0"\n',
  changelog: '# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n- New.\n\n## 0.1.0 - 2026-11-22\n\n- First.\n',
  changedFiles: [],
  tags: ['v0.1.0'],
};

describe('checks before a release', () => {
  it('find no problem with a commit that is ready', () => {
    expect(releaseProblems(good)).toEqual([]);
  });

  it.each<[string, Partial<ReleaseFacts>, string]>([
    ['a version that is not semantic', { version: '0.2' }, 'package.json: "0.2" is not a semantic version'],
    ['another version in the lock file', { lockVersion: '0.1.0' }, 'package-lock.json: version 0.1.0 differs'],
    ['another version of the chart', { chart: 'version: 0.1.0\nappVersion: 0.2.0\n' }, 'Chart.yaml: version 0.1.0'],
    ['a chart without appVersion', { chart: 'version: 0.2.0\n' }, 'Chart.yaml: appVersion (missing)'],
    ['no entry in the changelog', { changelog: '## Unreleased\n' }, 'add a heading "## 0.2.0 - YYYY-MM-DD"'],
    ['an empty entry', { changelog: '## 0.2.0 - 2026-12-01\n\n## 0.1.0 - x\n' }, 'the entry of 0.2.0 is empty'],
    ['changed files', { changedFiles: ['a.ts'] }, 'the working tree is not clean: commit or remove a.ts'],
    ['a tag that exists', { tags: ['v0.2.0'] }, 'the tag v0.2.0 exists'],
  ])('name %s', (_case, change, problem) => {
    expect(releaseProblems({ ...good, ...change })).toContainEqual(expect.stringContaining(problem));
  });

  it('read only the changelog entry of the version', () => {
    expect(changelogEntry(good.changelog, '0.2.0')).toBe('- New.');
    expect(changelogEntry(good.changelog, '0.3.0')).toBeUndefined();
  });

  it('name each missing program with the steps that need it', () => {
    const missing = missingPrograms(releaseSteps('0.2.0', 'abc'), (program) => program === 'git' || program === 'npm');
    expect(missing).toEqual([
      'helm is not on PATH: install it (needed for chart)',
      'docker is not on PATH: install it (needed for image)',
    ]);
  });

  it('create the tag last, so that it exists only if packing succeeded', () => {
    expect(releaseSteps('0.2.0', 'abc').map(({ name }) => name)).toEqual(['chart', 'SBOM', 'image', 'tag']);
  });

  it('build the image for every platform, with its SBOM, its provenance and the commit', () => {
    const image = releaseSteps('0.2.0', 'abc')
      .find(({ name }) => name === 'image')
      ?.command.join(' ');
    for (const part of [
      '--platform linux/amd64,linux/arm64',
      '--attest type=sbom',
      '--attest type=provenance,mode=max',
      '--build-arg VERSION=0.2.0',
      '--build-arg REVISION=abc',
    ])
      expect(image).toContain(part);
  });

  it('pass for the versions of package, lock file and chart in this repository', () => {
    const read = (path: string): string => readFileSync(path, 'utf8');
    const versionIn = (path: string): string => (JSON.parse(read(path)) as { readonly version: string }).version;
    const problems = releaseProblems({
      version: versionIn('package.json'),
      lockVersion: versionIn('package-lock.json'),
      chart: read('charts/driftless/Chart.yaml'),
      changelog: read('CHANGELOG.md'),
      changedFiles: [],
      tags: [],
    });
    expect(problems).toEqual([]);
  });
});
