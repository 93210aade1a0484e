// Finds every metric that the code registers, by its call: name, type, labels and help. Reads the
// TypeScript sources, so it needs no build and no running controller.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const folders = [
  'api',
  'cli',
  'controller',
  'desired',
  'kube',
  'live',
  'publish',
  'queues',
  'settings',
  'sharding',
  'telemetry',
];
const metricName = /^(?:driftless|argocd|workqueue)_[a-z0-9_]+$/;
const types = { counter: 'counter', gauge: 'gauge', histogram: 'histogram', family: 'gauge' };
/**
 * Members that functions of other modules return, for metrics that spread them into their labels.
 */
const externalLabels = {
  parseResourceKey: ['group', 'kind', 'namespace', 'name'],
  labelsOf: ['namespace', 'name', 'project'],
  labelValues: ['label_<name>'],
};

/** Every registered metric, sorted by name. Throws if a call cannot be read. */
export function readMetrics(root) {
  const metrics = folders.flatMap((folder) => sourceFiles(join(root, folder)).flatMap(metricsOf));
  return metrics.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function sourceFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'testing' ? [] : sourceFiles(path);
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts') ? [path] : [];
  });
}

function metricsOf(path) {
  const text = readFileSync(path, 'utf8');
  if (!/(?:driftless|argocd|workqueue)_/.test(text)) return [];
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  const declared = declarationsOf(source);
  const found = [];
  walk(source, (node) => {
    if (ts.isCallExpression(node) && isMetricName(node.arguments[0]) && typeOf(node) !== undefined)
      found.push(fromCall(node, declared));
    if (ts.isObjectLiteralExpression(node) && isMetricName(property(node, 'name')))
      found.push(fromFamily(node, declared));
  });
  for (const { name, type, help } of found)
    if (type === undefined || help === undefined) throw new Error(`${path}: cannot read the metric ${name}`);
  return found;
}

const isMetricName = (node) => node !== undefined && ts.isStringLiteral(node) && metricName.test(node.text);

function walk(node, visit) {
  visit(node);
  node.forEachChild((child) => walk(child, visit));
}

/** Constants and functions of a file by name. */
function declarationsOf(source) {
  const declared = new Map();
  walk(source, (node) => {
    const name = node.name?.getText();
    if (ts.isVariableDeclaration(node) && node.initializer && !declared.has(name)) declared.set(name, node.initializer);
    if (ts.isFunctionDeclaration(node) && node.name) declared.set(name, node);
  });
  return declared;
}

/** Undefined for a call that registers nothing, such as `metrics.dropWhen(name, …)`. */
function typeOf({ expression }) {
  return types[ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText()];
}

/** `metrics.counter(name, help, …)`, or a local helper `gauge(name, help, …)`. */
function fromCall(call, declared) {
  const [name, help, ...rest] = call.arguments;
  const arrays = rest
    .map((node) => listOf(node, declared))
    .filter((list) => list?.every((item) => typeof item === 'string'));
  const helper = ts.isIdentifier(call.expression) ? declared.get(call.expression.text) : undefined;
  const own = [
    ...labelsIn(call, declared),
    ...rest.filter(ts.isObjectLiteralExpression).flatMap((node) => membersOf(node, declared)),
  ];
  const labels = arrays.at(-1) ?? [...(helper === undefined ? [] : labelsIn(helper, declared)), ...own];
  return { name: name.text, type: typeOf(call), help: textOfNode(help, declared), labels: [...new Set(labels)] };
}

/** `metrics.family({ name, help, type, collect })`. */
function fromFamily(node, declared) {
  const type = textOfNode(property(node, 'type'), declared);
  return {
    name: property(node, 'name').text,
    type,
    help: textOfNode(property(node, 'help'), declared),
    labels: labelsIn(node, declared),
  };
}

function property(node, name) {
  const member = node.properties.find((each) => ts.isPropertyAssignment(each) && each.name.getText() === name);
  return member?.initializer;
}

function textOfNode(node, declared) {
  if (node === undefined) return undefined;
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isBinaryExpression(node)) return textOfNode(node.left, declared) + textOfNode(node.right, declared);
  return ts.isIdentifier(node) ? textOfNode(declared.get(node.text), declared) : undefined;
}

/** The strings of an array literal; undefined for another expression. */
function listOf(node, declared) {
  if (node === undefined) return undefined;
  if (ts.isIdentifier(node)) return listOf(declared.get(node.text), declared);
  if (!ts.isArrayLiteralExpression(node)) return undefined;
  return node.elements.flatMap((item) => {
    if (ts.isSpreadElement(item)) return listOf(item.expression, declared) ?? [undefined];
    return [ts.isStringLiteral(item) ? item.text : undefined];
  });
}

/** Names of the labels in every `labels: …` below a node. */
function labelsIn(node, declared) {
  const labels = [];
  walk(node, (each) => {
    if (ts.isPropertyAssignment(each) && each.name.getText() === 'labels')
      labels.push(...membersOf(each.initializer, declared));
  });
  return [...new Set(labels)];
}

function membersOf(node, declared) {
  if (node === undefined) return [];
  if (ts.isCallExpression(node)) return calledMembers(node.expression.getText(), declared);
  if (!ts.isObjectLiteralExpression(node)) return [];
  return node.properties.flatMap((each) =>
    ts.isSpreadAssignment(each) ? membersOf(each.expression, declared) : [each.name.getText()],
  );
}

/** Members of the object that a function returns. */
function calledMembers(name, declared) {
  if (externalLabels[name] !== undefined) return externalLabels[name];
  const members = [];
  const body = declared.get(name);
  if (body === undefined) throw new Error(`cannot read the labels that ${name} returns`);
  walk(body, (each) => {
    if (ts.isReturnStatement(each)) members.push(...membersOf(each.expression, declared));
  });
  return members;
}
