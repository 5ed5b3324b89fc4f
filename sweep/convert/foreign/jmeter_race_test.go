//go:build race

package foreign

func init() { raceEnabled = true }
