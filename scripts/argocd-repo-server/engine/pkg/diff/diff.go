// Package diff has the one name that Argo CD's kubectl helpers mention; the repo-server compares nothing.
package diff

type KubeApplier interface{}
