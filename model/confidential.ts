/** The content of a request about a Secret: known without trusting the response. */
export interface SentSecret {
  readonly name: string;
  /** The keys of `data` and `stringData`. */
  readonly keys: ReadonlySet<string>;
  /** The values, plain and in base64. */
  readonly values: readonly string[];
}

/** The facts about a text on a Secret that are safe to show. */
export interface ConfidentialAnswer {
  /** Names the object in the message: "this Secret". */
  readonly what: string;
  /** HTTP status of the response, if there is one. */
  readonly status?: number;
  /** Kubernetes' reason in one word. Other words are dropped: a webhook may send anything. */
  readonly reason?: string;
  /** Only the keys that were sent are shown in field paths: a webhook may send a value instead. */
  readonly sent?: SentSecret;
  readonly causes?: readonly { readonly field?: string; readonly reason?: string }[];
}

/**
 * Replaces an API server's message about a confidential object, which may quote its values: keeps
 * reason, field paths, and known sentences that contain names only. For `instead` of {@link
 * outsideText}.
 */
export function aboutSecret(about: ConfidentialAnswer): (text: string) => string {
  return (text) => refusalMessage(text, about);
}

/** Replaces the message of a script that failed on a confidential object. */
export function scriptAboutSecret(): string {
  return 'the message about this Secret is hidden because it may contain its values';
}

const namePattern = '([A-Za-z0-9._:/@*-]{1,253})';
const amountsPattern = '([a-z0-9./=,-]{1,300})';

/** Complete messages of API servers that contain names only. Each group captures one name. */
const nameOnlyMessages: readonly RegExp[] = [
  `${namePattern} "${namePattern}" (?:not found|already exists)`,
  `${namePattern} "${namePattern}" is forbidden: User "${namePattern}" cannot ([a-z]+) resource "${namePattern}" in API group "${namePattern}?"(?: in the namespace "${namePattern}"| at the cluster scope)?`,
  `${namePattern} "${namePattern}" is forbidden: unable to create new content in namespace ${namePattern} because it is being terminated`,
  `${namePattern} "${namePattern}" is forbidden: exceeded quota: ${namePattern}, requested: ${amountsPattern}, used: ${amountsPattern}, limited: ${amountsPattern}`,
  `${namePattern} is forbidden: User "${namePattern}" cannot ([a-z]+) resource "${namePattern}" in API group "${namePattern}?"(?: in the namespace "${namePattern}"| at the cluster scope)?`,
  `Operation cannot be fulfilled on ${namePattern} "${namePattern}": the object has been modified; please apply your changes to the latest version and try again`,
  `admission webhook "${namePattern}" does not support dry run`,
  'Unauthorized',
  'the server could not find the requested resource',
  'the server is currently unable to handle the request',
  'the server has received too many requests and has asked us to try again later',
  'Too many requests, please try again later.',
  'etcdserver: (?:request is too large|too many requests|leader changed|no leader|not leader|server stopped|not healthy for reconfigure|request timed out(?:, [a-z ]{1,60})?)',
  'The resourceVersion for the provided (?:list|watch) is too old.',
  'too old resource version: [0-9]+ \\([0-9]+\\)',
  'Too large resource version: [0-9]+, current: [0-9]+',
].map((sentence) => new RegExp(`^${sentence}$`));

/** Kubernetes' reasons of responses and of their causes. */
const statusReasons = new Set(
  `Unauthorized Forbidden NotFound AlreadyExists Conflict Gone Invalid ServerTimeout Timeout TooManyRequests BadRequest MethodNotAllowed NotAcceptable
   RequestEntityTooLarge UnsupportedMediaType InternalError Expired ServiceUnavailable StoreReadError`.split(/\s+/),
);
/** Reasons of causes, and the texts of apimachinery's field.ErrorType. */
const causeReasons: ReadonlyMap<string, string> = new Map([
  ['FieldValueNotFound', 'Not found'],
  ['FieldValueRequired', 'Required value'],
  ['FieldValueDuplicate', 'Duplicate value'],
  ['FieldValueInvalid', 'Invalid value'],
  ['FieldValueNotSupported', 'Unsupported value'],
  ['FieldValueForbidden', 'Forbidden'],
  ['FieldValueTooLong', 'Too long'],
  ['FieldValueTooMany', 'Too many'],
  ['FieldValueTooFew', 'Too few'],
  ['FieldValueTooShort', 'Too short'],
  ['FieldValueTypeInvalid', 'Invalid value'],
  ['InternalError', 'Internal error'],
  ['FieldManagerConflict', 'Conflict'],
  ['ResourceVersionTooLarge', 'Too large resource version'],
]);

/** Whether a response about a Secret may be said to have this reason: other words may be values. */
export function isKnownReason(reason: string): boolean {
  return statusReasons.has(reason) || causeReasons.has(reason);
}

const hiddenMessage = 'the message is hidden because it may contain values';

function refusalMessage(text: string, about: ConfidentialAnswer): string {
  const message = text.trim();
  if (isNameOnly(message, about.sent)) return message;
  const { status, reason = '', sent } = about;
  const said = /^admission webhook "([A-Za-z0-9.-]{1,253})" denied the request/.exec(message)?.[1];
  const webhook = said !== undefined && holdsValue(said, sent) ? '…' : said;
  const causes = causeTexts(about);
  if (status === 422 && reason === 'Invalid' && sent !== undefined && sent.name !== '' && webhook === undefined)
    return invalidText(sent.name, causes);
  const details = [...(statusReasons.has(reason) ? [reason] : []), ...causes, ...fieldPathsIn(message, sent)];
  const how = status === undefined ? '' : ` with HTTP ${status}`;
  const why = details.length === 0 ? '' : ` (${[...new Set(details)].join('; ')})`;
  const by = webhook === undefined ? 'the API server' : `the admission webhook ${webhook}`;
  return `${by} refuses ${about.what}${how}${why}; ${hiddenMessage}`;
}

/** Kubernetes' own message, without its details: `Secret "a" is invalid: data[b]: Too long`. */
function invalidText(name: string, causes: readonly string[]): string {
  const fields = [...new Set(causes)];
  const which = `Secret "${/^[ !#-~]{1,253}$/.test(name) ? name : '…'}" is invalid`;
  if (fields.length === 0) return `${which}; ${hiddenMessage}`;
  return `${which}: ${fields.length === 1 ? (fields[0] ?? '') : `[${fields.join(', ')}]`}`;
}

function isNameOnly(message: string, sent: SentSecret | undefined): boolean {
  if (message.length >= 2000) return false;
  const found = nameOnlyMessages.map((sentence) => sentence.exec(message)).find((match) => match !== null);
  if (found === undefined) return false;
  const names: readonly (string | undefined)[] = found.slice(1);
  return names.every((name) => name === undefined || name === sent?.name || !holdsValue(name, sent));
}

/** Shorter values occur inside many names. */
const shortValueLength = 4;

function holdsValue(name: string, sent: SentSecret | undefined): boolean {
  return (sent?.values ?? []).some((value) =>
    value.length < shortValueLength ? value !== '' && name === value : name.includes(value),
  );
}

const maxShownCauses = 16;

function causeTexts({ causes = [], sent }: ConfidentialAnswer): string[] {
  const texts = causes.slice(0, maxShownCauses).flatMap(({ field = '', reason = '' }) => {
    const word = causeReasons.get(reason);
    const where = shownPath(field, sent);
    if (where === undefined) return word === undefined ? [] : [word];
    return [word === undefined ? where : `${where}: ${word}`];
  });
  return causes.length > maxShownCauses ? [...texts, `${causes.length - maxShownCauses} more`] : texts;
}

const metadataFields = new Set(
  `name generateName namespace labels annotations finalizers ownerReferences managedFields uid resourceVersion generation
   creationTimestamp deletionTimestamp deletionGracePeriodSeconds selfLink`.split(/\s+/),
);

/**
 * A field path in a Secret, made of its known fields and the keys that were sent. Any other part
 * becomes `[…]`: the path is the server's, and may quote a value.
 */
function shownPath(field: string, sent: SentSecret | undefined): string | undefined {
  const [, top, rest = ''] =
    /^(\.?(?:data|stringData|type|immutable|metadata|kind|apiVersion))((?:[.[].*)?)$/s.exec(field) ?? [];
  if (top === undefined || rest === '') return top;
  if (/^\.?(?:data|stringData)$/.test(top)) return `${top}${shownKey(rest, sent)}`;
  if (!top.endsWith('metadata')) return top;
  const [, member = '', more = ''] = /^\.([A-Za-z]+)(.*)$/s.exec(rest) ?? [];
  if (!metadataFields.has(member)) return top;
  return `${top}.${member}${more === '' ? '' : '[…]'}`;
}

/** `[key]` or `.key`; `[…]` for a key that was not sent. */
function shownKey(rest: string, sent: SentSecret | undefined): string {
  const key = /^\[(.*)\]$/s.exec(rest)?.[1] ?? /^\.(.*)$/s.exec(rest)?.[1];
  const isShown = key !== undefined && sent?.keys.has(key) === true && /^[A-Za-z0-9 ._/-]{1,253}$/.test(key);
  return isShown ? rest : '[…]';
}

/** Field paths in messages without causes: values of a wrong type, and invalid base64. */
const fieldPathPatterns: readonly RegExp[] = [
  /Go struct field Secret\.((?:data|stringData|metadata|type|immutable)(?:\.[A-Za-z]{1,40}){0,3}) of type/g,
  /(?:^|[\s(])(\.(?:data|stringData|metadata|type|immutable)(?:\.[A-Za-z0-9_-]{1,63}){0,3}): (?:expected|field not declared)/g,
];

function fieldPathsIn(text: string, sent: SentSecret | undefined): string[] {
  const bounded = text.slice(0, 16_384);
  const found = fieldPathPatterns.flatMap((place) =>
    [...bounded.matchAll(place)].slice(0, 8).flatMap((match) => shownPath(match[1] ?? '', sent) ?? []),
  );
  const base64 = /illegal base64 data at input byte \d+/.exec(bounded);
  return base64 === null ? found : [...found, 'data: illegal base64'];
}
