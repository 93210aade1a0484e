// A jest reporter (jest.config.mjs): prints the ten slowest tests of a longer run, and writes what
// failed into the file that DRIFTLESS_FAILURES names (retry.mjs).
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { root } from '../root.mjs';

const shownTests = 10;
/** Shorter runs print no list. */
const longRunMs = 20_000;

export default class Report {
  onRunComplete(_contexts, { startTime, testResults }) {
    const { DRIFTLESS_FAILURES: path } = process.env;
    if (path !== undefined) writeFileSync(path, JSON.stringify(testResults.flatMap(failureOf)));
    if (Date.now() - startTime < longRunMs) return;
    const tests = testResults
      .flatMap(({ testFilePath, testResults: own }) =>
        own.map((test) => ({ ...test, file: relative(root, testFilePath) })),
      )
      .filter(({ duration }) => duration > 0)
      .sort((a, b) => b.duration - a.duration);
    process.stderr.write(`\nslowest tests:\n${tests.slice(0, shownTests).map(lineOf).join('')}`);
  }
}

function lineOf({ duration, file, fullName }) {
  return `${(duration / 1000).toFixed(1).padStart(7)} s  ${file}: ${fullName}\n`;
}

/** A failed file, the groups of its failed tests, and the first line of its first failure. */
function failureOf({ testFilePath, failureMessage, testExecError, testResults }) {
  const failed = testResults.filter(({ status }) => status === 'failed');
  if (failed.length === 0 && testExecError === undefined && !failureMessage) return [];
  const [text = failureMessage ?? 'the file did not run'] = failed.flatMap(({ failureMessages }) => failureMessages);
  const failure =
    stripVTControlCharacters(text)
      .split('\n')
      .find((line) => line.trim() !== '') ?? '';
  const groups = [...new Set(failed.map(({ ancestorTitles, title }) => ancestorTitles[0] ?? title))];
  const [{ fullName } = { fullName: '' }] = failed;
  return [
    { file: relative(root, testFilePath), groups, failure: [fullName, failure.trim()].filter(Boolean).join(': ') },
  ];
}
