package account

// Access is what came of asking for one place of a storage account, a container or a table.
type Access struct {
	Place string
	// Missing says that there is no such place yet.
	Missing bool
	// Denied says that the place was refused, for want of a role or for a wrong key.
	Denied bool
	// Err is why the place could not be read; nil where it could, or is Missing.
	Err error
}
