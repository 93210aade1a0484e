import { readFileSync } from 'node:fs';

/**
 * Server URLs by context name of a kubeconfig of the simulator, which has one cluster per context.
 */
export function serversOf(kubeconfig: string): Map<string, string> {
  const text = readFileSync(kubeconfig, 'utf8');
  const entries = text.matchAll(/- name: (\S+)\n\s+cluster:\n\s+server: (\S+)/g);
  return new Map([...entries].map(([, name = '', server = '']) => [name, server]));
}

/** Plain HTTP calls to an API server, without production code that could hide its own bugs. */
export class RawApi {
  readonly #server: string;

  constructor(server: string) {
    this.#server = server;
  }

  /** Returns the body, undefined for 404. */
  async get<T = Record<string, unknown>>(path: string): Promise<T | undefined> {
    const answer = await fetch(`${this.#server}${path}`);
    if (answer.status === 404) return undefined;
    if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  async list<T = Record<string, unknown>>(path: string): Promise<T[]> {
    return (await this.get<{ items: T[] }>(path))?.items ?? [];
  }

  async delete(path: string): Promise<void> {
    const answer = await fetch(`${this.#server}${path}`, { method: 'DELETE' });
    if (!answer.ok) throw new Error(`DELETE ${path}: ${answer.status} ${await answer.text()}`);
  }

  async mergePatch(path: string, body: unknown): Promise<void> {
    const headers = { 'content-type': 'application/merge-patch+json' };
    const answer = await fetch(`${this.#server}${path}`, { method: 'PATCH', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`PATCH ${path}: ${answer.status} ${await answer.text()}`);
  }
}
