// Package questions serves the Query function: one table of questions with their parameters drives the
// parsing, the checks and the description (OpenAPI 3.1) of what can be asked.
//
// It reads storage and never writes. Who may ask is decided before a request comes here, by the host.
package questions
