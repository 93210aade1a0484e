// Package kube reads manifests, and names kinds. Its kubectl talks to no cluster: the repo-server has none.
package kube

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	sigs "sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/utils/tracing"
)

const (
	DaemonSetKind   = "DaemonSet"
	DeploymentKind  = "Deployment"
	JobKind         = "Job"
	ReplicaSetKind  = "ReplicaSet"
	StatefulSetKind = "StatefulSet"
)

type ResourceKey struct {
	Group     string
	Kind      string
	Namespace string
	Name      string
}

func NewResourceKey(group, kind, namespace, name string) ResourceKey {
	return ResourceKey{Group: group, Kind: kind, Namespace: namespace, Name: name}
}

type APIResourceInfo struct {
	GroupKind            schema.GroupKind
	GroupVersionResource schema.GroupVersionResource
}

func IsCRD(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind()
	return kind.Group == "apiextensions.k8s.io" && kind.Kind == "CustomResourceDefinition"
}

// SplitYAML gives the objects of a stream of YAML documents; empty ones are left out.
func SplitYAML(text []byte) ([]*unstructured.Unstructured, error) {
	documents, err := SplitYAMLToString(text)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, document := range documents {
		object := &unstructured.Unstructured{}
		if err := sigs.Unmarshal([]byte(document), object); err != nil {
			return objects, fmt.Errorf("failed to unmarshal manifest: %w", err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// SplitYAMLToString gives each document of a stream as JSON; empty ones are left out.
func SplitYAMLToString(text []byte) ([]string, error) {
	const lookAhead = 4096
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), lookAhead)
	var documents []string
	for {
		var raw runtime.RawExtension
		switch err := decoder.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return documents, fmt.Errorf("failed to unmarshal manifest: %w", err)
		}
		if document := bytes.TrimSpace(raw.Raw); len(document) > 0 && string(document) != "null" {
			documents = append(documents, string(document))
		}
	}
}

var errNoCluster = errors.New("this build has no client for clusters")

type resourceFilter interface {
	IsExcludedResource(group, kind, cluster string) bool
}

type Kubectl interface {
	GetServerVersion(config *rest.Config) (string, error)
	GetAPIResources(config *rest.Config, preferred bool, filter resourceFilter) ([]APIResourceInfo, error)
}

type OnKubectlRunFunc func(command string) (func(), error)

type KubectlCmd struct {
	Log          logr.Logger
	Tracer       tracing.Tracer
	OnKubectlRun OnKubectlRunFunc
}

func (*KubectlCmd) GetServerVersion(*rest.Config) (string, error) { return "", errNoCluster }

func (*KubectlCmd) GetAPIResources(*rest.Config, bool, resourceFilter) ([]APIResourceInfo, error) {
	return nil, errNoCluster
}

func (*KubectlCmd) ManageServerSideDiffDryRuns(*rest.Config) (diff.KubeApplier, func(), error) {
	return nil, nil, errNoCluster
}
