import { stdout } from 'node:process';
import { expect, it } from '@jest/globals';
import { editDocuments, editKinds } from './testing/document-edits.ts';
import { tryEdits } from './testing/edit-trial.ts';
import type { EditOutcome } from './testing/edit-trial.ts';

/** Every field of both documents is edited in every way that it can be. */
const singleEdits = 10_000;
const combinations = 1000;

async function tryAll(count: number, of: (seed: number) => Promise<EditOutcome>): Promise<readonly EditOutcome[]> {
  const outcomes: EditOutcome[] = [];
  for (let seed = 0; outcomes.length < count; seed += 1) {
    const outcome = await of(seed);
    // A document that is missing as yet cannot be edited.
    if (outcome.edits.length === 0) continue;
    outcomes.push(outcome);
    expect({ seed, ...outcome }).toEqual({ seed, ...outcome, wrong: undefined });
  }
  return outcomes;
}

// T-SHARD-1
it(`ownership is complete within two leases after each of ${singleEdits} edits of one field by hand`, async () => {
  const outcomes = await tryAll(singleEdits, (seed) =>
    tryEdits(seed, { edit: (...of) => editDocuments(...of, 1), leases: 2 }),
  );
  const edits = outcomes.flatMap((outcome) => outcome.edits);
  const fields = new Set(edits.map(({ field }) => field));
  expect(new Set(edits.map(({ kind }) => kind))).toEqual(new Set(editKinds));
  expect(fields.size).toBeGreaterThan(30);
  const busiest = Math.max(...outcomes.map((outcome) => outcome.busiest));
  stdout.write(`${outcomes.length} edits of ${fields.size} fields; at most ${busiest} writes in 15 s\n`);
}, 6_000_000);

it(`and after each of ${combinations} edits of two to six fields at once`, async () => {
  await tryAll(combinations, (seed) =>
    tryEdits(seed, { edit: (...of) => editDocuments(...of, 2 + (seed % 5)), leases: 8 }),
  );
}, 6_000_000);
