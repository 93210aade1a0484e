import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { archiveProblems, releasePlatforms } from '../scripts/release/image-archive.mjs';
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
    const missing = missingPrograms(releaseSteps('0.2.0', 'abc'), (program) =>
      ['git', 'npm', 'node'].includes(program),
    );
    expect(missing).toEqual([
      'helm is not on PATH: install it (needed for chart)',
      'docker is not on PATH: install it (needed for image)',
    ]);
  });

  it('create the tag last, so that it exists only if packing succeeded', () => {
    expect(releaseSteps('0.2.0', 'abc').map(({ name }) => name)).toEqual([
      'chart',
      'package',
      'SBOM',
      'image',
      'image check',
      'provenance',
      'tag',
    ]);
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

describe('the archive of the image', () => {
  const expected = { platforms: releasePlatforms, version: '0.2.0', revision: 'abc', isAttested: true };
  const label = (name: string): string => `org.opencontainers.image.${name}`;
  const types = ['https://spdx.dev/Document', 'https://slsa.dev/provenance/v1'];
  const labels = Object.fromEntries(
    Object.entries({ title: 't', description: 'd', licenses: 'l', version: '0.2.0', revision: 'abc' }).map(
      ([name, value]) => [label(name), value],
    ),
  );

  interface Parts {
    readonly platforms?: readonly string[];
    readonly labels?: Readonly<Record<string, string>>;
    readonly types?: readonly string[];
    readonly attestedDigest?: string;
  }

  /** An OCI layout as BuildKit writes it: an index in the index, attestations beside the images. */
  function problemsOf(parts: Parts, isAttested = true): string[] {
    const files: Record<string, unknown> = {};
    const blob = (id: string, content: unknown): string => {
      files[`blobs/sha256/${id}`] = content;
      return `sha256:${id}`;
    };
    const manifests = (parts.platforms ?? releasePlatforms).flatMap((platform, index) => {
      const [os, architecture] = platform.split('/');
      const config = {
        digest: blob(`config-${index}`, { os, architecture, config: { Labels: parts.labels ?? labels } }),
      };
      const digest = blob(`image-${index}`, { config });
      const layers = (parts.types ?? types).map((type) => ({ annotations: { 'in-toto.io/predicate-type': type } }));
      const annotations = {
        'vnd.docker.reference.type': 'attestation-manifest',
        'vnd.docker.reference.digest': parts.attestedDigest ?? digest,
      };
      return [{ digest }, { digest: blob(`attestation-${index}`, { layers }), annotations }];
    });
    const mediaType = 'application/vnd.oci.image.index.v1+json';
    files['index.json'] = { manifests: [{ mediaType, digest: blob('index', { manifests }) }] };
    return archiveProblems((name) => files[name], { ...expected, isAttested });
  }

  it('is good with labels, SBOM and provenance of every platform', () => {
    expect(problemsOf({})).toEqual([]);
    expect(problemsOf({ types: [] }, false)).toEqual([]);
  });

  it.each<[string, Parts, readonly string[]]>([
    ['a platform', { platforms: ['linux/amd64'] }, ['no image for linux/arm64']],
    ['a label', { labels: { ...labels, [label('licenses')]: '' } }, [`label ${label('licenses')} is missing`]],
    [
      'the commit',
      { labels: { ...labels, [label('revision')]: 'unknown' } },
      [`label ${label('revision')} is unknown, not abc`],
    ],
    ['the SBOM', { types: types.slice(1) }, ['an SBOM is not attached: use a builder that stores attestations']],
    ['the provenance', { types: types.slice(0, 1) }, ['provenance is not attached']],
    ['attestations of these images', { attestedDigest: 'sha256:other' }, ['an SBOM is not', 'provenance is not']],
  ])('is refused without %s', (_missing, parts, wanted) => {
    const found = problemsOf(parts);
    for (const text of wanted) expect(found).toContainEqual(expect.stringContaining(text));
    expect(found.length).toBe(parts.platforms === undefined ? 2 * wanted.length : 1);
  });
});
