import { measureLive } from './measure.ts';
import type { LiveTask } from './measure.ts';

// The measured process: it does nothing else, so that all memory is the cache's.
process.once('message', (task) => {
  void measureLive(task as LiveTask).then((metrics) => {
    process.send?.(metrics, () => process.disconnect());
  });
});
