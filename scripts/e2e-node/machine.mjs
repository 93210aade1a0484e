// Can this machine run a node? Reads the facts, and names what is missing.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';

/** Capabilities by number (linux/capability.h), and what a node needs them for. */
const capabilities = [
  [12, 'CAP_NET_ADMIN', 'network namespaces and iptables'],
  [18, 'CAP_SYS_CHROOT', 'steps of the image build'],
  [21, 'CAP_SYS_ADMIN', 'mounts and namespaces'],
];
const sysResource = 24;

/** Controllers that the kubelet requires. */
const controllers = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids'];

/**
 * Lists what the machine lacks, in words for its owner; empty if a node can run.
 * @param facts what readMachine returns
 */
export function lackingFor(facts) {
  if (facts.platform !== 'linux') return [`Linux (this is ${facts.platform})`];
  const { cgroups } = facts;
  const isUnified = cgroups.some(({ type, path }) => type === 'cgroup2' && path === '/sys/fs/cgroup');
  const mounted = new Set(cgroups.filter(({ type }) => type === 'cgroup').flatMap(({ options }) => options));
  return [
    ...(facts.uid === 0 ? [] : ['root']),
    ...capabilities.filter(([bit]) => !hasCapability(facts, bit)).map(([, name, reason]) => `${name} (${reason})`),
    ...(isUnified
      ? []
      : controllers.filter((name) => !mounted.has(name)).map((name) => `the cgroup controller ${name}`)),
    ...cgroups.filter(({ writable }) => !writable).map(({ path }) => `a writable ${path}`),
    ...(facts.filesystems.includes('overlay') ? [] : ['the overlay file system']),
    ...(facts.canMountProc ? [] : ['the right to mount /proc in a new PID namespace']),
    ...(facts.hasApt ? [] : ['apt-get (Debian packages)']),
  ];
}

/** Without it nothing may lower its OOM score. */
export function maySetOomScore(facts) {
  return hasCapability(facts, sysResource);
}

function hasCapability({ effective }, bit) {
  return ((BigInt(`0x${effective}`) >> BigInt(bit)) & 1n) === 1n;
}

/** Reads the facts of this machine. */
export function readMachine() {
  const linux = process.platform === 'linux';
  const read = (path) => (linux ? readFileSync(path, 'utf8') : '');
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? -1,
    effective: /^CapEff:\s*(\S+)/m.exec(read('/proc/self/status'))?.[1] ?? '0',
    cgroups: cgroupMounts(read('/proc/mounts')).map((mount) => ({ ...mount, writable: isWritable(mount.path) })),
    filesystems: read('/proc/filesystems').split(/\s+/),
    canMountProc: linux && succeeds('unshare', '--pid', '--fork', '--mount-proc', '--net', 'true'),
    hasApt: succeeds('apt-get', '--version'),
  };
}

/** The mounted cgroup hierarchies. */
export function cgroupMounts(mounts) {
  return mounts
    .split('\n')
    .map((line) => line.split(' '))
    .map(([, path, type, options]) => ({ path, type, options: options?.split(',') ?? [] }))
    .filter(({ type }) => type === 'cgroup' || type === 'cgroup2');
}

function isWritable(path) {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function succeeds(command, ...args) {
  return spawnSync(command, args, { stdio: 'ignore', timeout: 20_000 }).status === 0;
}
