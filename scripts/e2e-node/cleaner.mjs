// Removes what a run changed outside its namespaces when the run ends, even by SIGKILL: its end
// closes the input of this process. The first line of the input says what to do.
import { rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { removeCgroups, removeMountPoint, restoreKernelSettings } from './host.mjs';

// Signals to the whole process group, such as Ctrl+C, must not end it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

let plan;
for await (const line of createInterface({ input: process.stdin })) plan ??= JSON.parse(line);
if (plan !== undefined) {
  const { cgroups, group, temporary, mountPoint, settings } = plan;
  const say = (text) => writeFileSync(2, `e2e:node: ${text}\n`);
  // Waits for the end of the last process.
  removeCgroups(cgroups, group, say);
  rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  removeMountPoint(mountPoint);
  restoreKernelSettings(settings);
}
