package main

import "strings"

// suits are the licences whose code may be part of a program under Apache-2.0.
var suits = map[string]bool{"Apache-2.0": true, "MIT": true, "BSD-2-Clause": true, "BSD-3-Clause": true, "ISC": true, "0BSD": true, "BlueOak-1.0.0": true,
	"Unlicense": true} // the last is a dedication to the public

// phrases are the sentences by which a licence's text is known, all of one needed. What is more special
// comes first: the third clause makes a BSD licence of two into one of three.
var phrases = []struct {
	licence string
	all     []string
}{
	{"GPL", []string{"gnu general public license"}},
	{"LGPL", []string{"gnu lesser general public license"}},
	{"MPL-2.0", []string{"mozilla public license"}},
	{"Apache-2.0", []string{"apache license", "version 2.0"}},
	{"MIT", []string{"permission is hereby granted, free of charge", "the software is provided \"as is\""}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "the names of its contributors"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"}},
}

// recognise names the licence of a text; empty when it is of none that is known.
func recognise(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
next:
	for _, p := range phrases {
		for _, phrase := range p.all {
			if !strings.Contains(text, phrase) {
				continue next
			}
		}
		return p.licence
	}
	return ""
}
