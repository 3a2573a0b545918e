package programs

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// confidence is for how many seconds of building the prediction weighs as much as what this
// machine has shown.
const confidence = 20

const (
	lineInterval     = 15 * time.Second
	terminalInterval = 500 * time.Millisecond
)

// predict estimates the seconds of a build from what it took cold, the programs asked for, and
// the share of packages that the build cache does not have.
func predict(m module, programs, total, stale int) float64 {
	share := float64(programs) / float64(len(m.programs))
	fresh := 0.0
	if total > 0 {
		fresh = float64(stale) / float64(total)
	}
	// Most packages are shared by the programs of a module, so one program costs more than its
	// share of compiling; linking is per program.
	compiling := (m.coldSeconds - m.linkSeconds) * fresh * (0.5 + share/2)
	return compiling + m.linkSeconds*share
}

// expectation is what is known of a module's build before it starts.
type expectation struct {
	name     string
	packages int
	seconds  float64
}

// progress tells how far a row of builds is and how long the rest will take. The prediction
// comes from another machine, so it is scaled by how this one did so far.
type progress struct {
	output   io.Writer
	terminal bool
	now      func() time.Time

	mutex    sync.Mutex
	rows     []expectation
	current  int
	done     int
	started  time.Time
	began    time.Time
	finished float64
}

func newProgress(output io.Writer, now func() time.Time) *progress {
	return &progress{output: output, terminal: isTerminal(output), now: now, started: now(), current: -1}
}

func (p *progress) expect(name string, packages int, seconds float64) {
	p.rows = append(p.rows, expectation{name: name, packages: packages, seconds: seconds})
}

// note tells something outside a build.
func (p *progress) note(text string) { p.print(text, false) }

func (p *progress) begin(name string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.current++
	p.done = 0
	p.began = p.now()
	if p.current == 0 {
		p.started = p.began
	}
	p.print(fmt.Sprintf("building %s: %d packages to compile, all programs %s", name, p.rows[p.current].packages, p.left()), true)
}

func (p *progress) compiled() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.done++
}

func (p *progress) end() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	row := p.rows[p.current]
	p.finished += row.seconds
	p.print(fmt.Sprintf("built %s in %s", row.name, rounded(p.now().Sub(p.began))), true)
}

// tick reports at intervals until stop is called.
func (p *progress) tick() (stop func()) {
	interval := lineInterval
	if p.terminal {
		interval = terminalInterval
	}
	ticker := time.NewTicker(interval)
	finish, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		for {
			select {
			case <-finish:
				return
			case <-ticker.C:
				p.mutex.Lock()
				p.print(p.line(), false)
				p.mutex.Unlock()
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(finish)
		<-finished
	}
}

func (p *progress) line() string {
	row := p.rows[p.current]
	stage := fmt.Sprintf("%d of %d packages", min(p.done, row.packages), row.packages)
	if p.done >= row.packages {
		stage = "linking"
	}
	return fmt.Sprintf("building %s: %s, %s so far, all programs %s", row.name, stage, rounded(p.now().Sub(p.began)), p.left())
}

// left estimates the time until all programs are built.
func (p *progress) left() string {
	var remaining float64
	for _, row := range p.rows[p.current:] {
		remaining += row.seconds
	}
	row := p.rows[p.current]
	share := float64(p.done) / float64(max(row.packages, 1))
	worked := row.seconds * min(share, 0.95)
	remaining -= worked
	elapsed := p.now().Sub(p.started).Seconds()
	remaining *= (elapsed + confidence) / (p.finished + worked + confidence)
	return "about " + rounded(time.Duration(remaining*float64(time.Second))) + " left"
}

func (p *progress) print(text string, lasting bool) {
	if !p.terminal {
		fmt.Fprintln(p.output, text)
		return
	}
	ending := ""
	if lasting {
		ending = "\n"
	}
	fmt.Fprintf(p.output, "\r\033[K%s%s", text, ending)
}

// rounded writes a duration as a person would say it.
func rounded(d time.Duration) string {
	if d < 90*time.Second {
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	}
	return strings.TrimSpace(fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes())))
}

func isTerminal(output io.Writer) bool {
	file, ok := output.(*os.File)
	if !ok {
		return false
	}
	description, err := file.Stat()
	return err == nil && description.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
