package proof

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Row of the table of transitions: from any of some states to another, for a reason.
type Row struct {
	From       []string
	To, Reason string
}

func (r Row) String() string {
	return Transition{strings.Join(r.From, ", "), r.To, r.Reason}.String()
}

func (r Row) lists(t Transition) bool {
	return slices.Contains(r.From, t.From) && r.To == t.To && r.Reason == t.Reason
}

// Taken is how often the row's transitions were taken.
func (r Row) Taken(taken map[Transition]int) int {
	sum := 0
	for one, count := range taken {
		if r.lists(one) {
			sum += count
		}
	}
	return sum
}

// ReadTable reads the transitions that a document lists: rows of a Markdown table with the columns From, To and Reason, and any beside.
func ReadTable(path string) ([]Row, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the table of transitions: %w", err)
	}
	var table []Row
	inTable := false
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 5 {
			inTable = false
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		switch {
		case cells[1] == "From" && cells[2] == "To" && cells[3] == "Reason":
			inTable = true
		case inTable && !strings.HasPrefix(cells[1], "-"):
			table = append(table, Row{strings.Split(cells[1], ", "), cells[2], cells[3]})
		}
	}
	if len(table) == 0 {
		return nil, fmt.Errorf("%s has no table with the columns From, To and Reason", path)
	}
	return table, nil
}

// Compare says which rows of a table were not taken, and which transitions were that it does not list.
func Compare(table []Row, taken map[Transition]int) (missing []Row, unlisted []Transition) {
	for _, row := range table {
		if row.Taken(taken) == 0 {
			missing = append(missing, row)
		}
	}
	for one := range taken {
		if !slices.ContainsFunc(table, func(row Row) bool { return row.lists(one) }) {
			unlisted = append(unlisted, one)
		}
	}
	slices.SortFunc(unlisted, Transition.compare)
	return missing, unlisted
}

func (t Transition) compare(other Transition) int {
	return cmp.Or(cmp.Compare(t.From, other.From), cmp.Compare(t.To, other.To), cmp.Compare(t.Reason, other.Reason))
}

func (t Transition) String() string { return fmt.Sprintf("%s → %s: %s", t.From, t.To, t.Reason) }
