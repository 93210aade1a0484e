import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { headOf, initRepository } from './git-folder.ts';

it('an empty repository takes commits on main, and names the last one as git does', () => {
  const folder = mkdtempSync(join(tmpdir(), 'git-folder-'));
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      encoding: 'utf8',
    }).trim();
  try {
    initRepository(folder);
    git('commit', '--quiet', '--allow-empty', '--message', 'first');
    expect(git('branch', '--show-current')).toBe('main');
    expect(headOf(folder)).toBe(git('rev-parse', 'HEAD'));
    git('checkout', '--quiet', '--detach');
    expect(headOf(folder)).toBe(git('rev-parse', 'HEAD'));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
