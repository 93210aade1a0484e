import { execFile, execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startGitServer } from '#sim';
import type { GitServer } from '#sim';

const runFile = promisify(execFile);

/** A bare Git repository that is served over HTTP, with the number of fetches from it. */
export class FleetRepository {
  readonly url: string;
  readonly #path: string;
  readonly #server: GitServer;
  #commits = 0;

  private constructor(path: string, server: GitServer) {
    this.#path = path;
    this.#server = server;
    this.url = `${server.url}/fleet.git`;
  }

  static async start(folder: string): Promise<FleetRepository> {
    const path = join(folder, 'fleet.git');
    execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', path]);
    return new FleetRepository(path, await startGitServer(folder));
  }

  /** Commits files to the branch `main`, and returns the commit. */
  async commit(files: Readonly<Record<string, string>>): Promise<string> {
    const parent = this.#commits === 0 ? '' : 'from refs/heads/main^0\n';
    this.#commits += 1;
    const message = `change ${this.#commits}`;
    const head = `commit refs/heads/main\ncommitter bench <bench@example.com> ${this.#commits} +0000\ndata ${message.length}\n${message}\n${parent}`;
    const changes = Object.entries(files).map(
      ([name, content]) => `M 100644 inline ${name}\ndata ${Buffer.byteLength(content)}\n${content}\n`,
    );
    await this.#import(`${head}${changes.join('')}\n`);
    const { stdout } = await runFile('git', ['-C', this.#path, 'rev-parse', 'refs/heads/main']);
    return stdout.trim();
  }

  /** Number of times that a client has fetched objects, clones included. */
  fetches(): number {
    return this.#server.fetches();
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #import(stream: string): Promise<void> {
    return new Promise((done, fail) => {
      const child = spawn('git', ['-C', this.#path, 'fast-import', '--quiet'], {
        stdio: ['pipe', 'ignore', 'inherit'],
      });
      child.once('error', fail);
      child.once('close', (code) =>
        code === 0 ? done() : fail(new Error(`git fast-import ended with ${code ?? 'a signal'}`)),
      );
      child.stdin.end(stream);
    });
  }
}
