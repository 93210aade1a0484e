// Package io says where temporary secrets go.
package io

import "os"

// TempDir is memory where the system has a folder for that, else the usual one.
var TempDir = func() string {
	if folder, err := os.Stat("/dev/shm"); err == nil && folder.IsDir() {
		return "/dev/shm"
	}
	return ""
}()
