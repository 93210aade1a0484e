import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { bareRepository } from '#model';
import type { CommandResult } from '../../command/types.ts';
import { RepositoryError } from '../../errors.ts';
import { failureOf } from '../../testing/repository.ts';
import { checkUrl } from '../shared/input-checks.ts';
import { transferOverSsh } from './lfs-ssh.ts';
import type { ServerCommand } from './lfs-ssh.ts';

const signal = new AbortController().signal;
const url = 'ssh://git@git.example.com/team/r.git';
const repository = bareRepository(url);
const server = {
  at: checkUrl(url, '/tmp'),
  repository,
  path: '/team/r.git',
  refusal: new RepositoryError('the ssh server of the repository grants no access to Git LFS: no such command'),
};
const objectOf = (content: Buffer): { readonly digest: string; readonly size: number } => ({
  digest: createHash('sha256').update(content).digest('hex'),
  size: content.length,
});

function frame(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes]);
}
const [flush, delimiter] = [Buffer.from('0000'), Buffer.from('0001')];
const line = (text: string): Buffer => frame(`${text}\n`);

/** The commands of a client: lines, and undefined between commands. */
function commandsIn(stdin: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  for (let at = 0; at < stdin.length;) {
    const length = Number.parseInt(stdin.slice(at, at + 4), 16);
    if (length === 0) commands.push([]);
    else if (length > 1) commands.at(-1)?.push(stdin.slice(at + 4, at + length).trimEnd());
    at += Math.max(4, length);
  }
  return commands.slice(0, -1);
}

/** A server written from the description of the protocol. */
class TransferServer {
  readonly files = new Map<string, Buffer>();
  readonly connections: (readonly string[])[] = [];
  readonly run = (command: string, { stdin = '' }: ServerCommand): Promise<CommandResult> => {
    const commands = commandsIn(stdin);
    this.connections.push([command, ...commands.map((words) => words.join(' '))]);
    const answers = commands.map((words) => this.#answer(words));
    const stdout = Buffer.concat([line('version=1'), line('locking'), flush, ...answers]);
    return Promise.resolve({ exitCode: 0, stdout, stderr: '' });
  };

  #answer([command = '', ...words]: readonly string[]): Buffer {
    const ok = line('status 200');
    if (command === 'batch') {
      const asked = words.filter((word) => !word.includes('='));
      const lines = asked.map((word) => {
        const [digest = '', size = ''] = word.split(' ');
        return line(
          `${digest} ${size} ${this.files.has(digest) ? `download id=i-${digest.slice(0, 4)} token=t expires-in=60` : 'noop'}`,
        );
      });
      return Buffer.concat([ok, line('hash-algo=sha256'), delimiter, ...lines, flush]);
    }
    const [, digest = ''] = command.split(' ');
    if (!command.startsWith('get-object')) return Buffer.concat([ok, flush]);
    const content = this.files.get(digest);
    if (content === undefined || !words.includes('token=t'))
      return Buffer.concat([line('status 404'), delimiter, line('no such object'), flush]);
    const parts: Buffer[] = [];
    for (let at = 0; at < content.length; at += 65_515) parts.push(frame(content.subarray(at, at + 65_515)));
    return Buffer.concat([ok, line(`size=${content.length}`), delimiter, ...parts, flush]);
  }
}

describe('files of an ssh server that has only git-lfs-transfer', () => {
  it('are fetched with the identifiers that the server gave', async () => {
    const far = new TransferServer();
    const contents = [Buffer.from('small'), Buffer.alloc(200_000, 'a\n0000'), Buffer.alloc(0)];
    for (const content of contents) far.files.set(objectOf(content).digest, content);
    const found = await transferOverSsh(server, contents.map(objectOf), far.run, signal);
    expect(contents.map((content) => found.get(objectOf(content).digest)?.equals(content))).toEqual([true, true, true]);
    const [first] = contents.map(objectOf);
    expect(far.connections[0]?.[0]).toBe("git-lfs-transfer '/team/r.git' download");
    expect(far.connections).toHaveLength(2);
    expect(far.connections[1]?.[2]).toBe(
      `get-object ${first?.digest ?? ''} id=i-${first?.digest.slice(0, 4) ?? ''} token=t`,
    );
  });

  it('are fetched over as many connections as their sizes need', async () => {
    const far = new TransferServer();
    const contents = ['a', 'b', 'c'].map((fill) => Buffer.alloc(40 * 1024 * 1024, fill));
    for (const content of contents) far.files.set(objectOf(content).digest, content);
    await transferOverSsh(server, contents.map(objectOf), far.run, signal);
    expect(far.connections).toHaveLength(4);
  });

  it('that are missing or changed are an error', async () => {
    const far = new TransferServer();
    const [content, other] = [Buffer.from('one'), Buffer.from('two')];
    const get = (): Promise<unknown> => transferOverSsh(server, [objectOf(content)], far.run, signal);
    expect((await failureOf(get())).message).toContain('does not have the file');
    far.files.set(objectOf(content).digest, other);
    expect((await failureOf(get())).message).toContain('does not match its pointer');
  });

  const answering = (answer: Partial<CommandResult>) => (): Promise<CommandResult> =>
    Promise.resolve({ exitCode: 0, stdout: Buffer.alloc(0), stderr: '', ...answer });
  const advertised = Buffer.concat([line('version=1'), flush, line('status 200'), flush]);
  it.each<[string, Partial<CommandResult>, RegExp]>([
    [
      'has no such command',
      { exitCode: 127, stderr: 'sh: not found' },
      /no such command; nor does git-lfs-transfer .*: sh: not found/,
    ],
    ['greets', { stdout: Buffer.from('Welcome!') }, /does not answer in version 1 of the protocol/],
    ['has another version', { stdout: Buffer.concat([line('version=2'), flush]) }, /does not answer in version 1/],
    ['ends after the version', { stdout: advertised }, /ended git-lfs-transfer early, or broke its protocol/],
    [
      'refuses',
      { stdout: Buffer.concat([advertised, line('status 403'), delimiter, line('message no'), flush]) },
      /refuses batch with status 403: message no/,
    ],
    ['sends half a line', { stdout: Buffer.concat([advertised, Buffer.from('ffffstatus 200')]) }, /broke its protocol/],
    ['sends a length that is none', { stdout: Buffer.concat([advertised, Buffer.from('0002')]) }, /broke its protocol/],
    ['sends no status', { stdout: Buffer.concat([advertised, line('hello'), flush]) }, /broke its protocol/],
    [
      'offers another file',
      { stdout: Buffer.concat([advertised, line('status 200'), delimiter, line(`${'a'.repeat(64)} 1 noop`), flush]) },
      /does not have the file/,
    ],
  ])('of a server that %s are an error', async (_what, answer, message) => {
    const asked = transferOverSsh(server, [objectOf(Buffer.from('x'))], answering(answer), signal);
    expect((await failureOf(asked)).message).toMatch(message);
  });
});
