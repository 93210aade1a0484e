// A jest reporter (jest.config.mjs): prints the ten slowest tests of a longer run and the ten files
// with the most CPU time (runner.mjs), and writes what failed into the file that
// DRIFTLESS_FAILURES names (retry.mjs).
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { root } from '../root.mjs';

const shownLines = 10;
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
    process.stderr.write(`\nslowest tests:\n${tests.slice(0, shownLines).map(lineOf).join('')}`);
    reportCpu(testResults);
  }
}

/** DRIFTLESS_CPU_LINES: how many files to list. */
function reportCpu(testResults) {
  const files = testResults
    .filter(({ cpuSeconds }) => cpuSeconds !== undefined)
    .sort((a, b) => b.cpuSeconds - a.cpuSeconds);
  if (files.length === 0) return;
  const sum = files.reduce((seconds, file) => seconds + file.cpuSeconds, 0);
  const shown = files.slice(0, Number(process.env['DRIFTLESS_CPU_LINES'] ?? shownLines)).map(cpuLineOf);
  process.stderr.write(`\nCPU of ${files.length} files: ${sum.toFixed(0)} s, most of it in:\n${shown.join('')}`);
}

function cpuLineOf({ testFilePath, cpuSeconds, perfStats: { runtime } }) {
  const seconds = [cpuSeconds, runtime / 1000].map((value) => value.toFixed(1).padStart(7));
  return `${seconds[0]} s of${seconds[1]} s  ${relative(root, testFilePath)}\n`;
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
