// Cleans up after a test run, even a killed one: reads lines "pid N", "ended N" and "folder PATH"
// until its input closes, then kills the remaining processes and removes the remaining folders.
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
        // The process has ended already.
      }
    }
    for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
