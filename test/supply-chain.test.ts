import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { provenanceFaults, provenanceOf } from '../scripts/release/provenance.mjs';
import { localChecks } from '../scripts/release/scorecard.mjs';
import type { Repository } from '../scripts/release/scorecard.mjs';
import { judgeAudit, licenceFaults, licenceOf } from '../scripts/release/supply-chain.mjs';
import type { AuditException } from '../scripts/release/supply-chain.mjs';

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

describe('what comes with the packages', () => {
  it('every production package has an allowed licence', () => {
    const { packages } = read('package-lock.json') as { readonly packages: Readonly<Record<string, object>> };
    const licenceIn = (path: string): string | undefined =>
      licenceOf(read(`${path}/package.json`) as Parameters<typeof licenceOf>[0]);
    expect(licenceFaults(packages, licenceIn)).toEqual([]);
    const others = {
      '': {},
      'node_modules/a': { version: '1.0.0', license: 'GPL-3.0' },
      'node_modules/b': { version: '1.0.0', license: '(GPL-2.0 OR MIT)' },
      'node_modules/c': { version: '1.0.0', license: 'MIT AND GPL-2.0' },
      'node_modules/d': { version: '1.0.0', license: 'GPL-3.0', dev: true },
      'node_modules/e': { version: '1.0.0' },
    };
    expect(licenceFaults(others, () => undefined)).toEqual([
      'node_modules/a 1.0.0: GPL-3.0',
      'node_modules/c 1.0.0: MIT AND GPL-2.0',
      'node_modules/e 1.0.0: none',
    ]);
  });

  it('a known vulnerability fails the audit unless it has an exception that has not ended', () => {
    const via = [
      { name: 'x', range: '<2', title: 'bad', severity: 'high', url: 'https://h/advisories/GHSA-aaaa-bbbb-cccc' },
    ];
    const answer = { vulnerabilities: { x: { via }, y: { via: ['x'] } } };
    const exception: AuditException = { id: 'GHSA-aaaa-bbbb-cccc', reason: 'not reached', until: '2026-12-01' };
    expect(judgeAudit(answer, [], '2026-11-22').faults).toEqual(['GHSA-aaaa-bbbb-cccc x <2: bad (high)']);
    expect(judgeAudit(answer, [exception], '2026-11-22').faults).toEqual([]);
    expect(judgeAudit(answer, [exception], '2026-12-02').faults).toEqual([
      'the exception for GHSA-aaaa-bbbb-cccc ended on 2026-12-01: not reached',
      'GHSA-aaaa-bbbb-cccc x <2: bad (high)',
    ]);
    expect(
      judgeAudit({ vulnerabilities: {} }, [{ ...exception, reason: '', until: 'never' }], '2026-11-22').faults,
    ).toHaveLength(1);
    expect(judgeAudit({ message: '405 Method Not Allowed' }, [], '2026-11-22')).toEqual({
      faults: [],
      unanswered: '405 Method Not Allowed',
    });
    const kept = read('scripts/release/audit-exceptions.json') as readonly AuditException[];
    expect(judgeAudit({ vulnerabilities: {} }, kept, '2026-11-22').faults).toEqual([]);
  });
});

describe('checks of OpenSSF Scorecard that need only the repository', () => {
  const listed = spawnSync('git', ['ls-files', '-z'], { encoding: 'utf8', maxBuffer: 1 << 26 });
  const bytes = (path: string): Uint8Array => readFileSync(path);
  const here: Repository = {
    files: listed.stdout.split('\0').filter((path) => path !== ''),
    bytes,
    text: (path) => Buffer.from(bytes(path)).toString(),
  };
  const faultsOf = (repository: Repository): Readonly<Record<string, readonly string[]>> =>
    Object.fromEntries(
      localChecks(repository).flatMap(({ name, faults }) => (faults.length > 0 ? [[name, faults]] : [])),
    );

  /** This repository with other files, or without some. */
  const changed = (files: Readonly<Record<string, string | undefined>>): Repository => ({
    files: [...here.files.filter((path) => !(path in files)), ...Object.keys(files).filter((path) => files[path])],
    text: (path) => files[path] ?? here.text(path),
    bytes: (path) => (files[path] === undefined ? here.bytes(path) : Buffer.from(files[path], 'latin1')),
  });
  const workflow = (text: string): Repository => changed({ '.github/workflows/x.yml': `permissions: {}\n${text}\n` });

  it('pass', () => {
    expect(faultsOf(here)).toEqual({});
  });

  it.each<[string, Repository, string]>([
    ['a compiled program', changed({ 'docs/tool': '\x7fELF\x02' }), 'Binary-Artifacts'],
    [
      'a range of versions',
      changed({ 'package.json': here.text('package.json').replace(/"pino": "/, '"pino": "^') }),
      'Pinned-Dependencies',
    ],
    [
      'a package without a hash',
      changed({ 'package-lock.json': '{"packages":{"node_modules/a":{"version":"1.0.0"}}}' }),
      'Pinned-Dependencies',
    ],
    [
      'an image without a full version',
      changed({ Dockerfile: 'ARG NODE_IMAGE=node:26\nFROM ${NODE_IMAGE} AS build\n' }),
      'Pinned-Dependencies',
    ],
    ['npm install in the image', changed({ Dockerfile: 'FROM scratch\nRUN npm install\n' }), 'Pinned-Dependencies'],
    ['an action without a commit', workflow('    - uses: actions/checkout@v4'), 'Pinned-Dependencies'],
    ['a workflow for foreign code', workflow('on: pull_request_target'), 'Dangerous-Workflow'],
    ['foreign text in a script', workflow('    - run: echo ${{ github.event.issue.title }}'), 'Dangerous-Workflow'],
    ['a workflow that may write', workflow('permissions: write-all'), 'Token-Permissions'],
    ['a workflow without permissions', changed({ '.github/workflows/y.yml': 'on: push\n' }), 'Token-Permissions'],
    ['no licence', changed({ LICENSE: undefined }), 'License'],
    [
      'no support periods',
      changed({ 'SECURITY.md': 'Report a vulnerability. An answer within 7 days.' }),
      'Security-Policy',
    ],
    ['no static analysis', changed({ '.ci/run': 'npm test' }), 'SAST'],
    ['no fuzzing', changed({ 'scripts/nightly/main.mjs': '' }), 'Fuzzing'],
    ['no proposals of updates', changed({ '.github/dependabot.yml': undefined }), 'Dependency-Update-Tool'],
  ])('find %s', (_what, repository, check) => {
    expect(Object.keys(faultsOf(repository))).toContain(check);
  });
});

describe('the provenance of a release', () => {
  const files = [
    { name: 'driftless-1.0.0.tgz', sha256: 'aa' },
    { name: 'driftless-1.0.0.tar', sha256: 'bb' },
  ];
  const statement = provenanceOf({
    files,
    version: '1.0.0',
    revision: 'c0ffee',
    materials: [{ name: 'package-lock.json', sha256: 'cc' }],
    finishedAt: '2026-11-27T00:00:00.000Z',
  });

  it('is an in-toto statement about each file, with the commit and the lock file', () => {
    expect(statement).toMatchObject({
      _type: 'https://in-toto.io/Statement/v1',
      predicateType: 'https://slsa.dev/provenance/v1',
      subject: [
        { name: 'driftless-1.0.0.tar', digest: { sha256: 'bb' } },
        { name: 'driftless-1.0.0.tgz', digest: { sha256: 'aa' } },
      ],
    });
    const digests = statement.predicate.buildDefinition.resolvedDependencies.map(({ digest }) => digest);
    expect(digests).toEqual([{ gitCommit: 'c0ffee' }, { sha256: 'cc' }]);
    expect(provenanceFaults(statement, files)).toEqual([]);
  });

  it('names a file that differs, that it lacks, and that is missing', () => {
    const others = [
      { name: 'driftless-1.0.0.tgz', sha256: 'dd' },
      { name: 'more', sha256: 'ee' },
    ];
    expect(provenanceFaults(statement, others)).toEqual([
      'driftless-1.0.0.tgz differs from the statement',
      'more is not in the statement',
      'driftless-1.0.0.tar is in the statement, and missing',
    ]);
  });
});
