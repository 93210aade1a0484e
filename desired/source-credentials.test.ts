import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { DesiredError } from './index.ts';
import { failureOf } from './testing/repository.ts';
import {
  GitFixture,
  configMapYaml,
  neverAborted,
  removeTemporaryFolders,
  sourceBench,
} from './testing/source-bench.ts';

afterEach(removeTemporaryFolders);

describe('credentials', () => {
  const secret = 's3cr3t-p@ss/word';

  it('never puts credentials or addresses into argv, and wipes key files', async () => {
    const seen: { env: Readonly<Record<string, string>>; key: string; mode: string }[] = [];
    const made = sourceBench({}, () => ({
      runCommand: async (argv, options) => {
        if (argv.includes('ls-remote')) {
          const command = options.env?.['GIT_SSH_COMMAND'] ?? '';
          const file = /'-i' '([^']+)'/.exec(command)?.[1];
          const text = file === undefined ? '' : readFileSync(file, 'utf8');
          const mode = file === undefined ? '' : execFileSync('stat', ['-c', '%a', file], { encoding: 'utf8' }).trim();
          seen.push({ env: options.env ?? {}, key: text, mode });
          return {
            exitCode: 128,
            stdout: new Uint8Array(),
            stderr: `fatal: cannot use ${secret} at https://me:${secret}@h/`,
          };
        }
        return { exitCode: 0, stdout: new Uint8Array(), stderr: '' };
      },
    }));
    const repositories: Repository[] = [
      { ...bareRepository('https://git.example.com/x.git'), username: 'me', password: new SecretValue(secret) },
      { ...bareRepository('https://git.example.com/x.git'), bearerToken: new SecretValue(secret) },
      { ...bareRepository('git@git.example.com:x.git'), sshPrivateKey: new SecretValue(secret) },
      bareRepository(`https://me:${encodeURIComponent(secret)}@git.example.com/x.git`),
    ];
    for (const repository of repositories) {
      const error = await failureOf(
        made.source.resolve(
          { source: { repoURL: repository.url }, repository, revision: 'main' },
          'cached',
          neverAborted,
        ),
      );
      expect(error).toBeInstanceOf(DesiredError);
      expect(JSON.stringify([error.message, error])).not.toContain(secret);
      expect(error.message).not.toContain('p%40ss');
    }
    const basic = Buffer.from(`me:${secret}`).toString('base64');
    const values = seen.map(({ env: e }) => Object.values(e));
    expect(values[0]).toContain(`Authorization: Basic ${basic}`);
    expect(values[0]).toContain('http.https://git.example.com/.extraHeader');
    expect(values[1]).toContain(`Authorization: Bearer ${secret}`);
    expect(seen[2]).toMatchObject({ key: `${secret}\n`, mode: '600' });
    expect(values[2]?.join(' ')).toContain('StrictHostKeyChecking=yes');
    expect(values[3]).toContain(`Authorization: Basic ${basic}`);
    expect(values[3]).toContain('https://git.example.com/x.git');
    for (const { argv } of made.ran) {
      expect(argv.join(' ')).not.toContain(secret);
      expect(argv.join(' ')).not.toContain('example.com');
    }
    const keys = join(made.cacheDir, 'keys');
    expect(existsSync(keys) ? readdirSync(keys) : []).toEqual([]);
  });

  it('keeps the mirrors of different credentials apart', async () => {
    const repo = new GitFixture();
    repo.write({ 'a.yaml': configMapYaml('a') }).commit();
    const made = sourceBench();
    const ask = (repository: Repository): Promise<string> =>
      made.source.resolve(
        { source: { repoURL: repository.url }, repository, revision: 'main' },
        'cached',
        neverAborted,
      );
    await ask(bareRepository(repo.path));
    await ask({ ...bareRepository(repo.path), password: new SecretValue('x') });
    expect(made.count('ls-remote')).toBe(2);
    expect(readdirSync(join(made.cacheDir, 'git'))).toHaveLength(2);
  });
});
