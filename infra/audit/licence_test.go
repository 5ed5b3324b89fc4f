package main

import "testing"

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
