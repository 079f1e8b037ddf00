package main

// person is a group of characters that share pronouns.
type person struct {
	male         bool
	kinds, names []string
}

var heroes = []person{
	{false, []string{"girl"}, []string{"Lily", "Mia", "Anna", "Ruby", "Nora", "Rosa", "Ella", "Sue"}},
	{true, []string{"boy"}, []string{"Tom", "Ben", "Max", "Sam", "Leo", "Finn", "Jack", "Tim"}},
	{true, []string{"fox", "bear", "rabbit"}, []string{"Pip", "Bobo", "Rusty"}},
	{false, []string{"mouse", "cat", "duck"}, []string{"Momo", "Kiki", "Daisy"}},
}

var friends = []person{
	{true, []string{"dog", "bird", "frog"}, []string{"Rex", "Hugo", "Oscar", "Fred"}},
	{false, []string{"bee", "goat", "turtle"}, []string{"Lulu", "Coco", "Dot", "Penny"}},
}

// Parts of invented names, which teach the model to repeat a name that it never saw.
var (
	onsets = []string{
		"", "B", "C", "D", "F", "G", "H", "J", "K", "L", "M", "N", "P", "R", "S", "T", "V", "W", "Z",
		"Br", "Ch", "Cl", "Gr", "Ph", "Sh", "St", "Th",
	}
	vowels = []string{"a", "e", "i", "o", "u", "y", "ai", "ee", "ia", "oo", "ou"}
	middle = []string{
		"b", "c", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "x", "z",
		"ck", "ld", "ll", "mm", "nd", "nn", "rt", "ss", "st", "th", "tt",
	}
	ends = []string{"a", "e", "i", "o", "y", "ce", "en", "er", "ia", "ie", "in", "is", "on", "us", ""}
)

// place is somewhere to go, with spots where things can be lost and found.
type place struct {
	at, to string
	spots  []string
}

var places = []place{
	{"in the garden", "to the garden", []string{"under a bush", "behind the gate", "in the tall grass", "near the roses"}},
	{"in the park", "to the park", []string{"under a bench", "behind a tree", "by the pond", "near the swings"}},
	{"on the beach", "to the beach", []string{"behind a rock", "in the sand", "under a boat", "near the waves"}},
	{"in the forest", "to the forest", []string{"under a log", "behind a tree", "by the stream", "in a pile of leaves"}},
	{"on the farm", "to the farm", []string{"in the hay", "behind the barn", "under a cart", "by the well"}},
}

var (
	colors = []string{"red", "blue", "green", "yellow", "pink"}
	toys   = []string{"ball", "kite", "hat", "drum", "car", "doll", "boat", "book"}
	foods  = []string{"cake", "pie", "bread", "soup"}
	traits = []string{"kind", "brave", "happy", "clever", "shy"}
)

// rules are the symbols that may expand differently each time.
var rules = map[string][]string{
	"intro": {
		"{once} a {trait} {kind} named {name}.",
		"{once} a little {kind} named {name}. {He} was [very|so] {trait}.",
		"{name} was a {trait} little {kind}.",
	},
	"once":   {"once upon a time there was", "once upon a time, there was", "once there was"},
	"oneday": {"one day,", "one morning,", "one sunny day,"},
	"buddy":  {"a {friend.kind} named {friend.name}", "{his} friend {friend.name} the {friend.kind}"},
	"sad":    {"{name} was [very|so] sad.", "{name} felt sad and began to cry.", "{He} sat down and cried."},
	"glad":   {"{name} was [very|so] happy.", "{name} smiled a big smile.", "{name} jumped with joy."},
	"thanks": {`"Thank you, {friend.name}!" said {name}.`, `{name} said, "Thank you, {friend.name}!"`},
	"asks":   {`"What is wrong, {name}?" asked {friend.name}.`, `{friend.name} asked, "Why are you sad, {name}?"`},
	"help":   {`"I can help you," said {friend.name}.`, `{friend.name} said, "Do not worry. I will help you."`},
	"end": {
		"from that day on, {name} and {friend.name} were best friends.",
		"{name} and {friend.name} played together until the sun went down.",
		"{name} and {friend.name} went home together. The end.",
		"after that, {name} and {friend.name} played together every day.",
	},
}

// plot is a sequence of sentences; one of its variants adds facts, so that
// problem and solution belong together.
type plot struct {
	name      string
	variants  [][]string
	sentences []string
}

var plots = []plot{lostToy, hungryFriend, stuckFriend, fear, building, rain, birthday}

var lostToy = plot{
	name:     "lost toy",
	variants: [][]string{{}},
	sentences: []string{
		"{intro}",
		"{name} had a {toy}. [{He} loved the {toy} very much.|It was {his} favorite thing.|{He} took it everywhere.]",
		"{oneday} {name} went {to} with the {toy}. [But when {he} got home, the {toy} was gone!|{He} played all day, but then {he} lost the {toy}!]",
		"{sad}",
		"{name} looked {wrong}, but the {toy} was not there. [{He} looked {wrong2}, but it was not there.|]",
		"then {name} met {buddy}. {asks}",
		`"I lost my {toy}," said {name}. {help}`,
		"they looked {spot}, and there was the {toy}! {glad}",
		"{thanks} [{name} never lost the {toy} again.|{End}]",
	},
}

var hungryFriend = plot{
	name:     "hungry friend",
	variants: [][]string{{}},
	sentences: []string{
		"{intro}",
		"{oneday} {name} made some {food} and went {to} to eat it.",
		"{spot}, {name} saw {buddy}. {friend.name} looked [very|so] hungry.",
		`"May I have some {food}?" asked {friend.name}. "I am [very|so] hungry."`,
		"{name} did not have much {food}, but {he} gave half of it to {friend.name}.",
		`"This {food} is very good!" said {friend.name}. "Thank you, {name}!"`,
		"The next day, {name} lost {his} {toy} {at}. {sad}",
		`"You gave me {food}, so now I will help you," said {friend.name}.`,
		"{friend.name} found the {toy} {wrong}. {glad}",
		"{End}",
	},
}

var stuckFriend = plot{
	name: "stuck friend",
	variants: [][]string{
		{"where=in a tall tree", "how=at the top of the tree", "tool=ladder", "act=put the ladder against the tree", "out=climbed down the ladder"},
		{"where=in a deep hole", "how=at the bottom of the hole", "tool=rope", "act=let the rope down into the hole", "out=climbed up the rope"},
		{"where=in the mud", "how=in the middle of the mud", "tool=long stick", "act=held the long stick over the mud", "out=took the long stick and came out of the mud"},
	},
	sentences: []string{
		"{intro}",
		"{oneday} {name} was walking {at}. {He} heard a [small|sad] voice.",
		`"Help! Help! I am stuck!" It was a {friend.kind} named {friend.name}. {friend.name} was stuck {where}.`,
		`"Do not be afraid, {friend.name}," said {name}. "I will help you."`,
		"{name} thought and thought. Then {he} ran home and [got|came back with] a {tool}.",
		"{name} {act}. {friend.name} was {how}, but {friend.he} was brave.",
		"slowly, {friend.name} {out}. {friend.He} was safe!",
		`"Thank you, {name}!" said {friend.name}. "You are [very|so] [kind|brave|clever]."`,
		"{End}",
	},
}

var fear = plot{
	name: "fear",
	variants: [][]string{
		{"thing=the dark", "when=one night, the room was very dark", "gift=lamp", "now=the lamp made the room bright"},
		{"thing=the storm", "when=one night, there was a loud storm", "gift=warm blanket", "now=under the warm blanket, the storm was not so loud"},
		{"thing=the water", "when=one day, {name} went to the lake, and the water was deep", "gift=little boat", "now=in the little boat, the water was fun"},
	},
	sentences: []string{
		"{intro}",
		"but {name} was afraid of {thing}.",
		"{when}. {He} [wanted to hide|began to cry|could not move].",
		"{buddy} came to see {him}. {asks}",
		`"I am afraid of {thing}," said {name}.`,
		`"I was afraid of {thing} too," said {friend.name}. "Here, take my {gift}."`,
		"{friend.name} gave {name} a {gift}. {now}.",
		"{name} was not afraid of {thing} [anymore|now]. {glad}",
		"{thanks} {End}",
	},
}

var building = plot{
	name: "building",
	variants: [][]string{
		{"what=tower", "from=blocks", "bad=the tower fell down", "idea=build it on the flat floor", "good=the tower was tall and did not fall"},
		{"what=castle", "from=sand", "bad=a wave came and the castle was gone", "idea=build it far from the waves", "good=no wave came near the castle"},
		{"what=house", "from=sticks", "bad=the wind blew and the house fell down", "idea=use stones for the walls", "good=the wind blew, but the house was strong"},
		{"what=boat", "from=paper", "bad=the boat got wet and went down", "idea=make it from wood", "good=the boat went over the pond"},
	},
	sentences: []string{
		"{intro}",
		"{oneday} {name} wanted to make a {what}. {He} made a big {what} from {from}.",
		"but then {bad}! {sad}",
		"{buddy} saw it. {asks}",
		`"I made a {what}, but {bad}," said {name}.`,
		`{friend.name} thought about it. "Let us make a new {what}," said {friend.name}. "This time we will {idea}."`,
		"{name} and {friend.name} worked [hard|all day]. The new {what} was [very|so] good.",
		"this time {good}! {glad}",
		"{End}",
	},
}

var rain = plot{
	name:     "rain",
	variants: [][]string{{}},
	sentences: []string{
		"{intro}",
		"{name} wanted to play {at} with {his} {toy}.",
		"but one day it began to rain. {name} could not go out. {sad}",
		"then there was a knock at the door. It was {friend.name} the {friend.kind}. {friend.He} was all wet.",
		`"Come in and get warm," said {name}. {He} gave {friend.name} some warm {food}.`,
		"{friend.name} ate the {food}. Then they played with the {toy} in the house.",
		"soon the rain stopped and the sun came out. They saw a big rainbow.",
		`"Now we can go {to}!" said {friend.name}. {glad}`,
		"they took the {toy} and went {to}. {End}",
	},
}

var birthday = plot{
	name:     "birthday",
	variants: [][]string{{}},
	sentences: []string{
		"{intro}",
		"it was {his} birthday, but no one came to see {him}. {sad}",
		"{name} went for a walk {at}. [{wrong}, {he} saw a small bird.|The sun was warm, but {he} was alone.]",
		"then {he} saw something {spot}. It was a big box!",
		"{name} opened the box. There was a {toy} in it! {glad}",
		`"Who gave me this {toy}?" asked {name}.`,
		`{friend.name} the {friend.kind} came out from behind the box. "I did!" said {friend.name}. "Happy birthday, {name}!"`,
		"{friend.name} had made some {food} too. They ate the {food} and played with the {toy}.",
		"{thanks} {End}",
	},
}
