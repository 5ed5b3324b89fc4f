package main

import (
	"slices"
	"testing"
)

func TestLicencesAreKnownByTheirText(t *testing.T) {
	const bsd = "Redistribution and use in source and binary\n forms, with or without modification, are permitted"
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004": "Apache-2.0",
		bsd:                                     "BSD-2-Clause",
		bsd + " Neither the name of the author": "BSD-3-Clause",
		"GNU GENERAL PUBLIC LICENSE Version 3":  "GPL",
		"All rights reserved.":                  "",
		"Permission is hereby granted, free of charge, to X": "",
	} {
		if got := recognise(text); got != want || want == "GPL" && suits[got] {
			t.Errorf("%.40q is %q, want %q", text, got, want)
		}
	}
}

func TestPackagesThatAreShippedAreTold(t *testing.T) {
	const lock = `{"packages": {"": {"name": "page"}, "node_modules/plot": {"version": "1.0.0", "license": "ISC"}, "node_modules/bundler": {"version": "2.0.0", "license": "MIT", "dev": true},
		"node_modules/plot/node_modules/@scope/inner": {"version": "3.0.0", "license": "GPL-3.0-only"}}}`
	list, err := parse([]byte(lock))
	if err != nil {
		t.Fatal(err)
	}
	shipped, tools := split(list)
	if want := []npmPackage{{"@scope/inner", "3.0.0", "GPL-3.0-only", false}, {"plot", "1.0.0", "ISC", false}}; !slices.Equal(shipped, want) {
		t.Errorf("shipped %v, want %v", shipped, want)
	}
	if len(tools) != 1 || tools[0].name != "bundler" {
		t.Errorf("tools %v", tools)
	}
	if got := unsuited(list); len(got) != 1 || got[0] != `npm package @scope/inner: licence "GPL-3.0-only" does not suit, or is not known` {
		t.Errorf("unsuited %q", got)
	}
	if _, err := parse([]byte("{")); err == nil {
		t.Error("a lock file that is no JSON was read")
	}
}
