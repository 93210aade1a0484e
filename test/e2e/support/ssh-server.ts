import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:net';
import { eventually } from '#support';
import { ServerProcess, freePort } from './processes.ts';
import { toolPath } from './tools.ts';

export interface SshServer {
  /** URL without a path: `ssh://user@address:port`. */
  readonly url: string;
  readonly privateKey: string;
  /** A line of known_hosts. */
  readonly knownHosts: string;
  close(): Promise<void>;
}

/**
 * Starts OpenSSH's server. One key can log in, as the user of this test.
 * @param path PATH of its commands; default: that of a login
 */
export async function startSshServer(folder: string, address = '127.0.0.1', path?: string): Promise<SshServer> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // As root sshd requires this folder, which usually an init system creates.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const [host, user, config] = ['host', 'user', 'sshd_config'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const file of [host, user]) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', file]);
  const port = await freePort();
  const settings = {
    ListenAddress: `${address}:${port}`,
    HostKey: host,
    AuthorizedKeysFile: `${user}.pub`,
    StrictModes: 'no',
    UsePAM: 'no',
    PasswordAuthentication: 'no',
    KbdInteractiveAuthentication: 'no',
    PermitRootLogin: 'prohibit-password',
    PidFile: 'none',
    ...(path === undefined ? {} : { SetEnv: `PATH=${path}` }),
  };
  writeFileSync(
    config,
    Object.entries(settings)
      .map(([key, value]) => `${key} ${value}\n`)
      .join(''),
  );
  const daemon = new ServerProcess(toolPath('sshd'), ['-D', '-e', '-f', config], join(folder, 'sshd.log'));
  daemon.start();
  await eventually(() => answers(port, address), 20_000).catch((error: unknown) => {
    throw new Error(`sshd does not answer: ${daemon.tail()}`, { cause: error });
  });
  const [type = '', key = ''] = readFileSync(`${host}.pub`, 'utf8').split(' ');
  return {
    url: `ssh://${userInfo().username}@${address}:${port}`,
    privateKey: readFileSync(user, 'utf8'),
    knownHosts: `[${address}]:${port} ${type} ${key.trim()}\n`,
    close: () => daemon.stop(),
  };
}

function answers(port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, address);
    socket.once('error', reject);
    socket.once('data', () => {
      socket.destroy();
      resolve();
    });
  });
}
