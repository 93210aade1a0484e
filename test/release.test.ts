import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { archiveProblems } from '../scripts/release/image-archive.mjs';
import { changelogEntry, releaseProblems } from '../scripts/release/release.mjs';
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
    ['a tag of another version', { tag: 'v0.3.0' }, 'the tag v0.3.0 differs from version 0.2.0'],
  ])('name %s', (_case, change, problem) => {
    expect(releaseProblems({ ...good, ...change })).toContainEqual(expect.stringContaining(problem));
  });

  it('read only the changelog entry of the version', () => {
    expect(changelogEntry(good.changelog, '0.2.0')).toBe('- New.');
    expect(changelogEntry(good.changelog, '0.3.0')).toBeUndefined();
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

it('the commands of the documentation have the version of package.json', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md'));
  const files = [...pages.map((path) => `docs/${path}`), 'Dockerfile', 'README.md', 'manifests/agent.yaml'];
  const named = /(?:\/driftless[:-]|image\.tag=|newTag: )(\d+\.\d+\.\d+)/g;
  const found = files.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(named)].map(([, one]) => `${path}: ${one}`),
  );
  expect(found.length).toBeGreaterThan(5);
  expect(found.filter((one) => !one.endsWith(`: ${version}`))).toEqual([]);
});

describe('the archive of the image', () => {
  const expected = { platforms: ['linux/amd64', 'linux/arm64'], version: '0.2.0', revision: 'abc' };
  const label = (name: string): string => `org.opencontainers.image.${name}`;
  const labels = Object.fromEntries(
    Object.entries({ title: 't', description: 'd', licenses: 'l', version: '0.2.0', revision: 'abc' }).map(
      ([name, value]) => [label(name), value],
    ),
  );

  interface Parts {
    readonly platforms?: readonly string[];
    readonly labels?: Readonly<Record<string, string>>;
  }

  /** An OCI layout as BuildKit writes it: an index in the index. */
  function problemsOf(parts: Parts): string[] {
    const files: Record<string, unknown> = {};
    const blob = (id: string, content: unknown): string => {
      files[`blobs/sha256/${id}`] = content;
      return `sha256:${id}`;
    };
    const manifests = (parts.platforms ?? expected.platforms).map((platform, index) => {
      const [os, architecture] = platform.split('/');
      const content = { os, architecture, config: { Labels: parts.labels ?? labels } };
      const config = { digest: blob(`config-${index}`, content) };
      return { digest: blob(`image-${index}`, { config }) };
    });
    const mediaType = 'application/vnd.oci.image.index.v1+json';
    files['index.json'] = { manifests: [{ mediaType, digest: blob('index', { manifests }) }] };
    return archiveProblems((name) => files[name], expected);
  }

  it('is good with the labels of every platform', () => {
    expect(problemsOf({})).toEqual([]);
  });

  it.each<[string, Parts, readonly string[]]>([
    ['a platform', { platforms: ['linux/amd64'] }, ['no image for linux/arm64']],
    [
      'a label',
      { labels: { ...labels, [label('licenses')]: '' } },
      expected.platforms.map((platform) => `${platform}: label ${label('licenses')} is missing`),
    ],
    [
      'the commit',
      { labels: { ...labels, [label('revision')]: 'unknown' } },
      expected.platforms.map((platform) => `${platform}: label ${label('revision')} is unknown, not abc`),
    ],
  ])('is refused without %s', (_missing, parts, wanted) => {
    expect(problemsOf(parts)).toEqual(wanted);
  });
});
