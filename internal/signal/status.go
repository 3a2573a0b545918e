package signal

import "strings"

// status is what a request's code says of it.
type status int

const (
	// statusNone: the code says nothing, as where a connection broke before the response.
	statusNone status = iota
	statusServed
	statusFailed
)

// statusOfHTTP reads an HTTP status, or the class of one such as 5xx.
func statusOfHTTP(code string) status {
	switch {
	case len(code) != 3 || code[0] < '1' || code[0] > '5':
		return statusNone
	case code[0] == '5':
		return statusFailed
	}
	return statusServed
}

// codesOfGRPC says of each gRPC code whether it is the server's failure: the six that OpenTelemetry's conventions call an error of the
// server (https://opentelemetry.io/docs/specs/semconv/rpc/grpc/). The others tell a client what it did wrong.
var codesOfGRPC = map[string]status{
	"OK": statusServed, "CANCELED": statusServed, "UNKNOWN": statusFailed, "INVALIDARGUMENT": statusServed,
	"DEADLINEEXCEEDED": statusFailed, "NOTFOUND": statusServed, "ALREADYEXISTS": statusServed, "PERMISSIONDENIED": statusServed,
	"RESOURCEEXHAUSTED": statusServed, "FAILEDPRECONDITION": statusServed, "ABORTED": statusServed, "OUTOFRANGE": statusServed,
	"UNIMPLEMENTED": statusFailed, "INTERNAL": statusFailed, "UNAVAILABLE": statusFailed, "DATALOSS": statusFailed,
	"UNAUTHENTICATED": statusServed, "CANCELLED": statusServed,

	"0": statusServed, "1": statusServed, "2": statusFailed, "3": statusServed, "4": statusFailed, "5": statusServed, "6": statusServed,
	"7": statusServed, "8": statusServed, "9": statusServed, "10": statusServed, "11": statusServed, "12": statusFailed,
	"13": statusFailed, "14": statusFailed, "15": statusFailed, "16": statusServed,
}

// statusOfGRPC reads a gRPC code as DeadlineExceeded (go-grpc-middleware), DEADLINE_EXCEEDED or 4 (OpenTelemetry, new and old).
func statusOfGRPC(code string) status {
	return codesOfGRPC[strings.ToUpper(strings.ReplaceAll(code, "_", ""))]
}
