package main

// figures are what came of a run, in the forms that they are printed in.
type figures interface {
	Text() []byte
	JSON() ([]byte, error)
	XML() ([]byte, error)
}

// printFigures prints them in the form that was asked for: text, unless one of the others was.
func printFigures(t *terminal, asJSON, asXML bool, f figures) error {
	var out []byte
	var err error
	switch {
	case asJSON:
		out, err = f.JSON()
	case asXML:
		out, err = f.XML()
	default:
		out = f.Text()
	}
	if err == nil {
		_, err = t.stdout.Write(out)
	}
	if err != nil {
		return failed("", "printing the figures: %w", err)
	}
	return nil
}
