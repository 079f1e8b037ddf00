//go:build !race

package vulkan_test

const raceDetector = false
