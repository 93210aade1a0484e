import { afterEach, it } from '@jest/globals';
import { expectOneFetch } from './testing/shared-repository.ts';
import { removeTemporaryFolders } from './testing/source-bench.ts';

afterEach(removeTemporaryFolders);

// T-REPO-1. `source.test.ts` does the same with a tenth of them.
it('a thousand applications of one repository cost one ls-remote and one fetch', async () => {
  await expectOneFetch(1000);
}, 60_000);
