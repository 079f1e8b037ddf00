package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgsvg" // the format of the pictures
)

// drawPage draws the page's picture into a folder.
func drawPage(dir string, r *results) error {
	if len(r.Runs) == 0 {
		return errors.New("nothing was measured yet")
	}
	roof, err := roofline(r)
	if err != nil {
		return err
	}
	return roof.Save(20*vg.Centimeter, 13*vg.Centimeter, filepath.Join(dir, "roofline.svg"))
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
