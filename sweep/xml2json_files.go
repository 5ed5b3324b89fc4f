package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// job is one file to convert, and where to. With a refusal there is nothing left to do.
type job struct {
	from, to string
	refusal  *xmlRefusal
}

// gather lists the files of the arguments in the order in which they stand there, and those of a folder
// by name. What a folder holds stays laid out as it is.
func (x *xml2json) gather(args []string) ([]job, error) {
	var jobs []job
	for _, name := range args {
		if name == "-" {
			return nil, usage("name a file, or leave --out out and redirect standard output", "standard input has no name for a file in --out")
		}
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, usage("", "%w", err)
		case info.IsDir():
			jobs = append(jobs, x.walk(name)...)
		default:
			jobs = append(jobs, job{from: name, to: filepath.Join(x.out, jsonName(filepath.Base(name)))})
		}
	}
	taken := make(map[string]string, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		if j.refusal != nil {
			continue
		}
		if other, ok := taken[j.to]; ok {
			j.refusal = &xmlRefusal{j.from, "it would become " + quotedPath(j.to) + ", as " + quotedPath(other) + " does", "convert them into two folders"}
			continue
		}
		taken[j.to] = j.from
	}
	return jobs, nil
}

// walk lists the files of a folder. What cannot be looked at is a refusal.
func (x *xml2json) walk(root string) (jobs []job) {
	out, _ := os.Stat(x.out) // the folder for the answers may lie inside, and may not be there yet
	// The function below gives no errors, so that WalkDir has none. A root that is a link is followed for
	// the separator behind it.
	_ = filepath.WalkDir(root+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			jobs = append(jobs, job{from: path, refusal: unreadable(path, err)})
			return nil
		}
		if entry.IsDir() {
			if info, err := entry.Info(); err == nil && out != nil && os.SameFile(info, out) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		if !namedXML(path) {
			is, err := beginsAsXML(path)
			if err != nil {
				jobs = append(jobs, job{from: path, refusal: unreadable(path, err)})
			}
			if !is {
				return nil
			}
		}
		within, err := filepath.Rel(root, path)
		if err != nil { // a path that was made from root lies below it
			within = filepath.Base(path)
		}
		jobs = append(jobs, job{from: path, to: filepath.Join(x.out, filepath.Dir(within), jsonName(filepath.Base(path)))})
		return nil
	})
	return jobs
}

func unreadable(path string, err error) *xmlRefusal {
	return &xmlRefusal{path, "reading it: " + err.Error(), "see that it is there and that you may read it"}
}

// The ends of names that XML goes by.
var xmlEnds = []string{".xml", ".xml.gz"}

func namedXML(path string) bool {
	_, ok := cutXMLEnd(path)
	return ok
}

func cutXMLEnd(name string) (string, bool) {
	for _, end := range xmlEnds {
		if n := len(name) - len(end); n > 0 && strings.EqualFold(name[n:], end) {
			return name[:n], true
		}
	}
	return name, false
}

// jsonName is what the JSON of a file is called.
func jsonName(base string) string {
	base, _ = cutXMLEnd(base)
	return base + ".json"
}

// beginsAsXML says whether a file's first character, behind a byte-order mark and white space, is <.
func beginsAsXML(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close() // it is only read from
	var head [256]byte
	n, _ := f.Read(head[:]) // an empty file, and one that fails here, begins with nothing
	return looksLikeXML(head[:n]), nil
}

// looksLikeXML takes UTF-16 and UTF-32 for what they are: the zeros are of no matter here.
func looksLikeXML(head []byte) bool {
	for _, mark := range []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff", "\x00\x00\xfe\xff"} {
		if rest, ok := bytes.CutPrefix(head, []byte(mark)); ok {
			head = rest
			break
		}
	}
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n\x00"), []byte("<"))
}

// quotedPath is a file's name inside a sentence.
func quotedPath(path string) string { return `"` + visible(path) + `"` }
