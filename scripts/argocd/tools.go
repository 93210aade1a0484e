//go:build tools

// Argo CD as it is: one binary of many names. Its engine is not published together with it: e2e-build.mjs takes the newest one that is, under the
// name that this one asks for it by, and ./engine has what that lacks.
package tools

import _ "github.com/argoproj/argo-cd/v3/cmd"
