// Package kubemeta reads what identifies an object out of its JSON. The engine that can be had is older than this package; written anew from how
// Argo CD 3.6 uses it.
package kubemeta

import (
	"encoding/json"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/utils/kube"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// KubeJson is the identity of an object.
type KubeJson struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	empty bool
}

// NewKubeJson reads an object, or null, which is empty.
func NewKubeJson(data []byte) (*KubeJson, error) {
	var found *KubeJson
	if err := json.Unmarshal(data, &found); err != nil {
		return nil, err
	}
	if found == nil {
		return &KubeJson{empty: true}, nil
	}
	return found, nil
}

// IsEmpty tells whether there is no object.
func (k *KubeJson) IsEmpty() bool { return k.empty }

// GetKind is the kind.
func (k *KubeJson) GetKind() string { return k.Kind }

// GroupVersionKind is the kind with its group and version.
func (k *KubeJson) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(k.APIVersion, k.Kind)
}

// GetResourceKey names the object.
func GetResourceKey(k *KubeJson) kube.ResourceKey {
	gvk := k.GroupVersionKind()
	return kube.NewResourceKey(gvk.Group, gvk.Kind, k.Metadata.Namespace, k.Metadata.Name)
}
