/** More flaky files than this fail a run: then it is no single test. */
export const maxFlakyFiles = 3;

/**
 * What a run reports whose failed files ran once more, alone. A file that then passes is flaky: it
 * is listed, and does not fail the run unless it was flaky before or there are too many.
 */
export function judgeRetries({ failures, passedAlone, knownFlakes }) {
  if (failures.length > maxFlakyFiles)
    return { passed: false, lines: failures.map(({ file, failure }) => `failed: ${file} (${failure})`) };
  const isKnown = (file) => knownFlakes.includes(file);
  const lines = failures.map(({ file, failure }) => {
    if (!passedAlone.includes(file)) return `failed: ${file} (also when it ran alone)`;
    return isKnown(file)
      ? `failed: ${file} (flaky again, see test/known-flakes.txt: ${failure})`
      : `flaky: ${file} (${failure})`;
  });
  return { passed: failures.every(({ file }) => passedAlone.includes(file) && !isKnown(file)), lines };
}
