/**
 * Semantic versions and constraints with the meaning of Masterminds/semver 3.4, which Argo CD uses for targetRevision. It is not npm's:
 * versions are tolerant ("v1", "1.2"), a comma or a space is AND, a hyphen with spaces around it is a range, and a constraint that names
 * any pre-release admits every pre-release in its range.
 */
export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly pre: string;
}

const versionPattern =
  /^v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

/** Undefined when the text is not a version. Numbers beyond 2^53 and numeric pre-release parts with a leading zero are not. */
export function parseVersion(text: string): Version | undefined {
  const match = versionPattern.exec(text);
  if (match === null) return undefined;
  const numbers = [match[1], match[2], match[3]].map((part) => Number(part ?? 0));
  const pre = match[4] ?? '';
  if (!numbers.every(Number.isSafeInteger) || /(?:^|\.)0[0-9]+(?:\.|$)/.test(pre)) return undefined;
  const [major = 0, minor = 0, patch = 0] = numbers;
  return { major, minor, patch, pre };
}

/** Negative, zero or positive, as semver.org orders them. */
export function compareVersions(a: Version, b: Version): number {
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

/** What one comparison stands for; `minorOpen` and `patchOpen` are parts left out or given as x. */
interface Comparison {
  readonly operator: string;
  readonly than: Version;
  readonly minorOpen: boolean;
  readonly patchOpen: boolean;
  readonly open: boolean;
}

const operators = '=>|>=|=<|<=|!=|~>|=|>|<|~|\\^|';
const loose =
  'v?([0-9|xX*]+)(\\.[0-9|xX*]+)?(\\.[0-9|xX*]+)?(?:-([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?';
const bare = loose.replaceAll(/\((?!\?)/g, '(?:');
const one = new RegExp(`^(${operators})\\s*${loose}$`);
const each = new RegExp(`(?:${operators})\\s*${bare}`, 'g');
const whole = new RegExp(`^\\s*(?:${operators})\\s*${bare}(?:(?:\\s+|\\s*,\\s*)(?:${operators})\\s*${bare})*\\s*$`);
const range = new RegExp(`\\s*(${bare})\\s+-\\s+(${bare})\\s*`, 'g');

/** A test for versions; undefined when the text is not a constraint. */
export function parseConstraint(text: string): ((version: Version) => boolean) | undefined {
  if (text.length > 256) return undefined;
  const groups: { comparisons: Comparison[]; pre: boolean }[] = [];
  for (const part of withoutSpare(text.replaceAll(range, ' >=$1, <=$2 ')).split('||')) {
    if (!whole.test(part)) return undefined;
    const comparisons: Comparison[] = [];
    for (const item of part.match(each) ?? []) {
      const comparison = parseComparison(item.trim());
      if (comparison === undefined) return undefined;
      comparisons.push(comparison);
    }
    groups.push({ comparisons, pre: comparisons.some((c) => c.than.pre !== '') });
  }
  return (version) =>
    groups.some((group) => (version.pre === '' || group.pre) && group.comparisons.every((c) => holds(c, version)));
}

/**
 * One space where some are, none beside a comma: each reading of the spaces between two comparisons would otherwise be tried with each reading of
 * all others.
 */
function withoutSpare(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/ ?, ?/g, ',');
}

const isOpen = (part: string | undefined): boolean => part === undefined || /^\.?[xX*]$/.test(part);

function parseComparison(text: string): Comparison | undefined {
  const match = one.exec(text);
  if (match === null) return undefined;
  const [, operator = '', major, minor, patch, pre = ''] = match;
  const suffix = pre === '' ? '' : `-${pre}`;
  if (isOpen(major)) return comparison(operator, `0.0.0${suffix}`, { open: true });
  if (isOpen(minor)) return comparison(operator, `${major ?? ''}.0.0${suffix}`, { open: true, minorOpen: true });
  if (isOpen(patch))
    return comparison(operator, `${major ?? ''}${minor ?? ''}.0${suffix}`, { open: true, patchOpen: true });
  return comparison(operator, `${major ?? ''}${minor ?? ''}${patch ?? ''}${suffix}`, {});
}

function comparison(operator: string, than: string, open: Partial<Comparison>): Comparison | undefined {
  const version = parseVersion(than);
  return version && { operator, than: version, minorOpen: false, patchOpen: false, open: false, ...open };
}

function holds(c: Comparison, v: Version): boolean {
  switch (c.operator) {
    case '':
    case '=':
      return c.open ? tilde(c, v) : compareVersions(v, c.than) === 0;
    case '!=':
      return differs(c, v);
    case '>':
      return greater(c, v);
    case '<':
      return compareVersions(v, c.than) < 0;
    case '>=':
    case '=>':
      return compareVersions(v, c.than) >= 0;
    case '<=':
    case '=<':
      return atMost(c, v);
    case '~':
    case '~>':
      return tilde(c, v);
    default:
      return caret(c, v);
  }
}

function differs(c: Comparison, v: Version): boolean {
  if (!c.open) return compareVersions(v, c.than) !== 0;
  if (c.than.major !== v.major) return true;
  if (c.minorOpen) return false;
  return c.than.minor !== v.minor;
}

/** "> 11" leaves out all of 11.x, "> 11.1" all of 11.1.x. */
function greater(c: Comparison, v: Version): boolean {
  if (!c.open) return compareVersions(v, c.than) > 0;
  if (v.major !== c.than.major) return v.major > c.than.major;
  if (c.minorOpen) return false;
  if (c.patchOpen) return v.minor > c.than.minor;
  return compareVersions(v, c.than) > 0;
}

/** "<= 11" takes in all of 11.x. */
function atMost(c: Comparison, v: Version): boolean {
  if (!c.open) return compareVersions(v, c.than) <= 0;
  if (v.major !== c.than.major) return v.major < c.than.major;
  return v.minor <= c.than.minor || c.minorOpen;
}

function tilde(c: Comparison, v: Version): boolean {
  if (compareVersions(v, c.than) < 0) return false;
  const { major, minor, patch } = c.than;
  if (major === 0 && minor === 0 && patch === 0 && !c.minorOpen && !c.patchOpen) return true;
  return v.major === major && (v.minor === minor || c.minorOpen);
}

/** Up to the next change of the left-most part that is not zero. */
function caret(c: Comparison, v: Version): boolean {
  if (compareVersions(v, c.than) < 0) return false;
  const { major, minor, patch } = c.than;
  if (major > 0 || c.minorOpen) return v.major === major;
  if (v.major > 0) return false;
  if (minor > 0 || c.patchOpen) return v.minor === minor;
  if (v.minor > 0) return false;
  return v.patch === patch;
}

/** The highest of `tags` that satisfies the constraint; undefined when none does or the text is not a constraint. */
export function highestMatch(constraint: string, tags: Iterable<string>): string | undefined {
  const admits = parseConstraint(constraint);
  if (admits === undefined) return undefined;
  let best: { tag: string; version: Version } | undefined;
  for (const tag of tags) {
    const version = parseVersion(tag);
    if (version === undefined || !admits(version)) continue;
    if (best === undefined || compareVersions(version, best.version) > 0) best = { tag, version };
  }
  return best?.tag;
}
