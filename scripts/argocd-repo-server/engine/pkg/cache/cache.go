// Package cache names what settings and validation ask for; the repo-server itself has no cluster cache.
package cache

import "k8s.io/apimachinery/pkg/runtime/schema"

const (
	RespectRbacDisabled = iota
	RespectRbacNormal
	RespectRbacStrict
)

type nothingFiltered struct{}

func (nothingFiltered) IsExcludedResource(_, _, _ string) bool { return false }

// IsExcludedGroupKind is asked for the kinds of a whole group.
func (nothingFiltered) IsExcludedGroupKind(schema.GroupKind) bool { return false }

// NewNoopSettings excludes nothing.
func NewNoopSettings() nothingFiltered { return nothingFiltered{} }
