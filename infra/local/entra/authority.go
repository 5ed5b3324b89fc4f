package entra

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is a certificate authority that lives as long as a test: its key is never written.
type authority struct {
	Roots     string // PEM file with the authority's own certificate
	Cert, Key string // PEM files of a server of the names
}

// newAuthority makes an authority that signs one certificate for the names and 127.0.0.1, in files in dir.
func newAuthority(dir string, names ...string) (authority, error) {
	a := authority{filepath.Join(dir, "roots.pem"), filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return a, fmt.Errorf("making the authority's key: %w", err)
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return a, fmt.Errorf("making the server's key: %w", err)
	}
	from, until := time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "isochrone throw-away authority"}, NotBefore: from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	server := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: names[0]}, NotBefore: from, NotAfter: until, DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		return a, fmt.Errorf("making the authority's certificate: %w", err)
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, root, serverKey.Public(), rootKey)
	if err != nil {
		return a, fmt.Errorf("making the server's certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		return a, fmt.Errorf("encoding the server's key: %w", err)
	}
	for _, f := range []struct {
		name, kind string
		der        []byte
	}{{a.Roots, "CERTIFICATE", rootDER}, {a.Cert, "CERTIFICATE", serverDER}, {a.Key, "PRIVATE KEY", keyDER}} {
		if err := os.WriteFile(f.name, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der}), 0o600); err != nil {
			return a, fmt.Errorf("writing %q: %w", f.name, err)
		}
	}
	return a, nil
}
