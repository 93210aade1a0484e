// Installs Debian packages that are missing.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Installs each package whose command is missing. RUNLEVEL=1 keeps services from starting.
 * @throws Error with the packages that could not be installed
 */
export function installPackages(packages, say) {
  const missing = () => Object.keys(packages).filter((name) => !isThere(packages[name]));
  const wanted = missing();
  if (wanted.length === 0) return;
  say(`apt-get install ${wanted.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const apt = (...args) =>
    spawnSync('apt-get', ['-qq', ...args], { env, stdio: ['ignore', 'ignore', 2], timeout: 600_000 });
  apt('update');
  apt('install', '-y', '--no-install-recommends', ...wanted);
  const left = missing();
  if (left.length > 0) throw new Error(`cannot install ${left.join(', ')}: see the lines above`);
}

function isThere(command) {
  if (command.startsWith('/')) return existsSync(command);
  return [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'].some((folder) =>
    existsSync(`${folder}/${command}`),
  );
}
