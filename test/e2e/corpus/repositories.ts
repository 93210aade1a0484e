import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import type { SourceFiles } from './case.ts';

const who = 'corpus <corpus@example.com> 1700000000 +0000';

/** Creates a bare repository whose branch has one commit with these files. */
export function commitFiles(path: string, files: SourceFiles, branch = 'main', from?: string): void {
  mkdirSync(path, { recursive: true });
  if (from === undefined) git(path, ['init', '--quiet', '--bare', '--initial-branch=main']);
  const entries = Object.entries(files).map(([name, content]) => {
    const link = /^-> (.*)$/.exec(content)?.[1];
    return `M ${link === undefined ? '100644' : '120000'} inline ${JSON.stringify(name)}\n${data(link ?? content)}`;
  });
  const parent = from === undefined ? '' : `from refs/heads/${from}\n`;
  git(
    path,
    ['fast-import', '--quiet'],
    `commit refs/heads/${branch}\ncommitter ${who}\n${data('corpus')}${parent}${entries.join('')}\ndone\n`,
  );
}

/** Tags `main` as v1.0.0. The annotated tag v1.1.0 and the branch `side` have one more file. */
export function tagAndBranch(path: string): void {
  git(path, ['tag', 'v1.0.0', 'main']);
  commitFiles(path, { 'side.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: side}\n' }, 'side', 'main');
  git(path, ['-c', 'user.name=a', '-c', 'user.email=a@example.com', 'tag', '-a', '-m', 'x', 'v1.1.0', 'side']);
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

function git(path: string, args: readonly string[], input = ''): void {
  execFileSync('git', ['-C', path, ...args], {
    input,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: path, GIT_CONFIG_NOSYSTEM: '1' },
  });
}
