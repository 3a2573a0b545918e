package main

import (
	"fmt"

	"github.com/gopacer/gopacer/internal/settings"
	"github.com/gopacer/gopacer/internal/verdict"
	"github.com/gopacer/gopacer/test/simulation"
)

// falseAlarms runs trials of a candidate that does nothing, and of candidates that do harm beside them: a test that cannot fire has no
// false alarms either.
func (e *evaluation) falseAlarms() []figure {
	var null []cell
	for _, layout := range []string{"3v3", "4v8", "5v5", "8v8"} {
		for _, spread := range []float64{0, 0.01, 0.03, 0.06} {
			null = append(null, cell{layout: layout, podSpread: spread, gogc: 100, slos: shopObjectives(), n: 120})
		}
	}
	endings, taken := e.run("aa", null)
	var promotions, harms []group
	for i, c := range null {
		promotions = append(promotions, tally(c, endings[i], promoted))
		harms = append(harms, tally(c, endings[i], harmed))
	}
	falsePromote := shareFigure("aa_false_promote", "share of trials without any effect that end Promoted", promotions, taken)
	falseHarm := shareFigure("aa_false_harm", "share of trials without any effect that end for harm", harms, taken)
	falsePromote.AtMost, falseHarm.AtMost = atMost(0.05), atMost(0.05)
	figures := []figure{falsePromote.judged(), falseHarm.judged()}
	for _, layout := range []string{"3v3", "4v8", "5v5", "8v8"} {
		one := merge(ofLayout(harms, layout))
		f := figure{Name: "aa_false_harm_" + layout, What: "the same, of this layout", Value: one.Share, Interval: &one.Interval, N: one.N, Seeds: taken, AtMost: atMost(0.05)}
		figures = append(figures, f.judged())
	}
	return append(figures, e.harmPower()...)
}

// unlikePods runs trials under a policy of tier Batch on pods that differ so much that one of tier Standard starts next to none.
func (e *evaluation) unlikePods() []figure {
	var cells []cell
	for _, layout := range []string{"3v3", "4v8", "5v5", "8v8"} {
		for _, gogc := range []settings.GOGC{100, gainGOGC} {
			c := cell{layout: layout, podSpread: 0.06, name: "Batch, nothing", gogc: gogc, slos: shopObjectives(), tier: &batchTier, n: 60}
			if gogc == gainGOGC {
				c.name, c.n = "Batch, gain 20%", 30
			}
			cells = append(cells, c)
		}
	}
	endings, taken := e.run("aa_batch", cells)
	var promotions, harms, gains []group
	for i, c := range cells {
		if c.gogc == gainGOGC {
			gains = append(gains, tally(c, endings[i], promoted))
			continue
		}
		promotions, harms = append(promotions, tally(c, endings[i], promoted)), append(harms, tally(c, endings[i], harmed))
	}
	figures := []figure{
		shareFigure("aa_batch_false_promote", "aa_false_promote at SD 6 % in tier Batch", promotions, taken),
		shareFigure("aa_batch_false_harm", "aa_false_harm at SD 6 % in tier Batch", harms, taken),
		shareFigure("power_batch_gain", "power_gain at SD 6 % in tier Batch", gains, taken),
	}
	figures[0].AtMost, figures[1].AtMost = atMost(0.05), atMost(0.05)
	for i := range figures {
		figures[i] = figures[i].judged()
	}
	return figures
}

func ofLayout(groups []group, layout string) []group {
	var of []group
	for _, g := range groups {
		if g.Layout == layout {
			of = append(of, g)
		}
	}
	return of
}

// harmPower is how often harm alone, without any gain, is called harm.
func (e *evaluation) harmPower() []figure {
	var cells []cell
	for _, layout := range []string{"3v3", "4v8", "8v8"} {
		for _, spread := range []float64{0.01, 0.03} {
			for _, harm := range []float64{0.1, 0.2} {
				cells = append(cells, cell{
					layout: layout, podSpread: spread, name: fmt.Sprintf("latency %+.0f%%", 100*harm), gogc: 100, fault: simulation.Fault{Latency: harm},
					slos: shopObjectives(), n: 40,
				})
			}
		}
	}
	endings, taken := e.run("aa_harm_power", cells)
	var groups []group
	for i, c := range cells {
		groups = append(groups, tally(c, endings[i], harmed))
	}
	return []figure{shareFigure("aa_harm_power", "share of trials with nothing but harm that end for harm: the power beside aa_false_harm", groups, taken).judged()}
}

// power runs trials with a gain of a fifth, and with a harm of a tenth beside it.
func (e *evaluation) power() []figure {
	cases := []struct {
		name  string
		fault simulation.Fault
		so    func(ending) bool
	}{
		{"gain 20%", simulation.Fault{}, promoted},
		{"gain 20%, latency +10%", simulation.Fault{Latency: 0.1}, reverted},
		{"gain 20%, CPU +10%", simulation.Fault{CPU: dearer(0.1)}, reverted},
	}
	var cells []cell
	var so []func(ending) bool
	for _, layout := range []string{"3v3", "4v8", "8v8"} {
		for _, spread := range []float64{0.01, 0.03, 0.06} {
			for _, one := range cases {
				n := 50
				if layout == "4v8" && spread == 0.03 {
					n = 300
				}
				cells = append(cells, cell{layout: layout, podSpread: spread, name: one.name, gogc: gainGOGC, fault: one.fault, slos: shopObjectives(), n: n})
				so = append(so, one.so)
			}
		}
	}
	endings, taken := e.run("power", cells)
	var gains, harms, bounded []group
	for i, c := range cells {
		g := tally(c, endings[i], so[i])
		switch {
		case c.name == cases[0].name:
			gains = append(gains, g)
		default:
			harms = append(harms, g)
		}
		if c.layout == "4v8" && c.podSpread == 0.03 {
			bounded = append(bounded, g)
		}
	}
	refused := merge(bounded)
	return []figure{
		powerFigure("power_gain", "share of trials that end Promoted at a true gain of 20 %; the value is that of 4v8 at SD 3 %", bounded[:1], gains, taken),
		powerFigure("power_harm", "share of trials that end Reverted at a true harm of 10 % beside the gain; the value is that of 4v8 at SD 3 %", bounded[1:], harms, taken),
		{Name: "power_not_started", What: "share that the product does not start, since the pods are too unlike each other (4v8 at SD 3 %)",
			Value: float64(refused.NotStarted) / float64(refused.NotStarted+refused.N), N: refused.NotStarted + refused.N, Seeds: taken, Passed: true},
	}
}

// dearer is by how much the rest of a request's CPU time must rise for all of it to rise so much, though the collector takes less.
func dearer(rise float64) float64 {
	now, then := shop().Under(settings.Settings{GOGC: 100}, shop().RequestsPerSecond), shop().Under(settings.Settings{GOGC: gainGOGC}, shop().RequestsPerSecond)
	return ((1+rise)*now.CPUSecondsPerRequest-then.GCSecondsPerRequest)/shop().RequestCPUSeconds - 1
}

func powerFigure(name, what string, bounded, all []group, taken seeds) figure {
	one := merge(bounded)
	f := figure{Name: name, What: what, Value: one.Share, Interval: &one.Interval, N: one.N, AtLeast: atLeast(0.9), Seeds: taken, Groups: all}
	return f.judged()
}

// outliers runs trials whose canary pods answer some requests ten times slower, but within the objectives, beside a gain of a fifth.
func (e *evaluation) outliers() []figure {
	slos := []verdict.SLO{{Name: "latency", ThresholdSeconds: 2.5, AllowedShare: 0.02}, {Name: "errors", AllowedShare: 0.005}}
	var cells []cell
	for _, layout := range []string{"3v3", "4v8", "8v8"} {
		for _, spread := range []float64{0.01, 0.03} {
			for _, share := range []float64{0.05, 0.10, 0.20, 0.30} {
				cells = append(cells, cell{
					layout: layout, podSpread: spread, name: fmt.Sprintf("%.0f%% ten times slower", 100*share), gogc: gainGOGC,
					fault: simulation.Fault{SlowRequests: share}, slos: slos, n: 30,
				})
			}
		}
	}
	endings, taken := e.run("outlier_detected", cells)
	var groups []group
	for i, c := range cells {
		groups = append(groups, tally(c, endings[i], reverted))
	}
	f := shareFigure("outlier_detected", "share of trials that end Reverted where canary pods answer some requests ten times slower, within the objectives", groups, taken)
	f.AtLeast = atLeast(0.99)
	return []figure{f.judged()}
}
