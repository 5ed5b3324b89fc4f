// Package alerts finds what is worth telling in what is stored, and tells it once: when it begins and when it
// is over.
//
// What is found is held against what was told: an alert that lasts has a claim in the table, and
// whoever changes the claim's state writes the alert's row and the log line. Two programs at once, and one
// that is cut off between any two writes, therefore tell nothing twice and keep nothing back; only after
// a crash between a line and the note that it was written may the line come again.
package alerts
