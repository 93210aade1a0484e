import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Creates a Git repository with one folder per Application; every fourth object is a Service, every
 * fifth a Deployment.
 */
export function makeRepository(folder: string, applications: Readonly<Record<string, number>>): string {
  for (const [name, objects] of Object.entries(applications)) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'all.yaml'), manifestsOf(name, objects));
  }
  const git = (...args: string[]): void => {
    const identity = ['-c', 'user.name=bench', '-c', 'user.email=bench@example.com'];
    execFileSync('git', ['-C', folder, ...identity, ...args], { stdio: 'ignore' });
  };
  git('init', '--quiet', '--initial-branch=main');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'all');
  return `file://${folder}`;
}

/** The manifests of an Application, the first one a ConfigMap. */
export function manifestsOf(app: string, objects: number): string {
  return Array.from({ length: objects }, (_object, i) => manifestOf(app, i)).join('---\n');
}

function manifestOf(app: string, i: number): string {
  const name = `${app}-${i}`;
  if (i % 4 === 1)
    return `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec: {selector: {app: ${name}}, ports: [{port: 80}]}\n`;
  if (i % 5 === 2) return deploymentYaml(name);
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {key: "${i}", more: some text that is not so short}\n`;
}

/** Without replicas, because no workload controller runs here. */
function deploymentYaml(name: string): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, labels: {app: ${name}}}
spec:
  replicas: 0
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers:
      - name: main
        image: registry.example.com/team/${name}:1
        args: [--listen=:8080]
        env: [{name: MODE, value: production}, {name: LEVEL, value: info}]
        ports: [{containerPort: 8080, name: http}]
        resources: {limits: {memory: 128Mi}, requests: {cpu: 50m, memory: 64Mi}}
        readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 10}
`;
}
