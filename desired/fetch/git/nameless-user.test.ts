import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { remoteFailure } from '../shared/remote-failure.ts';
import { namelessUser, passwdLine, userDatabaseEnv } from './nameless-user.ts';

const uid = 1_000_650_000;
const nameless = namelessUser(() => {
  throw new Error('ENOENT');
});
const canSwitch = process.getuid?.() === 0 && existsSync('/usr/bin/setpriv') && existsSync('/usr/bin/ssh');
const withLibrary = nameless === undefined || !canSwitch ? it.skip : it;

describe('ssh as a UID that has no name', () => {
  it('needs nothing where the UID has a name', () => {
    expect(namelessUser(() => ({ username: 'argocd' }))).toBeUndefined();
  });

  withLibrary('runs with a user database of its own (needs root, ssh and libnss-wrapper)', () => {
    const folder = mkdtempSync(join(tmpdir(), 'passwd-'));
    const file = join(folder, 'passwd');
    try {
      chmodSync(folder, 0o755);
      writeFileSync(file, passwdLine({ uid, gid: 0 }, folder), { mode: 0o644 });
      const ssh = (env: Readonly<Record<string, string>>): string => {
        const args = ['--reuid', String(uid), '--regid', '0', '--clear-groups', 'ssh', '-o', 'BatchMode=yes'];
        const { stderr } = spawnSync('setpriv', [...args, '-p', '1', '127.0.0.1', 'true'], { env, encoding: 'utf8' });
        return stderr;
      };
      const path = { PATH: '/usr/bin:/bin' };
      expect(ssh(path)).toContain(`No user exists for uid ${uid}`);
      if (nameless === undefined) throw new Error('no library');
      expect(ssh({ ...path, ...userDatabaseEnv(nameless, file) })).toContain('Connection refused');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('fails with what to do where nothing helps', () => {
    const stderr = `No user exists for uid ${uid}\r\nfatal: Could not read from remote repository.`;
    expect(remoteFailure('failed to list refs', 'ssh://git@example.com/r', stderr).message).toContain(
      'a user without a name in /etc/passwd: install libnss-wrapper',
    );
  });
});
