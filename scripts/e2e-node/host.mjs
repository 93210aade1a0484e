// Changes that a node makes outside its namespaces: cgroups, kernel settings, a mount point.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The kubelet sets these for the whole machine. */
const kernelSettings = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
].map((name) => join('/proc/sys', name));

/** The present settings, for restoreKernelSettings. */
export function readKernelSettings() {
  return kernelSettings.filter((path) => existsSync(path)).map((path) => [path, readFileSync(path, 'utf8')]);
}

/** Writes settings back that have changed. */
export function restoreKernelSettings(saved) {
  for (const [path, text] of saved) if (readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}

/** Makes the folder over which inside.sh mounts. Returns the path to remove, if any. */
export function makeMountPoint() {
  return mkdirSync('/var/lib/cni', { recursive: true });
}

export function removeMountPoint(made) {
  if (made !== undefined && existsSync(made)) rmdirSync(made);
}

/** Makes the cgroup of the kubelet in every hierarchy. */
export function makeCgroups(mounts, group) {
  for (const { path } of mounts) mkdirSync(join(path, group), { recursive: true });
}

/** Removes it with all below; the kernel may need a moment after the last process. */
export function removeCgroups(mounts, group, say) {
  for (const { path } of mounts) {
    const folder = join(path, group);
    for (let attempt = 0; existsSync(folder) && !removed(folder); attempt += 1) {
      if (attempt === 50) {
        say(`cannot remove the cgroup ${folder}`);
        break;
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    }
  }
}

function removed(folder) {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) removed(join(folder, entry.name));
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}
