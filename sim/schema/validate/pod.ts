import type { Json, JsonObject } from '#base';
import { parseQuantity } from '../quantity.ts';
import {
  labelNameProblems,
  labelValueProblems,
  nonNegative,
  portNameProblems,
  portNumber,
  qualifiedNameProblems,
  subdomainProblems,
  validateAnnotations,
  validateLabels,
  validateSelector,
} from './names.ts';
import {
  forEachObject,
  anyMember,
  listMember,
  numberMember,
  objectMember,
  mapEntries,
  quantityText,
  stringMember,
} from './read.ts';
import type { FieldErrorReport } from './report.ts';
import { validateVolumes } from './volumes.ts';

/**
 * Rules of pod specs (pkg/apis/core/validation), limited to those that common manifests can
 * violate.
 */

export function validatePodTemplate(report: FieldErrorReport, template: Json | undefined, path: string): void {
  const metadata = objectMember(template, 'metadata');
  validateLabels(report, objectMember(metadata, 'labels'), `${path}.labels`);
  validateAnnotations(report, objectMember(metadata, 'annotations'), `${path}.annotations`);
  validatePodSpec(report, objectMember(template, 'spec') ?? {}, `${path}.spec`);
}

export function validatePodSpec(report: FieldErrorReport, spec: JsonObject, path: string): void {
  const volumes = validateVolumes(report, spec, path);
  const seen = new Set<string>();
  if (listMember(spec, 'containers').length === 0) report.required(`${path}.containers`);
  for (const key of ['containers', 'initContainers'])
    forEachObject(spec, key, path, (container, here) => {
      const name = stringMember(container, 'name');
      validateName(report, name, `${here}.name`);
      if (name !== '' && seen.has(name)) report.duplicate(`${here}.name`, name);
      seen.add(name);
      validateContainer(report, container, here, volumes);
    });
  const deadline = numberMember(spec, 'activeDeadlineSeconds');
  if (deadline !== undefined && deadline < 1)
    report.invalid(`${path}.activeDeadlineSeconds`, deadline, 'must be between 1 and 2147483647, inclusive');
  const account = stringMember(spec, 'serviceAccountName');
  if (account !== '')
    for (const problem of subdomainProblems(account)) report.invalid(`${path}.serviceAccountName`, account, problem);
  validateLabels(report, objectMember(spec, 'nodeSelector'), `${path}.nodeSelector`);
  validatePlacement(report, spec, path);
  const system = objectMember(spec, 'os');
  if (system !== undefined && stringMember(system, 'name') === '') report.required(`${path}.os.name`);
  validateSeccomp(report, spec, path);
}

function validateSeccomp(report: FieldErrorReport, holder: JsonObject, path: string): void {
  const profile = objectMember(objectMember(holder, 'securityContext'), 'seccompProfile');
  if (profile !== undefined && stringMember(profile, 'type') === '')
    report.required(`${path}.securityContext.seccompProfile.type`, 'type is required when seccompProfile is set');
}

function validateName(report: FieldErrorReport, name: string, path: string): void {
  if (name === '') report.required(path);
  else for (const problem of labelNameProblems(name)) report.invalid(path, name, problem);
}

function validateContainer(
  report: FieldErrorReport,
  container: JsonObject,
  path: string,
  volumes: ReadonlySet<string>,
): void {
  const image = stringMember(container, 'image');
  if (image === '') report.required(`${path}.image`);
  else if (image.trim() !== image)
    report.invalid(`${path}.image`, image, 'must not have leading or trailing whitespace');
  validatePorts(report, container, path);
  forEachObject(container, 'env', path, (variable, here) => validateVariable(report, variable, here));
  validateMounts(report, container, path, volumes);
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe'])
    validateProbe(report, objectMember(container, name), `${path}.${name}`);
  for (const name of ['postStart', 'preStop']) {
    const hook = objectMember(objectMember(container, 'lifecycle'), name);
    if (hook !== undefined) validateHandler(report, hook, `${path}.lifecycle.${name}`, lifecycleHandlers);
  }
  validateResources(report, objectMember(container, 'resources'), `${path}.resources`);
  validateSeccomp(report, container, path);
}

function validatePorts(report: FieldErrorReport, container: JsonObject, path: string): void {
  const names = new Set<string>();
  forEachObject(container, 'ports', path, (port, here) => {
    const name = stringMember(port, 'name');
    if (name !== '') {
      for (const problem of portNameProblems(name)) report.invalid(`${here}.name`, name, problem);
      if (names.has(name)) report.duplicate(`${here}.name`, name);
      names.add(name);
    }
    const number = numberMember(port, 'containerPort') ?? 0;
    if (number === 0) report.required(`${here}.containerPort`);
    else portNumber(report, number, `${here}.containerPort`);
    const host = numberMember(port, 'hostPort') ?? 0;
    if (host !== 0) portNumber(report, host, `${here}.hostPort`);
  });
}

const envSources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'];

function validateVariable(report: FieldErrorReport, variable: JsonObject, path: string): void {
  const name = stringMember(variable, 'name');
  if (name === '') report.required(`${path}.name`);
  else if (name.includes('='))
    report.invalid(
      `${path}.name`,
      name,
      "a valid environment variable name must consist only of printable ASCII characters other than '='",
    );
  const source = objectMember(variable, 'valueFrom');
  if (source === undefined) return;
  const given = envSources.filter((key) => objectMember(source, key) !== undefined);
  if (stringMember(variable, 'value') !== '' && given.length > 0)
    report.invalid(`${path}.valueFrom`, '', 'may not be specified when `value` is not empty');
  if (given.length === 0)
    report.invalid(
      `${path}.valueFrom`,
      '',
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
    );
  if (given.length > 1) report.invalid(`${path}.valueFrom`, '', 'may not have more than one field specified at a time');
  for (const key of ['configMapKeyRef', 'secretKeyRef']) {
    const reference = objectMember(source, key);
    if (reference === undefined) continue;
    for (const member of ['name', 'key'])
      if (stringMember(reference, member) === '') report.required(`${path}.valueFrom.${key}.${member}`);
  }
  const field = objectMember(source, 'fieldRef');
  if (field !== undefined && stringMember(field, 'fieldPath') === '')
    report.required(`${path}.valueFrom.fieldRef.fieldPath`);
}

function validateMounts(
  report: FieldErrorReport,
  container: JsonObject,
  path: string,
  volumes: ReadonlySet<string>,
): void {
  const targets = new Set<string>();
  forEachObject(container, 'volumeMounts', path, (mount, here) => {
    const name = stringMember(mount, 'name');
    if (name === '') report.required(`${here}.name`);
    else if (!volumes.has(name)) report.notFound(`${here}.name`, name);
    const target = stringMember(mount, 'mountPath');
    if (target === '') report.required(`${here}.mountPath`);
    else if (targets.has(target)) report.invalid(`${here}.mountPath`, target, 'must be unique');
    targets.add(target);
    if (stringMember(mount, 'subPath') !== '' && stringMember(mount, 'subPathExpr') !== '')
      report.invalid(
        `${here}.subPathExpr`,
        stringMember(mount, 'subPathExpr'),
        'subPathExpr and subPath are mutually exclusive',
      );
  });
}

const probeHandlers = ['exec', 'httpGet', 'tcpSocket', 'grpc'];
const lifecycleHandlers = ['exec', 'httpGet', 'tcpSocket', 'sleep'];
const probeNumbers = ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'];

function validateProbe(report: FieldErrorReport, probe: JsonObject | undefined, path: string): void {
  if (probe === undefined) return;
  validateHandler(report, probe, path, probeHandlers);
  for (const key of probeNumbers) nonNegative(report, numberMember(probe, key), `${path}.${key}`);
  const threshold = numberMember(probe, 'successThreshold');
  if (!path.endsWith('readinessProbe') && threshold !== undefined && threshold !== 1)
    report.invalid(`${path}.successThreshold`, threshold, 'must be 1');
}

/** A probe or a lifecycle hook has exactly one handler. */
function validateHandler(
  report: FieldErrorReport,
  holder: JsonObject,
  path: string,
  handlers: readonly string[],
): void {
  const given = handlers.filter((key) => objectMember(holder, key) !== undefined);
  if (given.length === 0) report.required(path, 'must specify a handler type');
  for (const extra of given.slice(1)) report.forbidden(`${path}.${extra}`, 'may not specify more than 1 handler type');
  for (const key of ['httpGet', 'tcpSocket']) {
    const handler = objectMember(holder, key);
    if (handler !== undefined) validateProbePort(report, anyMember(handler, 'port'), `${path}.${key}.port`);
  }
  const exec = objectMember(holder, 'exec');
  if (exec !== undefined && listMember(exec, 'command').length === 0) report.required(`${path}.exec.command`);
}

function validateProbePort(report: FieldErrorReport, port: Json | undefined, path: string): void {
  if (typeof port === 'string') {
    for (const problem of portNameProblems(port)) report.invalid(path, port, problem);
  } else portNumber(report, typeof port === 'number' ? port : 0, path);
}

const standardResources = new Set(['cpu', 'memory', 'ephemeral-storage']);

export function validateResources(report: FieldErrorReport, resources: JsonObject | undefined, path: string): void {
  const limits = new Map(mapEntries(resources, 'limits'));
  for (const key of ['limits', 'requests'])
    for (const [name, amount] of mapEntries(resources, key)) {
      const here = `${path}.${key}[${name}]`;
      validateResourceName(report, name, here);
      const parsed = parseQuantity(quantityText(amount));
      if (typeof parsed === 'object' && parsed.nanos < 0n)
        report.invalid(here, amount, 'must be greater than or equal to 0');
    }
  for (const [name, amount] of mapEntries(resources, 'requests')) {
    const limit = limits.get(name);
    if (limit !== undefined && quantityExceeds(amount, limit))
      report.invalid(
        `${path}.requests`,
        amount,
        `must be less than or equal to ${name} limit of ${quantityText(limit)}`,
      );
  }
}

function validateResourceName(report: FieldErrorReport, name: string, path: string): void {
  for (const problem of qualifiedNameProblems(name)) report.invalid(path, name, problem);
  if (name.includes('/') || standardResources.has(name) || name.startsWith('hugepages-')) return;
  report.invalid(path, name, 'must be a standard resource type or fully qualified');
  report.invalid(path, name, 'must be a standard resource for containers');
}

/** True if one quantity is greater than another. */
export function quantityExceeds(amount: Json, limit: Json): boolean {
  const [a, b] = [parseQuantity(quantityText(amount)), parseQuantity(quantityText(limit))];
  return typeof a === 'object' && typeof b === 'object' && a.nanos > b.nanos;
}

function validatePlacement(report: FieldErrorReport, spec: JsonObject, path: string): void {
  forEachObject(spec, 'tolerations', path, (toleration, here) => {
    const key = stringMember(toleration, 'key');
    if (key !== '') for (const problem of qualifiedNameProblems(key)) report.invalid(`${here}.key`, key, problem);
    const operator = stringMember(toleration, 'operator');
    if (key === '' && operator !== 'Exists')
      report.invalid(
        `${here}.operator`,
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      );
    const value = stringMember(toleration, 'value');
    if (operator === 'Exists' && value !== '')
      report.invalid(`${here}.operator`, value, "value must be empty when `operator` is 'Exists'");
    else for (const problem of labelValueProblems(value)) report.invalid(`${here}.operator`, value, problem);
  });
  forEachObject(spec, 'topologySpreadConstraints', path, (constraint, here) => {
    const skew = numberMember(constraint, 'maxSkew') ?? 0;
    if (skew <= 0) report.invalid(`${here}.maxSkew`, skew, 'must be greater than zero');
    if (stringMember(constraint, 'topologyKey') === '') report.required(`${here}.topologyKey`, 'can not be empty');
    validateSelector(report, objectMember(constraint, 'labelSelector'), `${here}.labelSelector`);
  });
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const affinity = objectMember(objectMember(spec, 'affinity'), kind);
    const base = `${path}.affinity.${kind}`;
    forEachObject(affinity, 'requiredDuringSchedulingIgnoredDuringExecution', base, (term, here) =>
      validateAffinityTerm(report, term, here),
    );
    forEachObject(affinity, 'preferredDuringSchedulingIgnoredDuringExecution', base, (weighted, here) =>
      validateAffinityTerm(report, objectMember(weighted, 'podAffinityTerm') ?? {}, `${here}.podAffinityTerm`),
    );
  }
}

function validateAffinityTerm(report: FieldErrorReport, term: JsonObject, path: string): void {
  validateSelector(report, objectMember(term, 'labelSelector'), `${path}.labelSelector`);
  const topologyKey = stringMember(term, 'topologyKey');
  if (topologyKey === '') report.required(`${path}.topologyKey`, 'can not be empty');
  for (const problem of qualifiedNameProblems(topologyKey)) report.invalid(`${path}.topologyKey`, topologyKey, problem);
}
