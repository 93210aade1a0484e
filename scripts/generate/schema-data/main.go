// Prints the schemas and defaults of Kubernetes' built-in types as JSON for
// scripts/generate/schema-data.mjs, read from the API server's own code and its OpenAPI document.
// With the argument "corpus" it prints raw manifests of every kind, each with the result of a round
// trip through its type and of defaulting; with "merges", server-side applies with the results of
// the server's field manager.
package main

import (
	"encoding/json"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	admissionregistration "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	apiserverinternal "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	apps "k8s.io/kubernetes/pkg/apis/apps/install"
	autoscaling "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	batch "k8s.io/kubernetes/pkg/apis/batch/install"
	certificates "k8s.io/kubernetes/pkg/apis/certificates/install"
	coordination "k8s.io/kubernetes/pkg/apis/coordination/install"
	core "k8s.io/kubernetes/pkg/apis/core/install"
	discovery "k8s.io/kubernetes/pkg/apis/discovery/install"
	events "k8s.io/kubernetes/pkg/apis/events/install"
	flowcontrol "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	networking "k8s.io/kubernetes/pkg/apis/networking/install"
	node "k8s.io/kubernetes/pkg/apis/node/install"
	policy "k8s.io/kubernetes/pkg/apis/policy/install"
	rbac "k8s.io/kubernetes/pkg/apis/rbac/install"
	resource "k8s.io/kubernetes/pkg/apis/resource/install"
	scheduling "k8s.io/kubernetes/pkg/apis/scheduling/install"
	storage "k8s.io/kubernetes/pkg/apis/storage/install"
	storagemigration "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

// newScheme registers the kinds of Argo CD's scheme (gitops-engine/pkg/utils/kube/scheme), without
// kinds that are not resources.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, install := range []func(*runtime.Scheme){
		core.Install, apps.Install, batch.Install, autoscaling.Install, networking.Install, policy.Install, rbac.Install,
		storage.Install, scheduling.Install, admissionregistration.Install, apiserverinternal.Install, certificates.Install,
		coordination.Install, discovery.Install, events.Install, flowcontrol.Install, node.Install, resource.Install,
		storagemigration.Install, apiextensions.Install, apiregistration.Install,
	} {
		install(scheme)
	}
	return scheme
}

// keptKinds returns the kinds that have metadata and an external version.
func keptKinds(scheme *runtime.Scheme) []schema.GroupVersionKind {
	var kept []schema.GroupVersionKind
	for gvk := range scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || gone[gvk.GroupVersion().String()] {
			continue
		}
		object, err := scheme.New(gvk)
		if err != nil {
			panic(err)
		}
		if _, is := object.(metav1.Object); is && !transient[gvk.Kind] {
			kept = append(kept, gvk)
		}
	}
	return kept
}

// gone lists versions that no API server has served since 1.22.
var gone = map[string]bool{
	"apps/v1beta1": true, "apps/v1beta2": true, "apiextensions.k8s.io/v1beta1": true, "apiregistration.k8s.io/v1beta1": true,
	"rbac.authorization.k8s.io/v1alpha1": true, "storage.k8s.io/v1alpha1": true,
}

// transient lists kinds that cannot be stored.
var transient = map[string]bool{
	"Binding": true, "DeleteOptions": true, "Eviction": true, "Scale": true, "RangeAllocation": true, "PodStatusResult": true,
	"SerializedReference": true, "ComponentStatus": true, "WatchEvent": true, "DeploymentRollback": true, "TokenRequest": true, "Simple": true,
}

func main() {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if len(os.Args) > 1 && os.Args[1] == "corpus" {
		writeCorpus(encoder)
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "merges" {
		writeMerges(encoder)
		return
	}
	if err := encoder.Encode(describe()); err != nil {
		panic(err)
	}
}
