import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { driftless } from '../testing/run-here.ts';

/** The completions of bash for the last of these words. */
function offered(script: string, ...words: readonly string[]): readonly string[] {
  const line = words.map((word) => `'${word}'`).join(' ');
  const program = `${script}\nCOMP_WORDS=(driftless ${line}) COMP_CWORD=${words.length}\n_driftless\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', program], { encoding: 'utf8' })
    .split('\n')
    .filter((word) => word !== '');
}

describe('driftless completion', () => {
  it('completes commands, subcommands and flags in bash', async () => {
    const { code, said } = await driftless('completion', 'bash');
    expect(code).toBe(0);
    expect(offered(said, 'ex')).toEqual(['explain']);
    expect(offered(said, 'shards', 'p')).toEqual(['plan']);
    expect(offered(said, 'top', '')).toEqual(expect.arrayContaining(['apps', 'clusters', '--watch']));
    expect(offered(said, 'run', '--status-p')).toEqual(['--status-processors']);
    expect(offered(said, 'shards', '--to-')).toEqual(['--to-algorithm']);
    expect(offered(said, 'help', 'pre')).toEqual(['preflight']);
  });

  it.each(['zsh', 'fish'])('prints a script for %s with every command', async (shell) => {
    const { code, said } = await driftless('completion', shell);
    expect(code).toBe(0);
    for (const text of ['explain', 'preflight', 'status-processors', 'reconcile-results']) expect(said).toContain(text);
    // Where the shell is installed, it must accept the script.
    const { error, status } = spawnSync(shell, ['-n'], { input: said });
    if (error === undefined) expect(status).toBe(0);
  });

  it('refuses another shell', async () => {
    expect(await driftless('completion', 'tcsh')).toEqual({
      code: 2,
      said: expect.stringContaining('usage: driftless completion bash|zsh|fish'),
    });
  });
});
