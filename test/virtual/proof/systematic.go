package proof

// onReads are the faults that mean something where nothing is written; the others come to the same.
var onReads = []Fault{FaultError, FaultKilledBefore, FaultSlowBefore, FaultTwoManagers}

// Systematic are the runs of one trial in which nothing goes wrong but one fault at one call, for every fault and every call that the trial makes.
func Systematic() []Options {
	plain := Run(Options{Seed: 1, Strike: &Strike{}})
	writes := map[int]bool{}
	for _, call := range plain.Writes {
		writes[call] = true
	}
	var runs []Options
	for call := 1; call <= plain.Calls; call++ {
		faults := onReads
		if writes[call] {
			faults = Faults
		}
		for _, fault := range faults {
			runs = append(runs, Options{Seed: 1, Strike: &Strike{Fault: fault, Call: call}})
		}
	}
	return runs
}
