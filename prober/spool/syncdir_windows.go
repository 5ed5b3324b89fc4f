package spool

// syncDir does nothing: Windows has no such call for folders, and NTFS keeps its own journal of
// names.
func syncDir(string) error { return nil }
