// Package common has the names that the Application types are made of; the repo-server syncs nothing.
package common

import "github.com/argoproj/argo-cd/gitops-engine/v3/pkg/utils/kube"

type (
	HookType       string
	OperationPhase string
	ResultCode     string
	SyncPhase      string
)

const (
	AnnotationDeletionApproved = "argocd.argoproj.io/deletion-approved"

	ResultCodePruneSkipped ResultCode = "PruneSkipped"
)

type ResourceSyncResult struct {
	ResourceKey kube.ResourceKey
	Version     string
	Message     string
}
