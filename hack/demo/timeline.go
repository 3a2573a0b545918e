package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// quietInterval is how often a log, which can't overwrite a line, hears what is waited for.
	quietInterval = 20 * time.Second
	// terminalWidth is what a line that is overwritten must fit in: a longer one would wrap, and stay.
	terminalWidth = 110
	clearLine     = "\r\033[K"
)

// timeline writes one line an event, with the time since the start. Below the last of them a terminal shows what is waited for.
type timeline struct {
	out      io.Writer
	terminal bool
	now      func() time.Time

	mutex   sync.Mutex
	began   time.Time
	waited  time.Time
	lastly  string // what is waited for, as shown
	entries []entry
}

// entry is a line as result.json has it.
type entry struct {
	Seconds float64 `json:"seconds"`
	Subject string  `json:"subject"`
	Text    string  `json:"text"`
}

func newTimeline(out io.Writer, terminal bool, now func() time.Time) *timeline {
	return &timeline{out: out, terminal: terminal, now: now, began: now(), waited: now()}
}

// restart sets the clock to zero: what came before were builds, which a second run does not have.
func (t *timeline) restart() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.began = t.now()
}

// elapsed is the time since the clock was last set.
func (t *timeline) elapsed() time.Duration { return t.now().Sub(t.began) }

// say writes an event.
func (t *timeline) say(subject, format string, values ...any) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	text := fmt.Sprintf(format, values...)
	t.entries = append(t.entries, entry{Seconds: t.elapsed().Round(100 * time.Millisecond).Seconds(), Subject: subject, Text: text})
	t.write("%s%s  %-9s %s\n", t.start(), clock(t.elapsed()), subject, text)
	t.waited = t.now()
}

// waiting says what is waited for. A terminal shows it until the next line, a log hears it now and then.
func (t *timeline) waiting(format string, values ...any) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	text := fmt.Sprintf(format, values...)
	line := fmt.Sprintf("%s  %-9s %s", clock(t.elapsed()), "…", text)
	switch {
	case t.terminal:
		t.lastly = cut(line, terminalWidth)
		t.write("%s%s", clearLine, t.lastly)
	case t.now().Sub(t.waited) >= quietInterval:
		t.waited = t.now()
		t.write("%s\n", line)
	}
}

// text writes a text of several lines, apart from the events.
func (t *timeline) text(text string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.write("%s\n%s\n\n", t.start(), strings.TrimRight(text, "\n"))
}

// Write lets the builds and the cluster tell of their progress.
func (t *timeline) Write(text []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.lastly != "" {
		t.write("%s", t.start())
	}
	return t.out.Write(text)
}

// start is what a line must begin with to take the place of what was waited for.
func (t *timeline) start() string {
	if t.lastly == "" {
		return ""
	}
	t.lastly = ""
	return clearLine
}

// write has nobody to tell when the terminal is gone.
func (t *timeline) write(format string, values ...any) { _, _ = fmt.Fprintf(t.out, format, values...) }

// clock writes minutes and seconds.
func clock(elapsed time.Duration) string {
	seconds := int(elapsed.Seconds())
	return fmt.Sprintf("%3d:%02d", seconds/60, seconds%60)
}

func cut(line string, width int) string {
	runes := []rune(line)
	if len(runes) <= width {
		return line
	}
	return string(runes[:width-1]) + "…"
}

func isTerminal(file *os.File) bool {
	information, err := file.Stat()
	return err == nil && information.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

func sorted(names []string) []string {
	return slices.Sorted(slices.Values(names))
}
