package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen"
)

// version returns the release of the module that this command was built from, or "devel" for a checkout. Generated
// packages contain it, so it must not change with every commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devel
	}
	return release(ours(info))
}

// ours returns the information with the module of this package as the main one, which it is not in a command of another
// module.
func ours(info *debug.BuildInfo) *debug.BuildInfo {
	for _, m := range info.Deps {
		if m.Path == codegen.ModulePath {
			own := *info
			own.Main, own.Settings = *m, nil
			if m.Replace != nil { // a folder
				own.Main.Version = ""
			}
			return &own
		}
	}
	return info
}

// exactVersion returns the version with the commit of the checkout, if Go has recorded it. Executables contain it.
func exactVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devel
	}
	return exact(ours(info))
}

// devel is the version of a build that is no release.
const devel = "devel"

// release returns the version of a release, or devel for other builds. In a checkout Go derives a version from the
// commit, with the suffix +dirty if files have changed: that is no release.
func release(info *debug.BuildInfo) string {
	v := info.Main.Version
	commit := setting(info, "vcs.revision")
	made := commit != "" && strings.Contains(v, short(commit))
	if v == "" || v == "("+devel+")" || made || strings.HasSuffix(v, "+dirty") {
		return devel
	}
	return v
}

// exact returns the release, or for a checkout its commit, with a + if files have changed.
func exact(info *debug.BuildInfo) string {
	v, commit := release(info), setting(info, "vcs.revision")
	if v != devel || commit == "" {
		return v
	}
	v += " " + short(commit)
	if setting(info, "vcs.modified") == "true" {
		v += "+"
	}
	return v
}

// short abbreviates a commit as Go does in versions.
func short(commit string) string {
	const digits = 12
	return commit[:min(digits, len(commit))]
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version of ggmlc and of the Go that built it",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "ggmlc %s %s %s/%s\n", exactVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
