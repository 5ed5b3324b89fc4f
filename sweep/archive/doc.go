// Package archive keeps in blob storage what the app must not lose or do twice: the
// configuration, the plans, what each prober is told, the inbox, every document as it came, the
// samples as Parquet, and what could not be read.
//
// Every container's name holds the environment, and a Store refuses names of another one. What
// is written once is written with If-None-Match, and what is changed with If-Match; an answer
// that was lost on the way is told apart from somebody else's write by comparing what is stored.
package archive
