import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
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

  it('every package has one exact version and a hash', () => {
    const { dependencies, devDependencies, overrides } = read('package.json') as Readonly<
      Record<string, Readonly<Record<string, string>>>
    >;
    const ranges = Object.entries({ ...devDependencies, ...dependencies, ...overrides }).filter(
      ([, version]) => !/^(?:npm:[@\w/.-]+@)?\d+\.\d+\.\d+$/.test(version),
    );
    expect(ranges).toEqual([]);
    const { packages } = read('package-lock.json') as {
      readonly packages: Readonly<Record<string, { readonly integrity?: string; readonly optional?: boolean }>>;
    };
    // Packages of other platforms have no hash: the registry of this machine may not carry them.
    const unverified = Object.entries(packages).filter(
      ([path, { integrity, optional }]) => path !== '' && !integrity && !optional,
    );
    expect(unverified).toEqual([]);
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
