package simulation

// Fault is what is wrong, or better, with the processes that have it, whatever their settings do. The zero value is none.
type Fault struct {
	// SlowRequests is the share of requests that take ten times as long.
	SlowRequests float64
	// Latency, CPU and GCCPU are relative: 0.1 makes each request take 10 % longer, and cost 10 % more CPU time beside the collector's, and
	// each collection cost 10 % more. Below 0 they are gains.
	Latency, CPU, GCCPU float64
	// Errors is the share of requests that fail.
	Errors float64
}

// applied is the service with the fault.
func (f Fault) applied(s Service) Service {
	s.OutlierShare += f.SlowRequests
	s.MedianSeconds *= 1 + f.Latency
	s.RequestCPUSeconds *= 1 + f.CPU
	s.MarkSecondsPerByte *= 1 + f.GCCPU
	s.CycleSeconds *= 1 + f.GCCPU
	s.FailedShare += f.Errors
	return s
}
