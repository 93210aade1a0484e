import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { editDocuments, setField } from './testing/document-edits.ts';
import { tryEdits } from './testing/edit-trial.ts';
import type { EditTrial } from './testing/edit-trial.ts';

/** In `npm test`; edits.long.test.ts has 10,000. */
const trials = Math.max(20, Math.floor((fc.readConfigureGlobal().numRuns ?? 100) / 2));

// T-SHARD-1
describe('documents of ownership that were edited by hand', () => {
  // A claim with an unknown lease is waited for as long as the longest lease lasts, 180 s.
  it.each([
    ['one field', 1, 2],
    ['five fields at once', 5, 8],
  ])(
    'in %s (%i) lead to one writer at most, and one owner of each part within %i leases, at one write a second',
    async (_what, count, leases) => {
      const schedule = fc.asyncProperty(fc.noShrink(fc.nat(1_000_000_000)), async (seed) => {
        const edit: EditTrial['edit'] = (hub, random) => editDocuments(hub, random, count);
        const { edits, wrong } = await tryEdits(seed, { edit, leases });
        expect({ seed, edits, wrong }).toEqual({ seed, edits, wrong: undefined });
      });
      await fc.assert(schedule, { numRuns: count === 1 ? trials : Math.ceil(trials / 2) });
    },
    6_000_000,
  );

  it.each([
    'shardControllerMapping.#.ShardNumber',
    'driftlessMembers.#.slot',
    'driftlessMembers.#.renewals',
    'driftlessMembers.#.acked',
    'driftlessMembers.#.leaseMs',
    'driftlessMembers.#.version',
    'table.epoch',
    'table.replicas',
    'table.slots',
    'table.leaseMs',
    'table.clusters.*.shards.#',
    'table.clusters.*.everyone',
    'claims.*.leaseMs',
  ])('keep one owner of each part when %s is at or beyond its bound', async (field) => {
    for (const value of [2 ** 53 - 1, 999_999_999_999_999, 1e8, -1]) {
      const edit: EditTrial['edit'] = (hub) => [setField(hub, field, value)].filter((one) => one !== undefined);
      const { edits, wrong } = await tryEdits(1, { edit, leases: 2 });
      expect({ edits: edits.map((edit) => edit.value), wrong }).toEqual({ edits: [value], wrong: undefined });
    }
  });
});
