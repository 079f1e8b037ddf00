package compare

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/ggmlc/ggmlc/ir"
)

// Print writes the table of all rows, and how many were compared.
func Print(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "step\tnode\top\tfrom\tNMSE\tlargest\ttolerance\t")
	compared, differ := 0, 0
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(t, "%d @%s\t%v\t%v\t%s\t", r.Step, r.Func, r.Node, r.Node.Op, position(r.Node))
		if r.Missing != "" {
			fmt.Fprintf(t, "-\t-\t-\t%s\n", r.Missing)
			continue
		}
		compared++
		mark := ""
		if r.Differs() {
			differ++
			mark = "differs" + Where(r.OnA)
			if r.NMSE <= r.Tolerance {
				mark = fmt.Sprintf("differs%s: largest allowed is %.2g", Where(r.OnA), r.Limit)
			}
		}
		fmt.Fprintf(t, "%.2g\t%.2g\t%.2g\t%s\n", r.NMSE, r.MaxAbs, r.Tolerance, mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d values compared, %d not there on both sides, %d differ\n", compared, len(rows)-compared, differ)
	return err
}

// Where returns " on DEVICE"; empty for no device.
func Where(device string) string {
	if device == "" {
		return ""
	}
	return " on " + device
}

// position returns where in the model file a node comes from.
func position(n *ir.Node) string {
	if n.Pos == "" {
		return "-"
	}
	return n.Pos
}

// From returns " of POSITION" for a message; empty if the node has none.
func From(n *ir.Node) string {
	if n.Pos == "" {
		return ""
	}
	return " of " + n.Pos
}
