// Argo CD's repo-server, and the small program that git asks for a password (Argo CD has both in one binary of many names). Its other components
// need far more of the engine than ./engine has.
package main

import (
	"os"
	"path/filepath"

	gitaskpass "github.com/argoproj/argo-cd/v3/cmd/argocd-git-ask-pass/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/common"
)

func main() {
	name := filepath.Base(os.Args[0])
	if chosen := os.Getenv("ARGOCD_BINARY_NAME"); chosen != "" {
		name = chosen
	}
	command := reposerver.NewCommand()
	if name == common.CommandGitAskPass {
		command = gitaskpass.NewCommand()
	}
	if command.Execute() != nil {
		os.Exit(1)
	}
}
