// Package account holds the settings by which every program of Isochrone reaches the one storage
// account of its environment: a connection string (Azurite, or a key), or the account's name
// together with an Entra ID identity.
package account

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// The settings' names in the environment of every program.
const (
	EnvConnectionString = "ISOCHRONE_STORAGE_CONNECTION_STRING"
	EnvAccountName      = "ISOCHRONE_STORAGE_ACCOUNT"
	EnvClientID         = "AZURE_CLIENT_ID" // of a user-assigned managed identity
	EnvEnvironment      = "ISOCHRONE_ENVIRONMENT"
)

var nameForm = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// Account says how the storage account is reached: ConnectionString, or Name with an identity.
type Account struct {
	ConnectionString string
	Name             string
}

// FromEnv reads the settings.
func FromEnv(getenv func(string) string) (Account, error) {
	a := Account{ConnectionString: getenv(EnvConnectionString), Name: getenv(EnvAccountName)}
	switch {
	case a.ConnectionString == "" && a.Name == "":
		return Account{}, fmt.Errorf("no storage account: set %s, or %s to use an identity", EnvConnectionString, EnvAccountName)
	case a.ConnectionString != "" && a.Name != "":
		return Account{}, fmt.Errorf("both %s and %s are set: keep one", EnvConnectionString, EnvAccountName)
	case a.ConnectionString == "UseDevelopmentStorage=true":
		return Account{}, fmt.Errorf("%s: the SDK refuses the shortcut UseDevelopmentStorage=true: write the whole connection string", EnvConnectionString)
	case a.Name != "" && !nameForm.MatchString(a.Name):
		return Account{}, fmt.Errorf("%s: %q is not a storage account's name (3 to 24 lower-case letters and digits)", EnvAccountName, a.Name)
	}
	if err := checkEndpoints(a.ConnectionString); err != nil {
		return Account{}, err
	}
	return a, nil
}

// Credential is the identity to use when there is no connection string: in Azure the managed
// identity (AZURE_CLIENT_ID names a user-assigned one), at a terminal that of az login.
func (a Account) Credential() (azcore.TokenCredential, error) {
	if a.Name == "" {
		return nil, errors.New("the account is reached by connection string, not by identity")
	}
	c, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: azcore.ClientOptions{Retry: tokenTries}})
	if err != nil {
		return nil, fmt.Errorf("finding an identity for account %q: %w", a.Name, err)
	}
	return identity{c, a.Name}, nil
}

// BlobURL is the account's blob endpoint in the public cloud.
func (a Account) BlobURL() string { return "https://" + a.Name + ".blob.core.windows.net/" }

// TableURL is the account's table endpoint in the public cloud.
func (a Account) TableURL() string { return "https://" + a.Name + ".table.core.windows.net/" }
