package main

import (
	"encoding/json"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

type projectCase struct {
	Project    v1alpha1.AppProject `json:"project"`
	Source     string              `json:"source"`
	Cluster    *v1alpha1.Cluster   `json:"cluster"`
	Namespace  string              `json:"namespace"`
	Scoped     []*v1alpha1.Cluster `json:"scoped"`
	Group      string              `json:"group"`
	Kind       string              `json:"kind"`
	Name       string              `json:"name"`
	Namespaced bool                `json:"namespaced"`
}

type projectAnswer struct {
	Source      bool `json:"source"`
	Destination bool `json:"destination"`
	Kind        bool `json:"kind"`
}

func projectArea(input json.RawMessage) (any, error) {
	var c projectCase
	if err := json.Unmarshal(input, &c); err != nil {
		return nil, err
	}
	scoped := func(string) ([]*v1alpha1.Cluster, error) { return c.Scoped, nil }
	destination, err := c.Project.IsDestinationPermitted(c.Cluster, c.Namespace, scoped)
	if err != nil {
		return nil, err
	}
	return projectAnswer{
		Source:      c.Project.IsSourcePermitted(v1alpha1.ApplicationSource{RepoURL: c.Source}),
		Destination: destination,
		Kind:        c.Project.IsGroupKindNamePermitted(schema.GroupKind{Group: c.Group, Kind: c.Kind}, c.Name, c.Namespaced),
	}, nil
}

type windowsCase struct {
	Windows     v1alpha1.SyncWindows            `json:"windows"`
	Name        string                          `json:"name"`
	Destination v1alpha1.ApplicationDestination `json:"destination"`
	Manual      bool                            `json:"manual"`
	// StartedBefore is the age of the operation in milliseconds; negative: there is none.
	StartedBefore int64 `json:"startedBefore"`
}

type windowsAnswer struct {
	Allowed bool   `json:"allowed"`
	Error   string `json:"error,omitempty"`
	// Now is the time of the decision in milliseconds; the original takes no other.
	Now int64 `json:"now"`
}

func windowsArea(input json.RawMessage) (any, error) {
	var c windowsCase
	if err := json.Unmarshal(input, &c); err != nil {
		return nil, err
	}
	app := &v1alpha1.Application{}
	app.Name = c.Name
	app.Spec.Destination = c.Destination
	now := time.Now()
	var started *time.Time
	if c.StartedBefore >= 0 {
		at := time.UnixMilli(now.UnixMilli() - c.StartedBefore)
		started = &at
	}
	allowed, err := c.Windows.Matches(app).CanSync(c.Manual, started)
	answer := windowsAnswer{Allowed: allowed, Now: now.UnixMilli()}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer, nil
}

type cronCase struct {
	Schedule string `json:"schedule"`
	From     int64  `json:"from"`
}

// cronArea answers the next activation in milliseconds, null without one.
func cronArea(input json.RawMessage) (any, error) {
	var c cronCase
	if err := json.Unmarshal(input, &c); err != nil {
		return nil, err
	}
	schedule, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(c.Schedule)
	if err != nil {
		return nil, err
	}
	next := schedule.Next(time.UnixMilli(c.From).UTC())
	if next.IsZero() {
		return map[string]any{"never": true}, nil
	}
	return map[string]any{"next": next.UnixMilli()}, nil
}
