//go:build race

package stack_test

var raceFlag = []string{"-race"}
