// Our own stand-in for the few functions and constants of Argo CD's engine that its repo-server uses: the engine's module is not to be had from
// every module proxy. What decides manifests (Helm, Kustomize, Jsonnet, Git, overrides, parameters) lies in Argo CD's own module, which is real.
module github.com/argoproj/argo-cd/gitops-engine/v3

go 1.27.0
