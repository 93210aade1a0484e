import { canonicalJson } from '#base';
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
import { each, get, list, num, obj, pairs, str } from './read.ts';
import type { Report } from './report.ts';
import { validateVolumes } from './volumes.ts';

/** Rules of pod specs (pkg/apis/core/validation): those that ordinary manifests can break. */

export function validatePodTemplate(report: Report, template: Json | undefined, path: string): void {
  const metadata = obj(template, 'metadata');
  validateLabels(report, obj(metadata, 'labels'), `${path}.metadata.labels`);
  validateAnnotations(report, obj(metadata, 'annotations'), `${path}.metadata.annotations`);
  validatePodSpec(report, obj(template, 'spec') ?? {}, `${path}.spec`);
}

export function validatePodSpec(report: Report, spec: JsonObject, path: string): void {
  const volumes = validateVolumes(report, spec, path);
  const seen = new Set<string>();
  if (list(spec, 'containers').length === 0) report.required(`${path}.containers`);
  for (const key of ['containers', 'initContainers'])
    each(spec, key, path, (container, here) => {
      const name = str(container, 'name');
      validateName(report, name, `${here}.name`);
      if (name !== '' && seen.has(name)) report.duplicate(`${here}.name`, name);
      seen.add(name);
      validateContainer(report, container, here, volumes);
    });
  nonNegative(report, num(spec, 'terminationGracePeriodSeconds'), `${path}.terminationGracePeriodSeconds`);
  const deadline = num(spec, 'activeDeadlineSeconds');
  if (deadline !== undefined && deadline < 1)
    report.invalid(`${path}.activeDeadlineSeconds`, deadline, 'must be between 1 and 2147483647, inclusive');
  const account = str(spec, 'serviceAccountName');
  if (account !== '')
    for (const problem of subdomainProblems(account)) report.invalid(`${path}.serviceAccountName`, account, problem);
  validateLabels(report, obj(spec, 'nodeSelector'), `${path}.nodeSelector`);
  validatePlacement(report, spec, path);
}

function validateName(report: Report, name: string, path: string): void {
  if (name === '') report.required(path);
  else for (const problem of labelNameProblems(name)) report.invalid(path, name, problem);
}

function validateContainer(report: Report, container: JsonObject, path: string, volumes: ReadonlySet<string>): void {
  const image = str(container, 'image');
  if (image === '') report.required(`${path}.image`);
  else if (image.trim() !== image)
    report.invalid(`${path}.image`, image, 'must not have leading or trailing whitespace');
  validatePorts(report, container, path);
  each(container, 'env', path, (variable, here) => validateVariable(report, variable, here));
  validateMounts(report, container, path, volumes);
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe'])
    validateProbe(report, obj(container, name), `${path}.${name}`);
  validateResources(report, obj(container, 'resources'), `${path}.resources`);
}

function validatePorts(report: Report, container: JsonObject, path: string): void {
  const names = new Set<string>();
  each(container, 'ports', path, (port, here) => {
    const name = str(port, 'name');
    if (name !== '') {
      for (const problem of portNameProblems(name)) report.invalid(`${here}.name`, name, problem);
      if (names.has(name)) report.duplicate(`${here}.name`, name);
      names.add(name);
    }
    const number = num(port, 'containerPort') ?? 0;
    if (number === 0) report.required(`${here}.containerPort`);
    else portNumber(report, number, `${here}.containerPort`);
    const host = num(port, 'hostPort') ?? 0;
    if (host !== 0) portNumber(report, host, `${here}.hostPort`);
  });
}

const envSources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'];

function validateVariable(report: Report, variable: JsonObject, path: string): void {
  const name = str(variable, 'name');
  if (name === '') report.required(`${path}.name`);
  else if (name.includes('='))
    report.invalid(
      `${path}.name`,
      name,
      "a valid environment variable name must consist only of printable ASCII characters other than '='",
    );
  const source = obj(variable, 'valueFrom');
  if (source === undefined) return;
  const given = envSources.filter((key) => obj(source, key) !== undefined);
  if (str(variable, 'value') !== '' && given.length > 0)
    report.invalid(`${path}.valueFrom`, '', 'may not be specified when `value` is not empty');
  if (given.length === 0)
    report.invalid(
      `${path}.valueFrom`,
      '',
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
    );
  if (given.length > 1) report.invalid(`${path}.valueFrom`, '', 'may not have more than one field specified at a time');
  for (const key of ['configMapKeyRef', 'secretKeyRef']) {
    const reference = obj(source, key);
    if (reference === undefined) continue;
    for (const member of ['name', 'key'])
      if (str(reference, member) === '') report.required(`${path}.valueFrom.${key}.${member}`);
  }
  const field = obj(source, 'fieldRef');
  if (field !== undefined && str(field, 'fieldPath') === '') report.required(`${path}.valueFrom.fieldRef.fieldPath`);
}

function validateMounts(report: Report, container: JsonObject, path: string, volumes: ReadonlySet<string>): void {
  const targets = new Set<string>();
  each(container, 'volumeMounts', path, (mount, here) => {
    const name = str(mount, 'name');
    if (name === '') report.required(`${here}.name`);
    else if (!volumes.has(name)) report.notFound(`${here}.name`, name);
    const target = str(mount, 'mountPath');
    if (target === '') report.required(`${here}.mountPath`);
    else if (targets.has(target)) report.invalid(`${here}.mountPath`, target, 'must be unique');
    targets.add(target);
    if (str(mount, 'subPath') !== '' && str(mount, 'subPathExpr') !== '')
      report.invalid(
        `${here}.subPathExpr`,
        str(mount, 'subPathExpr'),
        'subPathExpr and subPath are mutually exclusive',
      );
  });
}

const handlers = ['exec', 'httpGet', 'tcpSocket', 'grpc'];
const probeNumbers = ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'];

function validateProbe(report: Report, probe: JsonObject | undefined, path: string): void {
  if (probe === undefined) return;
  const given = handlers.filter((key) => obj(probe, key) !== undefined);
  if (given.length === 0) report.required(path, 'must specify a handler type');
  for (const extra of given.slice(1)) report.forbidden(`${path}.${extra}`, 'may not specify more than 1 handler type');
  for (const key of probeNumbers) nonNegative(report, num(probe, key), `${path}.${key}`);
  const threshold = num(probe, 'successThreshold');
  if (!path.endsWith('readinessProbe') && threshold !== undefined && threshold !== 1)
    report.invalid(`${path}.successThreshold`, threshold, 'must be 1');
  const http = obj(probe, 'httpGet');
  if (http !== undefined) validateProbePort(report, get(http, 'port'), `${path}.httpGet.port`);
  const tcp = obj(probe, 'tcpSocket');
  if (tcp !== undefined) validateProbePort(report, get(tcp, 'port'), `${path}.tcpSocket.port`);
  if (obj(probe, 'exec') !== undefined && list(obj(probe, 'exec'), 'command').length === 0)
    report.required(`${path}.exec.command`);
}

function validateProbePort(report: Report, port: Json | undefined, path: string): void {
  if (typeof port === 'string') {
    for (const problem of portNameProblems(port)) report.invalid(path, port, problem);
  } else portNumber(report, typeof port === 'number' ? port : 0, path);
}

const standardResources = new Set(['cpu', 'memory', 'ephemeral-storage']);

export function validateResources(report: Report, resources: JsonObject | undefined, path: string): void {
  const limits = new Map(pairs(resources, 'limits'));
  for (const key of ['limits', 'requests'])
    for (const [name, amount] of pairs(resources, key)) {
      const here = `${path}.${key}[${name}]`;
      validateResourceName(report, name, here);
      const parsed = parseQuantity(plain(amount));
      if (typeof parsed === 'object' && parsed.nanos < 0n)
        report.invalid(here, amount, 'must be greater than or equal to 0');
    }
  for (const [name, amount] of pairs(resources, 'requests')) {
    const limit = limits.get(name);
    if (limit !== undefined && exceeds(amount, limit))
      report.invalid(`${path}.requests`, amount, `must be less than or equal to ${name} limit of ${plain(limit)}`);
  }
}

function validateResourceName(report: Report, name: string, path: string): void {
  for (const problem of qualifiedNameProblems(name)) report.invalid(path, name, problem);
  if (name.includes('/') || standardResources.has(name) || name.startsWith('hugepages-')) return;
  report.invalid(path, name, 'must be a standard resource type or fully qualified');
  report.invalid(path, name, 'must be a standard resource for containers');
}

/** Whether one quantity is more than another. */
export function exceeds(amount: Json, limit: Json): boolean {
  const [a, b] = [parseQuantity(plain(amount)), parseQuantity(plain(limit))];
  return typeof a === 'object' && typeof b === 'object' && a.nanos > b.nanos;
}

/** The text of a quantity, which JSON may hold as a number. */
export function plain(value: Json): string {
  return typeof value === 'string' ? value : canonicalJson(value);
}

function validatePlacement(report: Report, spec: JsonObject, path: string): void {
  each(spec, 'tolerations', path, (toleration, here) => {
    const key = str(toleration, 'key');
    if (key !== '') for (const problem of qualifiedNameProblems(key)) report.invalid(`${here}.key`, key, problem);
    const operator = str(toleration, 'operator');
    if (key === '' && operator !== 'Exists')
      report.invalid(
        `${here}.operator`,
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      );
    const value = str(toleration, 'value');
    if (operator === 'Exists' && value !== '')
      report.invalid(`${here}.operator`, value, "value must be empty when `operator` is 'Exists'");
    else for (const problem of labelValueProblems(value)) report.invalid(`${here}.operator`, value, problem);
  });
  each(spec, 'topologySpreadConstraints', path, (constraint, here) => {
    const skew = num(constraint, 'maxSkew') ?? 0;
    if (skew <= 0) report.invalid(`${here}.maxSkew`, skew, 'must be greater than zero');
    if (str(constraint, 'topologyKey') === '') report.required(`${here}.topologyKey`, 'can not be empty');
    validateSelector(report, obj(constraint, 'labelSelector'), `${here}.labelSelector`);
  });
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const affinity = obj(obj(spec, 'affinity'), kind);
    const base = `${path}.affinity.${kind}`;
    each(affinity, 'requiredDuringSchedulingIgnoredDuringExecution', base, (term, here) =>
      validateAffinityTerm(report, term, here),
    );
    each(affinity, 'preferredDuringSchedulingIgnoredDuringExecution', base, (weighted, here) =>
      validateAffinityTerm(report, obj(weighted, 'podAffinityTerm') ?? {}, `${here}.podAffinityTerm`),
    );
  }
}

function validateAffinityTerm(report: Report, term: JsonObject, path: string): void {
  validateSelector(report, obj(term, 'labelSelector'), `${path}.labelSelector`);
  if (str(term, 'topologyKey') === '') report.required(`${path}.topologyKey`, 'can not be empty');
}
