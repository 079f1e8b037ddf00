package arch

import (
	"maps"
	"slices"

	"github.com/ggmlc/ggmlc/frontend/gguf"
)

// graphKeys are keys that change the graph of an architecture that reads them, with the value that changes nothing.
var graphKeys = map[string]float64{
	"expert_count":              0,
	"expert_used_count":         0,
	"expert_gating_func":        1,
	"interleave_moe_layer_step": 1,
	"leading_dense_block_count": 0,
	"expert_group_count":        0,
	"nextn_predict_layers":      0,
	"expert_weights_scale":      1,
	"embedding_scale":           1,
	"residual_scale":            1,
	"logit_scale":               1,
	"attention.scale":           0,
	growthKey:                   0,
	"attention.clamp_kqv":       0,
	"attention.max_alibi_bias":  0,
	"attn_logit_softcapping":    0,
	"final_logit_softcapping":   0,
}

// grokKeys are further such keys of grok. Files of other architectures may have them, too, such as those of OLMo 3, but
// llama.cpp computes both factors itself (llama-context.cpp).
var grokKeys = map[string]float64{
	"rope.scaling.yarn_ext_factor":  1,
	"rope.scaling.yarn_attn_factor": 1,
}

// refuseUnread reports keys that would change the graph and that the description does not read. Without them the
// results would be those of another model.
func (m *model) refuseUnread() {
	m.refuseSections()
	m.refuseLocal()
	m.refuseUncausal()
	m.refuseOthers(graphKeys)
	if m.arch == "grok" {
		m.refuseOthers(grokKeys)
	}
}

// refuseOthers reports keys with values other than those, which change nothing, unless the description reads them.
func (m *model) refuseOthers(keys map[string]float64) {
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		full := m.arch + "." + name
		if m.read[full] || !m.file.Has(full) {
			continue
		}
		if x, err := m.number(full); err != nil {
			m.fail(err)
		} else if x != keys[name] {
			m.fail(m.file.KeyError(full, "%g: %s models with this are not supported yet", x, m.arch))
		}
	}
}

// refuseSections reports sections of angles, which models of text and pictures have.
func (m *model) refuseSections() {
	full := m.arch + ".rope.dimension_sections"
	if m.read[full] || !m.file.Has(full) {
		return
	}
	if list, err := m.file.Ints(full); err != nil {
		m.fail(err)
	} else if len(list) > 0 && slices.Max(list) > 0 {
		m.fail(m.file.KeyError(full, "%d…: %s models with sections of angles are not supported yet", list[0], m.arch))
	}
}

// localKeys are keys of layers with a sliding window, by the keys of the other layers.
var localKeys = map[string]string{
	localRopeBase:                ropeBase,
	"rope.dimension_count_swa":   "rope.dimension_count",
	"attention.key_length_swa":   "attention.key_length",
	"attention.value_length_swa": "attention.value_length",
}

// refuseLocal reports keys of layers with a sliding window that the description does not read, unless they change
// nothing: they are those of the other layers, or the list of such layers is empty.
func (m *model) refuseLocal() {
	for _, name := range slices.Sorted(maps.Keys(localKeys)) {
		full := m.arch + "." + name
		if m.read[full] || !m.file.Has(full) {
			continue
		}
		x, err := m.number(full)
		if err != nil {
			m.fail(err)
			continue
		}
		other, err := m.number(m.arch + "." + localKeys[name])
		if err != nil || x != other {
			m.fail(m.file.KeyError(full, "%g, which is not that of %s: %s models whose layers differ in this are not supported yet", x, localKeys[name], m.arch))
		}
	}
	if full := m.arch + "." + windowPattern; !m.read[full] && m.file.Has(full) {
		windowed := m.windowedLayers(1)
		for i := range m.layers {
			if windowed(i) {
				m.fail(m.file.KeyError(full, "layer %d has a sliding window: %s models with this are not supported yet", i, m.arch))
				return
			}
		}
	}
}

// refuseUncausal reports decoders whose tokens read those after them.
func (m *model) refuseUncausal() {
	const name = "attention.causal"
	if m.read[m.arch+"."+name] { // by encoders
		return
	}
	if m.denied(name) {
		m.fail(m.file.KeyError(m.key(name), "false: %s models whose tokens read those after them are not supported yet", m.arch))
	}
}

// number returns an integer or a float.
func (m *model) number(key string) (float64, error) {
	if k, ok := m.file.Key(key); ok && (k.Type == gguf.Float32 || k.Type == gguf.Float64) {
		return m.file.Float(key)
	}
	n, err := m.file.Int(key)
	return float64(n), err
}
