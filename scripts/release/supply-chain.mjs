// Checks the production packages: `node scripts/release/supply-chain.mjs licences` reads the lock
// file and the packages, `... audit` asks the registry for known vulnerabilities. Exceptions of the
// audit are in audit-exceptions.json: each has an id, a reason and an end date.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../root.mjs';

/** Licences under which the image may contain a package. */
const allowed = new Set([
  'Apache-2.0',
  'MIT',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'Unlicense',
  'Python-2.0',
  'PSF-2.0',
  'BlueOak-1.0.0',
]);

/**
 * Production packages without an allowed licence. `readLicence` looks into a package if the lock
 * file names no licence.
 */
export function licenceFaults(packages, readLicence) {
  return Object.entries(packages)
    .filter(([path, { dev, devOptional, link }]) => path !== '' && !dev && !devOptional && !link)
    .map(([path, { license, version }]) => ({ path, version, licence: license ?? readLicence(path) ?? 'none' }))
    .filter(({ licence }) => !isAllowed(licence))
    .map(({ path, version, licence }) => `${path} ${version}: ${licence}`);
}

/** The licence in a package.json; old packages have a list of alternatives. */
export function licenceOf({ license, licenses }) {
  return license ?? licenses?.map(({ type }) => type).join(' OR ');
}

/** One allowed alternative of an OR is enough; all parts of an AND must be allowed. */
function isAllowed(licence) {
  const text = licence.replaceAll(/[()]/g, '').trim();
  return text.split(' OR ').some((way) => way.split(' AND ').every((one) => allowed.has(one.trim())));
}

/**
 * Judges an answer of `npm audit --json`. `faults`: vulnerabilities without a valid exception, and
 * invalid or expired exceptions. `unanswered`: why the registry gave no answer, which is no fault.
 */
export function judgeAudit(answer, exceptions, today) {
  const faults = exceptions.flatMap(({ id, reason, until }) => {
    if (typeof id !== 'string' || typeof reason !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(until ?? ''))
      return [`an exception lacks id, reason or end date: ${JSON.stringify({ id, reason, until })}`];
    return until < today ? [`the exception for ${id} ended on ${until}: ${reason}`] : [];
  });
  if (answer?.vulnerabilities === undefined)
    return { faults, unanswered: answer?.message ?? answer?.error?.summary ?? 'no answer' };
  const excepted = new Set(exceptions.filter(({ until }) => until >= today).map(({ id }) => id));
  const found = new Map();
  for (const { via } of Object.values(answer.vulnerabilities))
    for (const cause of via)
      if (typeof cause === 'object')
        found.set(idOf(cause), `${cause.name} ${cause.range}: ${cause.title} (${cause.severity})`);
  for (const [id, text] of found) if (!excepted.has(id)) faults.push(`${id} ${text}`);
  return { faults };
}

function idOf({ url, source }) {
  return /GHSA-[\w-]+/.exec(url ?? '')?.[0] ?? String(source);
}

function licences() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const faults = licenceFaults(packages, (path) =>
    licenceOf(JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'))),
  );
  end('licences: every production package has an allowed licence', faults);
}

function audit() {
  const exceptions = JSON.parse(readFileSync(join(root, 'scripts', 'release', 'audit-exceptions.json'), 'utf8'));
  const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
    cwd: root,
    encoding: 'utf8',
    timeout: 120_000,
  });
  let answer;
  try {
    answer = JSON.parse(stdout);
  } catch {
    // judgeAudit treats undefined as no answer.
  }
  const { faults, unanswered } = judgeAudit(answer, exceptions, new Date().toISOString().slice(0, 10));
  if (unanswered !== undefined)
    process.stdout.write(
      `audit: NOT DONE, the registry gave no answer (${unanswered}): run it where the registry supports npm audit\n`,
    );
  end(
    unanswered === undefined ? 'audit: no known vulnerability without an exception' : 'audit: the exceptions are valid',
    faults,
  );
}

function end(good, faults) {
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  if (faults.length === 0) process.stdout.write(`${good}\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  if (process.argv[2] === 'audit') audit();
  else licences();
}
