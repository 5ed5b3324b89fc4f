// Package tables keeps results, the ledger of sweeps and what is known of the probers in Azure
// Tables: names, keys and columns live here and nowhere else.
//
// One table a month holds the runs, so that retention drops whole tables. Every name holds the
// environment, and a Store refuses what belongs to another one.
//
// The service has limits and habits that the emulator does not show; this package holds to all
// of them on its own side (see entity.go, batch.go and retry.go).
package tables
