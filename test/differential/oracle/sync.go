package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	stdsync "sync"
	"unsafe"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/utils/kube/kubetest"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

type syncCase struct {
	Targets   []json.RawMessage `json:"targets"`
	Lives     []json.RawMessage `json:"lives"`
	Hooks     []json.RawMessage `json:"hooks"`
	Namespace string            `json:"namespace"`
	PruneLast bool              `json:"pruneLast"`
	SkipHooks bool              `json:"skipHooks"`
	Unserved  []string          `json:"unserved"`
}

type plannedTask struct {
	Phase string `json:"phase"`
	Wave  int    `json:"wave"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Prune bool   `json:"prune"`
	Live  bool   `json:"live"`
}

// syncTask mirrors the unexported struct of package sync at the pinned version.
type syncTask struct {
	phase          common.SyncPhase
	liveObj        *unstructured.Unstructured
	targetObj      *unstructured.Unstructured
	skipDryRun     bool
	syncStatus     common.ResultCode
	operationState common.OperationPhase
	message        string
	waveOverride   *int
}

//go:linkname getSyncTasks github.com/argoproj/argo-cd/gitops-engine/v3/pkg/sync.(*syncContext).getSyncTasks
func getSyncTasks(sc unsafe.Pointer, ctx context.Context) ([]*syncTask, bool)

//go:linkname waveOf github.com/argoproj/argo-cd/gitops-engine/v3/pkg/sync.(*syncTask).wave
func waveOf(task *syncTask) int

func syncArea(input json.RawMessage) (any, error) {
	var c syncCase
	if err := json.Unmarshal(input, &c); err != nil {
		return nil, err
	}
	config := &rest.Config{Host: discoveryServer().URL, QPS: 1e6, Burst: 1e6}
	objects := func(list []json.RawMessage) (all []*unstructured.Unstructured) {
		for _, object := range list {
			all = append(all, objectOf(object))
		}
		return all
	}
	pairs := sync.ReconciliationResult{Target: objects(c.Targets), Live: objects(c.Lives), Hooks: objects(c.Hooks)}
	kubectl := (&kubetest.MockKubectlCmd{})
	sc, cleanup, err := sync.NewSyncContext("abcdef0123", pairs, config, config, kubectl, c.Namespace,
		sync.WithLogr(logr.Discard()), sync.WithPruneLast(c.PruneLast), sync.WithSkipHooks(c.SkipHooks), sync.WithPrune(true))
	if err != nil {
		return nil, err
	}
	defer cleanup()
	// The second word of an interface is the pointer to its value.
	tasks, ok := getSyncTasks((*[2]unsafe.Pointer)(unsafe.Pointer(&sc))[1], context.Background())
	planned := []plannedTask{}
	for _, task := range tasks {
		object := task.targetObj
		if object == nil {
			object = task.liveObj
		}
		planned = append(planned, plannedTask{
			Phase: string(task.phase), Wave: waveOf(task), Kind: object.GetKind(), Name: object.GetName(),
			Prune: task.targetObj == nil, Live: task.liveObj != nil,
		})
	}
	return map[string]any{"tasks": planned, "valid": ok}, nil
}

// discoveryServer serves every kind of a case; the group version is all that the original asks for.
var discoveryServer = stdsync.OnceValue(func() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
		for kind, namespaced := range servedKinds {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: kind, Kind: kind, Namespaced: namespaced, Verbs: metav1.Verbs{"get", "list", "watch", "create", "delete"},
			})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}))
})

var servedKinds = map[string]bool{
	"Namespace": false, "CustomResourceDefinition": false, "ClusterRole": false, "ClusterRoleBinding": false,
	"PersistentVolume": false, "StorageClass": false, "IngressClass": false, "APIService": false,
	"ConfigMap": true, "Secret": true, "ServiceAccount": true, "Service": true, "Pod": true, "Job": true,
	"CronJob": true, "Deployment": true, "StatefulSet": true, "DaemonSet": true, "ReplicaSet": true,
	"Ingress": true, "Role": true, "RoleBinding": true, "PersistentVolumeClaim": true, "NetworkPolicy": true,
	"ResourceQuota": true, "LimitRange": true, "PodDisruptionBudget": true, "HorizontalPodAutoscaler": true,
	"Widget": true,
}
