import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../../e2e/rendered-controller.ts';
import { toolsPath } from '../../e2e/support/index.ts';
import type { World } from './world.ts';

/** The first block of shell commands below a heading of a page, by default docs/install.md. */
export function documentedCommands(heading: string, page = 'install.md'): string {
  const text = readFileSync(join(repository, 'docs', page), 'utf8');
  const begin = text.search(new RegExp(`^#+ ${heading}$`, 'm'));
  const block = begin < 0 ? undefined : /^```sh\n(.*?)^```$/ms.exec(text.slice(begin))?.[1];
  if (block === undefined) throw new Error(`docs/${page} has no commands below "${heading}"`);
  return block;
}

/**
 * Runs shell commands as a user types them: in the checkout, with access to the cluster.
 * @returns their output. @throws Error with the output of the command that failed
 */
export function runShell({ hub, folder, node }: World, commands: string, timeoutMs = 180_000): Promise<string> {
  return new Promise((done, failed) => {
    const child = spawn('bash', ['-euc', commands], {
      cwd: repository,
      env: { ...process.env, PATH: toolsPath(), KUBECONFIG: hub.kubeconfig, HOME: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
    child.once('error', failed);
    child.once('close', (code) => {
      if (code === 0) done(output);
      else failed(new Error(`${commands}ended with ${code ?? 'a signal'}:\n${output}\n${node.tail()}`));
    });
  });
}
