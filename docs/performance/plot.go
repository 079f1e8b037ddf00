package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgsvg" // the format of the pictures
)

// drawAll draws the page's pictures into a folder.
func drawAll(dir string, r *results) error {
	if len(r.Runs) == 0 {
		return errors.New("nothing was measured yet")
	}
	roof, err := roofline(r)
	if err != nil {
		return err
	}
	ops, err := opTimes(r)
	if err != nil {
		return err
	}
	return errors.Join(
		roof.Save(20*vg.Centimeter, 13*vg.Centimeter, filepath.Join(dir, "roofline.svg")),
		ops.Save(20*vg.Centimeter, 11*vg.Centimeter, filepath.Join(dir, "ops.svg")))
}

// roofline draws operations per second over operations per byte of weights: the machine's
// limits as lines (Williams, Waterman, Patterson: Roofline, 2009), each row as points. Peers
// are drawn over our bytes: theirs are the same but for the output matrix.
func roofline(r *results) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "Roofline: generation (left) and prompts of 512 tokens (right)"
	p.X.Label.Text, p.Y.Label.Text = "operations per byte of weights", "GOP/s"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0.5, 5000, 20, 5000
	p.Legend.Left, p.Legend.Top, p.Legend.Padding = true, true, vg.Points(2)
	p.Add(plotter.NewGrid())
	read := spreadOf(allValues(r, figRead, nil)).median
	for i, a := range arithmetics {
		peak := spreadOf(allValues(r, figPeak, a.measuredBy)).median
		if peak == 0 || read == 0 {
			continue
		}
		line, err := plotter.NewLine(plotter.XYs{{X: p.X.Min, Y: read * p.X.Min}, {X: peak / read, Y: peak}, {X: p.X.Max, Y: peak}})
		if err != nil {
			return nil, err
		}
		line.Dashes = plotutil.Dashes(i)
		p.Add(line)
		p.Legend.Add(fmt.Sprintf("limit, %s: %s GOP/s, %s GB/s", a.name, number(peak), number(read)), line)
	}
	return p, addPoints(p, r)
}

// addPoints adds a series for each of the contestants.
func addPoints(p *plot.Plot, r *results) error {
	for i, who := range []string{ours, ik, llama} {
		points, names := pointsOf(r, who)
		if len(points) == 0 {
			continue
		}
		scatter, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		scatter.GlyphStyle = draw.GlyphStyle{Color: plotutil.Color(i), Radius: vg.Points(3.5), Shape: plotutil.Shape(i)}
		p.Add(scatter)
		p.Legend.Add(who, scatter)
		if who != ours {
			continue
		}
		labels, err := plotter.NewLabels(plotter.XYLabels{XYs: points, Labels: names})
		if err != nil {
			return err
		}
		labels.Offset = vg.Point{X: vg.Points(5), Y: vg.Points(3)}
		p.Add(labels)
	}
	return nil
}

// pointsOf places a contestant's rows. A weight takes part in one multiply and one add for
// each token, so a step of n tokens has 2n operations for the bytes of a weight.
func pointsOf(r *results, who string) (points plotter.XYs, names []string) {
	for _, w := range rows {
		for _, f := range []struct {
			figure string
			tokens float64 // of a step
		}{{"tg64", 1}, {"pp512", 512}} {
			rate := spreadOf(r.values(w.name, who, f.figure)).median
			giga := gigaPerToken(r, &w)
			if rate == 0 || giga == 0 || who != ours && w.peersOf != "" {
				continue
			}
			points = append(points, plotter.XY{X: 2 * f.tokens / w.bytesPerWeight, Y: rate * giga})
			names = append(names, w.name)
		}
	}
	return points, names
}

// gigaPerToken is the 10^9 operations of a token, from the bytes that one reads: those follow
// from our rate, its share of the bandwidth, and that.
func gigaPerToken(r *results, w *row) float64 {
	rate, share := spreadOf(r.values(w.name, ours, "tg64")).median, spreadOf(r.values(w.name, ours, shareOf("tg64"))).median
	if rate == 0 || w.bytesPerWeight == 0 {
		return 0
	}
	gigabytes := share * spreadOf(r.values(w.name, ours, figRead)).median / rate
	return 2 * gigabytes / w.bytesPerWeight
}

// opTimes draws shares of time by kind of op, a bar for each function of each profile.
func opTimes(r *results) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "Where the time goes: shares of all threads' time"
	p.X.Min, p.X.Max = 0, 1.45 // room for the legend
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.25, Label: "25 %"}, {Value: 0.5, Label: "50 %"}, {Value: 0.75, Label: "75 %"}, {Value: 1, Label: "100 %"}}
	p.Legend.Top = true
	bars, names := barsOf(r)
	if len(bars) == 0 {
		return p, nil
	}
	var below *plotter.BarChart
	for i, kind := range drawnKinds(bars) {
		values := make(plotter.Values, len(bars))
		for j, shares := range bars {
			values[j] = shares[kind]
		}
		chart, err := plotter.NewBarChart(values, vg.Points(20))
		if err != nil {
			return nil, err
		}
		chart.Horizontal, chart.Color, chart.LineStyle.Width = true, kindColor(i), 0
		if below != nil {
			chart.StackOn(below)
		}
		below = chart
		p.Add(chart)
		p.Legend.Add(kind, chart)
	}
	p.NominalY(names...)
	return p, nil
}

// barsOf returns the shares by kind of each bar, from the lowest on; kinds below one percent
// are "other".
func barsOf(r *results) (bars []map[string]float64, names []string) {
	for _, w := range slices.Backward(rows) {
		for _, fn := range []string{"decode", "prefill"} {
			shares := make(map[string]float64)
			for _, s := range r.Profiles[w.name] {
				switch {
				case s.Func != fn:
				case s.Share < 0.01:
					shares["other"] += s.Share
				default:
					shares[s.Kind] += s.Share
				}
			}
			if len(shares) > 0 {
				bars, names = append(bars, shares), append(names, w.name+" "+fn)
			}
		}
	}
	return bars, names
}

// drawnKinds are the kinds of all bars: products first, then by name, waits and the rest last.
func drawnKinds(bars []map[string]float64) (kinds []string) {
	seen := make(map[string]bool)
	for _, shares := range bars {
		for kind := range shares {
			seen[kind] = true
		}
	}
	first, last := []string{"matmul", "matmul_swiglu", "attention"}, []string{"other", "wait"}
	for _, kind := range first {
		if seen[kind] {
			kinds = append(kinds, kind)
		}
	}
	var middle []string
	for kind := range seen {
		if !slices.Contains(first, kind) && !slices.Contains(last, kind) {
			middle = append(middle, kind)
		}
	}
	slices.Sort(middle)
	kinds = append(kinds, middle...)
	for _, kind := range last {
		if seen[kind] {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// kindColor is one of a row of colors that are easy to tell apart: hues a golden angle apart.
func kindColor(i int) color.Color {
	hue := math.Mod(210+float64(i)*137.5, 360)
	f := func(n float64) uint8 { // HSL with saturation 0.55 and lightness 0.55
		k := math.Mod(n+hue/30, 12)
		return uint8(255 * (0.55 - 0.2475*max(-1, min(k-3, 9-k, 1))))
	}
	return color.RGBA{f(0), f(8), f(4), 255}
}
