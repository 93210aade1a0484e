import ts from 'typescript';

/**
 * Removes the calls of esbuild's `keepNames` that set the name that a function has anyway. They run
 * each time a closure is made, and take 2.5 % of the CPU time of a first sync. The calls for
 * functions that the bundler renamed, and for classes, stay.
 */
export function withoutNameCalls(text) {
  const file = ts.createSourceFile('bundle.js', text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const cuts = [];
  visit(file);
  let [result, end] = ['', 0];
  for (const [from, to] of cuts.sort(([a], [b]) => a - b)) {
    result += text.slice(end, from);
    end = to;
  }
  return result + text.slice(end);

  function visit(node) {
    if (isNameCall(node)) removeCall(node);
    ts.forEachChild(node, visit);
  }

  function removeCall(call) {
    const [target, name] = call.arguments;
    if (ts.isIdentifier(target) && ts.isExpressionStatement(call.parent)) {
      if (target.text === name.text) cuts.push([call.parent.getStart(file), call.parent.end]);
    } else if (nameOf(target, call) === name.text) {
      cuts.push([call.getStart(file), target.getStart(file)], [target.end, call.end]);
    }
  }
}

function isNameCall(node) {
  return (
    ts.isCallExpression(node) &&
    ts.isIdentifier(node.expression) &&
    node.expression.text === '__name' &&
    node.arguments.length === 2 &&
    ts.isStringLiteral(node.arguments[1])
  );
}

/** The name that a function has without the call: its own, or that of what it is assigned to. */
function nameOf(target, call) {
  if (!ts.isArrowFunction(target) && !ts.isFunctionExpression(target)) return undefined;
  if (ts.isFunctionExpression(target) && target.name !== undefined) return target.name.text;
  const { parent } = call;
  const isNamed = (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) && parent.initializer === call;
  return isNamed && (ts.isIdentifier(parent.name) || ts.isStringLiteral(parent.name)) ? parent.name.text : undefined;
}
