package codegen

import (
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/ggmlc/ggmlc"
)

// devicesMain starts the program of package devices.
const devicesMain = `package main

import (
	"os"

	"` + ModulePath + `/cmd/ggmlc/devices"
)

func main() { os.Exit(devices.Main()) }
`

// BuildDevices builds the program of cmd/ggmlc/devices for this machine, as Build builds those of models.
func BuildDevices(ctx context.Context, out string) error {
	return buildTree(ctx, BuildOptions{Out: out, GOOS: runtime.GOOS, GOARCH: runtime.GOARCH}, writeDevicesTree)
}

// writeDevicesTree writes a module for the program, and the sources of this module as its dependency.
func writeDevicesTree(dir string) error {
	own := filepath.Join(dir, "ggmlc")
	if err := WriteSources(own); err != nil {
		return err
	}
	if err := writeTravelers(own, ggmlc.DevicesSources); err != nil {
		return err
	}
	return writeFiles(dir, []SourceFile{
		{"go.mod", []byte(buildGoMod + DriverMod)}, {"go.sum", []byte(DriverSum)}, {"main.go", []byte(devicesMain)},
	})
}

// DevicesID identifies the program that BuildDevices builds by its sources.
func DevicesID() string {
	h := sha256.New()
	fmt.Fprintf(h, "devices %s/%s\n%s%s", runtime.GOOS, runtime.GOARCH, devicesMain, DriverSum)
	for _, from := range []embed.FS{ggmlc.Sources, ggmlc.DevicesSources} {
		err := eachTraveler(from, func(path string, data []byte) error {
			_, err := fmt.Fprintf(h, "%s %d\n%s", path, len(data), data)
			return err
		})
		if err != nil {
			panic("codegen: embedded files: " + err.Error())
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}
