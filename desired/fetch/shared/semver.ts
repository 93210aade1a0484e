/**
 * Semantic versions and constraints as in Masterminds/semver 3.4, which Argo CD uses for
 * targetRevision. They differ from npm's: versions are tolerant ("v1", "1.2"), a comma or a space
 * is AND, a hyphen surrounded by spaces is a range, and a constraint that names a pre-release
 * admits every pre-release in its range.
 */
export interface SemanticVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly pre: string;
}

const versionPattern =
  /^v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

/**
 * Returns undefined if the text is not a version. Numbers beyond 2^53 and numeric pre-release parts
 * with a leading zero are not versions.
 */
export function parseVersion(text: string): SemanticVersion | undefined {
  const match = versionPattern.exec(text);
  if (match === null) return undefined;
  const numbers = [match[1], match[2], match[3]].map((part) => Number(part ?? 0));
  const pre = match[4] ?? '';
  if (!numbers.every(Number.isSafeInteger) || /(?:^|\.)0[0-9]+(?:\.|$)/.test(pre)) return undefined;
  const [major = 0, minor = 0, patch = 0] = numbers;
  return { major, minor, patch, pre };
}

/** Negative, zero or positive, in the order of semver.org. */
export function compareVersions(a: SemanticVersion, b: SemanticVersion): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch || comparePre(a.pre, b.pre);
}

function comparePre(a: string, b: string): number {
  if (a === b) return 0;
  if (a === '') return 1;
  if (b === '') return -1;
  const left = a.split('.');
  const right = b.split('.');
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    const order = comparePart(left[i] ?? '', right[i] ?? '');
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function comparePart(a: string, b: string): number {
  const numeric = [a, b].map((part) => /^[0-9]+$/.test(part));
  if (numeric[0] === true && numeric[1] === true) return Number(a) - Number(b);
  if (numeric[0] !== numeric[1]) return numeric[0] === true ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** One comparison of a constraint. `minorOpen` and `patchOpen` mark parts that are missing or x. */
interface VersionComparison {
  readonly operator: string;
  readonly than: SemanticVersion;
  readonly minorOpen: boolean;
  readonly patchOpen: boolean;
  readonly open: boolean;
}

const operators = '=>|>=|=<|<=|!=|~>|=|>|<|~|\\^|';
const wildcardVersion =
  'v?([0-9|xX*]+)(\\.[0-9|xX*]+)?(\\.[0-9|xX*]+)?(?:-([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?';
const ungroupedVersion = wildcardVersion.replaceAll(/\((?!\?)/g, '(?:');
const comparisonPattern = new RegExp(`^(${operators})\\s*${wildcardVersion}$`);
const comparisonsPattern = new RegExp(`(?:${operators})\\s*${ungroupedVersion}`, 'g');
const constraintPattern = new RegExp(
  `^\\s*(?:${operators})\\s*${ungroupedVersion}(?:(?:\\s+|\\s*,\\s*)(?:${operators})\\s*${ungroupedVersion})*\\s*$`,
);
const hyphenRangePattern = new RegExp(`\\s*(${ungroupedVersion})\\s+-\\s+(${ungroupedVersion})\\s*`, 'g');

/** Returns a predicate for versions; undefined if the text is not a constraint. */
export function parseConstraint(text: string): ((version: SemanticVersion) => boolean) | undefined {
  if (text.length > 256) return undefined;
  const groups: { comparisons: VersionComparison[]; pre: boolean }[] = [];
  for (const part of withSingleSpaces(text.replaceAll(hyphenRangePattern, ' >=$1, <=$2 ')).split('||')) {
    if (!constraintPattern.test(part)) return undefined;
    const comparisons: VersionComparison[] = [];
    for (const item of part.match(comparisonsPattern) ?? []) {
      const comparison = parseComparison(item.trim());
      if (comparison === undefined) return undefined;
      comparisons.push(comparison);
    }
    groups.push({ comparisons, pre: comparisons.some((c) => c.than.pre !== '') });
  }
  return (version) =>
    groups.some(
      (group) => (version.pre === '' || group.pre) && group.comparisons.every((c) => isSatisfied(c, version)),
    );
}

/**
 * Collapses spaces and removes those around commas; otherwise the pattern backtracks exponentially
 * over the spaces between comparisons.
 */
function withSingleSpaces(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/ ?, ?/g, ',');
}

const isOpen = (part: string | undefined): boolean => part === undefined || /^\.?[xX*]$/.test(part);

function parseComparison(text: string): VersionComparison | undefined {
  const match = comparisonPattern.exec(text);
  if (match === null) return undefined;
  const [, operator = '', major, minor, patch, pre = ''] = match;
  const suffix = pre === '' ? '' : `-${pre}`;
  if (isOpen(major)) return comparison(operator, `0.0.0${suffix}`, { open: true });
  if (isOpen(minor)) return comparison(operator, `${major ?? ''}.0.0${suffix}`, { open: true, minorOpen: true });
  if (isOpen(patch))
    return comparison(operator, `${major ?? ''}${minor ?? ''}.0${suffix}`, { open: true, patchOpen: true });
  return comparison(operator, `${major ?? ''}${minor ?? ''}${patch ?? ''}${suffix}`, {});
}

function comparison(operator: string, than: string, open: Partial<VersionComparison>): VersionComparison | undefined {
  const version = parseVersion(than);
  return version && { operator, than: version, minorOpen: false, patchOpen: false, open: false, ...open };
}

function isSatisfied(c: VersionComparison, v: SemanticVersion): boolean {
  switch (c.operator) {
    case '':
    case '=':
      return c.open ? isInTildeRange(c, v) : compareVersions(v, c.than) === 0;
    case '!=':
      return isDifferent(c, v);
    case '>':
      return isGreater(c, v);
    case '<':
      return compareVersions(v, c.than) < 0;
    case '>=':
    case '=>':
      return compareVersions(v, c.than) >= 0;
    case '<=':
    case '=<':
      return isAtMost(c, v);
    case '~':
    case '~>':
      return isInTildeRange(c, v);
    default:
      return isInCaretRange(c, v);
  }
}

function isDifferent(c: VersionComparison, v: SemanticVersion): boolean {
  if (!c.open) return compareVersions(v, c.than) !== 0;
  if (c.than.major !== v.major) return true;
  if (c.minorOpen) return false;
  return c.than.minor !== v.minor;
}

/** "> 11" excludes all of 11.x, "> 11.1" all of 11.1.x. */
function isGreater(c: VersionComparison, v: SemanticVersion): boolean {
  if (!c.open) return compareVersions(v, c.than) > 0;
  if (v.major !== c.than.major) return v.major > c.than.major;
  if (c.minorOpen) return false;
  if (c.patchOpen) return v.minor > c.than.minor;
  return compareVersions(v, c.than) > 0;
}

/** "<= 11" includes all of 11.x. */
function isAtMost(c: VersionComparison, v: SemanticVersion): boolean {
  if (!c.open) return compareVersions(v, c.than) <= 0;
  if (v.major !== c.than.major) return v.major < c.than.major;
  return v.minor <= c.than.minor || c.minorOpen;
}

function isInTildeRange(c: VersionComparison, v: SemanticVersion): boolean {
  if (compareVersions(v, c.than) < 0) return false;
  const { major, minor, patch } = c.than;
  if (major === 0 && minor === 0 && patch === 0 && !c.minorOpen && !c.patchOpen) return true;
  return v.major === major && (v.minor === minor || c.minorOpen);
}

/** Admits versions below the next change of the left-most non-zero part. */
function isInCaretRange(c: VersionComparison, v: SemanticVersion): boolean {
  if (compareVersions(v, c.than) < 0) return false;
  const { major, minor, patch } = c.than;
  if (major > 0 || c.minorOpen) return v.major === major;
  if (v.major > 0) return false;
  if (minor > 0 || c.patchOpen) return v.minor === minor;
  if (v.minor > 0) return false;
  return v.patch === patch;
}

/**
 * Returns the highest of `tags` that satisfies the constraint; undefined if none does or the text
 * is not a constraint.
 */
export function highestMatch(constraint: string, tags: Iterable<string>): string | undefined {
  const admits = parseConstraint(constraint);
  if (admits === undefined) return undefined;
  let best: { tag: string; version: SemanticVersion } | undefined;
  for (const tag of tags) {
    const version = parseVersion(tag);
    if (version === undefined || !admits(version)) continue;
    if (best === undefined || compareVersions(version, best.version) > 0) best = { tag, version };
  }
  return best?.tag;
}
