import { describe, expect, it } from '@jest/globals';
import { cgroupMounts, lackingFor, maySetOomScore } from '../../scripts/e2e-node/machine.mjs';
import type { MachineFacts } from '../../scripts/e2e-node/machine.mjs';
import { sizeLimitsMb, tooBig } from '../../scripts/e2e-node/sizes.mjs';

const all = (1n << 41n) - 1n;
const without = (bit: bigint): string => (all & ~(1n << bit)).toString(16);
const unified = { path: '/sys/fs/cgroup', type: 'cgroup2', options: ['rw'], writable: true };
const good: MachineFacts = {
  platform: 'linux',
  uid: 0,
  effective: all.toString(16),
  cgroups: [unified],
  filesystems: ['ext4', 'overlay'],
  canMountProc: true,
  hasApt: true,
};

describe('lackingFor', () => {
  it.each<[string, Partial<MachineFacts>, readonly string[]]>([
    ['nothing', {}, []],
    ['another system', { platform: 'darwin' }, ['Linux (this is darwin)']],
    ['root', { uid: 1000 }, ['root']],
    ['CAP_SYS_ADMIN', { effective: without(21n) }, ['CAP_SYS_ADMIN (mounts and namespaces)']],
    ['CAP_NET_ADMIN', { effective: without(12n) }, ['CAP_NET_ADMIN (network namespaces and iptables)']],
    ['nothing without CAP_SYS_RESOURCE', { effective: without(24n) }, []],
    ['writable cgroups', { cgroups: [{ ...unified, writable: false }] }, ['a writable /sys/fs/cgroup']],
    ['overlay', { filesystems: ['ext4'] }, ['the overlay file system']],
    ['mounts of /proc', { canMountProc: false }, ['the right to mount /proc in a new PID namespace']],
    ['apt-get', { hasApt: false }, ['apt-get (Debian packages)']],
  ])('names what is missing: %s', (_, changes, lacking) => {
    expect(lackingFor({ ...good, ...changes })).toEqual(lacking);
  });

  it('names each missing controller of cgroup v1', () => {
    const cgroups = ['cpu,cpuacct', 'memory', 'pids'].map((names) => ({
      path: `/sys/fs/cgroup/${names}`,
      type: 'cgroup',
      options: ['rw', ...names.split(',')],
      writable: true,
    }));
    expect(lackingFor({ ...good, cgroups })).toEqual(['the cgroup controller cpuset']);
  });
});

describe('maySetOomScore', () => {
  it('follows CAP_SYS_RESOURCE', () => {
    expect([good, { ...good, effective: without(24n) }].map(maySetOomScore)).toEqual([true, false]);
  });
});

describe('cgroupMounts', () => {
  it('finds every hierarchy, so that nothing of a run is left in one', () => {
    const mounts = 'cgroup /c/memory cgroup rw,memory 0 0\ncgroup2 /c/unified cgroup2 rw 0 0\nproc /proc proc rw 0 0\n';
    expect(cgroupMounts(mounts)).toEqual([
      { path: '/c/memory', type: 'cgroup', options: ['rw', 'memory'] },
      { path: '/c/unified', type: 'cgroup2', options: ['rw'] },
    ]);
  });
});

describe('tooBig', () => {
  it('names each size of the image that is above its limit', () => {
    expect(tooBig(sizeLimitsMb)).toEqual([]);
    expect(tooBig({ unpacked: 301, packed: 111 }, { unpacked: 300, packed: 111 })).toEqual([
      'the image has 301 MB unpacked, above its limit of 300 MB',
    ]);
  });
});
