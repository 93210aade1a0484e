// What comes with the production packages: `node scripts/supply-chain.mjs licences` (needs nothing but the lock file) and `... audit` (asks the
// registry for known vulnerabilities). Exceptions are in scripts/audit-exceptions.json: each has an id, a reason and a day on which it ends.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

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

/** Packages of the lock file that are in the image under a licence that is not allowed, or under none. `readLicence` looks into a package. */
export function licenceFaults(packages, readLicence) {
  return Object.entries(packages)
    .filter(([path, { dev, devOptional, link }]) => path !== '' && !dev && !devOptional && !link)
    .map(([path, { license, version }]) => ({ path, version, licence: license ?? readLicence(path) ?? 'none' }))
    .filter(({ licence }) => !isAllowed(licence))
    .map(({ path, version, licence }) => `${path} ${version}: ${licence}`);
}

/** What a package says itself; old ones have a list of alternatives. */
export function licenceOf({ license, licenses }) {
  return license ?? licenses?.map(({ type }) => type).join(' OR ');
}

/** Of alternatives one is enough; of several that hold together all are needed. */
function isAllowed(licence) {
  const text = licence.replaceAll(/[()]/g, '').trim();
  return text.split(' OR ').some((way) => way.split(' AND ').every((one) => allowed.has(one.trim())));
}

/**
 * What an answer of `npm audit --json` means: `faults` are vulnerabilities without an exception that still holds, and exceptions that do not; the
 * registry may not answer at all, which is no fault of ours, and is said.
 */
export function judgeAudit(answer, exceptions, today) {
  const faults = exceptions.flatMap(({ id, reason, until }) => {
    if (typeof id !== 'string' || typeof reason !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(until ?? ''))
      return [`an exception without id, reason or day: ${JSON.stringify({ id, reason, until })}`];
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
  end('licences: every production package has one that is allowed', faults);
}

function audit() {
  const exceptions = JSON.parse(readFileSync(join(root, 'scripts', 'audit-exceptions.json'), 'utf8'));
  const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
    cwd: root,
    encoding: 'utf8',
    timeout: 120_000,
  });
  let answer;
  try {
    answer = JSON.parse(stdout);
  } catch {
    // Judged as no answer.
  }
  const { faults, unanswered } = judgeAudit(answer, exceptions, new Date().toISOString().slice(0, 10));
  if (unanswered !== undefined)
    process.stdout.write(
      `audit: NOT DONE, the registry offers none (${unanswered}): nobody knows of the vulnerabilities of today\n`,
    );
  end(
    unanswered === undefined ? 'audit: no known vulnerability without an exception' : 'audit: exceptions are in order',
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
