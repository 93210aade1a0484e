import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RendererUnavailable } from '../errors.ts';
import { checkSocketOwner } from './remote.ts';

const ownUid = process.getuid?.() ?? 0;
let folder = '';
let path = '';
let server: Server;
beforeEach(async () => {
  const outer = mkdtempSync(join(tmpdir(), 'socket-'));
  folder = join(outer, 'private');
  mkdirSync(folder, { mode: 0o750 });
  path = join(folder, 'render.sock');
  server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
});
afterEach(() => {
  server.close();
  rmSync(join(folder, '..'), { recursive: true });
});

describe('the socket of a renderer', () => {
  it('is used if it is ours', () => {
    expect(() => checkSocketOwner(path, { ownUid, rendererUid: undefined })).not.toThrow();
  });

  it('is refused in a folder that others may write to', () => {
    chmodSync(folder, 0o777);
    expect(() => checkSocketOwner(path, { ownUid, rendererUid: undefined })).toThrow(
      /others may put their own socket there/,
    );
  });

  it('is refused if it is a file or missing', () => {
    expect(() => checkSocketOwner(join(folder, 'none'), { ownUid, rendererUid: undefined })).toThrow(
      RendererUnavailable,
    );
    writeFileSync(join(folder, 'file'), '');
    expect(() => checkSocketOwner(join(folder, 'file'), { ownUid, rendererUid: undefined })).toThrow(/is not a socket/);
  });

  const asRoot = ownUid === 0 ? it : it.skip;
  asRoot('is refused if another user owns it, whom the message names', () => {
    chownSync(path, 4321, 4321);
    expect(() => checkSocketOwner(path, { ownUid, rendererUid: undefined })).toThrow(
      /belongs to the user 4321.*--renderer-uid/,
    );
    expect(() => checkSocketOwner(path, { ownUid, rendererUid: 4321 })).not.toThrow();
    chownSync(folder, 999, 999);
    expect(() => checkSocketOwner(path, { ownUid, rendererUid: 4321 })).toThrow(/belongs to the user 999/);
  });
});
