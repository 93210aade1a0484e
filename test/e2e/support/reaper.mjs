// Ends what a test run leaves behind, however it ended: reads lines "pid N", "ended N" and "folder PATH" until its input closes (the run is over
// or was killed), then kills the processes and removes the folders that are left.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

const pids = new Set();
const folders = new Set();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const [word, rest] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)];
    if (word === 'pid') pids.add(Number(rest));
    if (word === 'ended') pids.delete(Number(rest));
    if (word === 'folder') folders.add(rest);
    if (word === 'removed') folders.delete(rest);
  })
  .on('close', () => {
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    }
    for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
