// Stands for @jest/globals in the files `fuzz.test.ts`, and collects their readers.

/** Readers as in test/support/fuzz.ts. */
export const targets = [];

export function describe(_title, define) {
  define();
}

export function it() {
  // Only tables of readers matter.
}

it.each = (rows) => () => {
  for (const row of rows) {
    if (typeof row?.read === 'function') targets.push(row);
    else if (Array.isArray(row) && typeof row[1] === 'function')
      targets.push({ name: row[0], seeds: [], read: (input) => row[1](input.toString()) });
  }
};

export const test = it;
export const beforeAll = () => undefined;
export const [afterAll, beforeEach, afterEach] = [beforeAll, beforeAll, beforeAll];
export const jest = {};
export const expect = Object.assign(() => undefined, { stringMatching: () => undefined });
