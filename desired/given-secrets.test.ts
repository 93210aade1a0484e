import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, describe, expect, it } from '@jest/globals';
import { systemClock } from '#base';
import type { ApplicationSource } from '#model';
import { createInProcessRunner } from './command/in-process.ts';
import { RenderTools } from './generate/tools.ts';
import { secretsIn } from './given-secrets.ts';
import { defaultLimits } from './limits.ts';
import { createFairRenderer } from './render/fair.ts';
import { testRenderer } from './testing/repository.ts';

const source = (options: Partial<ApplicationSource>): ApplicationSource => ({ repoURL: 'https://x', ...options });

describe('values of a source whose names mark them as secret', () => {
  it.each<[string, Partial<ApplicationSource>, readonly string[]]>([
    [
      'parameters of helm',
      {
        helm: {
          parameters: [
            { name: 'db.password', value: 'p,w' },
            { name: 'image.tag', value: 'v1' },
            { name: 'auth.existingSecret', value: 'name' },
            { name: 'apiKey', value: '' },
            { name: 'tokens[0].token', value: 't0ken' },
          ],
        },
      },
      ['p,w', 'p\\,w', 't0ken'],
    ],
    ['values as text', { helm: { values: 'db:\n  password: pw\n  host: h\n  list: [{token: tk}]\n' } }, ['pw', 'tk']],
    ['values that cannot be read', { helm: { values: 'db: {password: pw' } }, []],
    ['values as an object', { helm: { valuesObject: { db: { rootPassword: 123456, port: 1 } } } }, ['123456']],
    ['variables of jsonnet', { directory: { jsonnet: { tlas: [{ name: 'secret', value: 's3' }] } } }, ['s3']],
    [
      'a plugin',
      {
        plugin: {
          env: [
            { name: 'VAULT_TOKEN', value: 'vt' },
            { name: 'PATH_KEY_ID', value: 'no' },
          ],
        },
      },
      ['vt'],
    ],
    [
      'parameters of a plugin',
      {
        plugin: {
          parameters: [
            { name: 'secrets', array: ['s1', 's2'] },
            { name: 'password', map: { a: 'no' } },
          ],
        },
      },
      ['s1', 's2'],
    ],
    ['nothing', {}, []],
  ])('%s', (_name, options, found) => {
    expect(secretsIn(source(options))).toEqual(found);
  });
});

// T-SEC-1, T-SEC-4
describe('a program that fails', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tools-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is quoted without its secrets, its folder, its value maps and its colours', async () => {
    const path = join(folder, 'helm');
    const script = [
      '#!/bin/sh',
      'printf "\\033[31mcannot overwrite table (map[password:c4nary-map]) in $PWD/x: $*\\n" >&2',
      'printf "https://u:c4nary-url@host/x has c4nary-value\\n" >&2',
      'exit 3',
    ];
    writeFileSync(path, script.join('\n'));
    chmodSync(path, 0o755);
    const commands = createInProcessRunner({ clock: systemClock, env });
    const renderer = testRenderer(join(folder, 'staging'), commands, () => path);
    const fair = createFairRenderer({ renderer, clock: systemClock, slots: 1 });
    const tools = new RenderTools({ renderer: fair, limits: defaultLimits });
    const options = { helm: { parameters: [{ name: 'adminPw.token', value: 'c4nary-value' }] } };
    const args = ['template', '--set=adminPw.token=c4nary-value', '--set-string=db.password=c4nary-arg'];
    const request = {
      inputBytes: 0,
      readInput: () => Promise.resolve({ files: [{ path: 'repo/a', content: new Uint8Array() }], links: [] }),
      steps: [{ tool: { name: 'helm', version: '4' } as const, args, cwd: 'repo' }],
      share: { project: 'p', repository: 'r' },
      secrets: () => secretsIn(source(options)),
    };
    const error: unknown = await tools.render(request, new AbortController().signal).catch((e: unknown) => e);
    expect(String(error)).toContain('`helm template --set=adminPw.token=*** --set-string=db.password=***`');
    expect(String(error)).toContain('failed exit status 3: cannot overwrite table (map[***]) in x:');
    expect(String(error)).toContain('https://***@host/x has ***');
    expect(String(error)).not.toMatch(/c4nary|\u001b/);
  });
});
