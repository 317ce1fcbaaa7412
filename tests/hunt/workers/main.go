// Command workers hunts for forecasts that go wrong, with the controllers of workers in this process instead of a cluster.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"time"
)

// Writes that one cluster gets.
const writes = 12

// Rounds after which what still moves is left moving.
const patience = 60

type figures struct {
	sync.Mutex
	classes map[string][]int
	played  int
	kept    map[string]int
	finds   string
}

func main() {
	minutes := flag.Float64("minutes", 1, "how long")
	first := flag.Int64("seed", 1, "of the first walk")
	lanes := flag.Int64("lanes", 2, "walks at once")
	finds := flag.String("finds", "/tmp/finds", "folder for what is found")
	replay := flag.String("replay", "", "a find to play again")
	flag.Parse()
	all := &figures{classes: map[string][]int{}, kept: map[string]int{}, finds: *finds}
	if *replay != "" {
		all.again(*replay)
		return
	}
	began := time.Now()
	until := began.Add(time.Duration(*minutes * float64(time.Minute)))
	var wait sync.WaitGroup
	for lane := range *lanes {
		wait.Go(func() {
			folder, err := os.MkdirTemp("", "workers")
			must(err)
			defer os.RemoveAll(folder)
			for number := *first + lane; time.Now().Before(until); number += *lanes {
				all.walk(number, folder, until)
			}
		})
	}
	wait.Wait()
	all.print(time.Since(began))
}

// walk plays one cluster from its seed.
func (f *figures) walk(number int64, folder string, until time.Time) {
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Printf("seed %d: %v\n%s\n", number, fault, debug.Stack())
		}
	}()
	w := &walk{Rand: rand.New(rand.NewSource(number)), folder: folder}
	w.release = release(w.Rand)
	w.world = newWorld(around(), begun())
	must(w.world.write(nil, w.release, false))
	w.world.initialized()
	if !w.world.rest(patience) {
		return
	}
	for range writes {
		for w.Intn(2) == 0 {
			w.act()
			w.world.rest(w.rounds())
		}
		next, class := copied(w.release), ""
		for edits := 1 + w.Intn(2); edits > 0; edits-- {
			var own string
			if own, next = w.edit(next); class == "" {
				class = own
			}
		}
		if time.Now().After(until) {
			return
		}
		f.play(w, class, next, w.Intn(10) == 0, fmt.Sprint("seed ", number))
	}
}

// rounds says how long the controllers may work before something else happens.
func (w *walk) rounds() int {
	if w.Intn(3) == 0 {
		return w.Intn(4)
	}
	return patience
}

// play forecasts a write, makes it and compares.
func (f *figures) play(w *walk, class string, next []object, replaces bool, from string) {
	before := w.world.dump(false)
	next = trimmed(next)
	if replaces {
		there := keyed(before)
		var left []object
		for _, one := range next {
			if there[key(one)] != nil {
				left = append(left, one)
			}
		}
		next, class = left, class+" replaced"
	}
	said, err := asked(w.folder, before, w.release, next, replaces)
	must(err)
	nodes := w.world.dump(true)
	seen := judged(w.world, w.release, next, replaces)
	written := seen.world
	found := mark(said, seen.outcome)
	line := f.note(w.folder, class, found, said, seen.outcome, from, nodes)
	if line != "" {
		fmt.Println(line)
	}
	if seen.refused != "" {
		return
	}
	if w.Intn(3) == 0 {
		must(w.world.write(w.release, next, replaces))
		w.world.rest(w.Intn(4))
	} else {
		w.world = written
	}
	w.past = append(w.past, w.release)
	w.release = next
	if replaces {
		kept := keyed(next)
		for _, one := range w.past[len(w.past)-1] {
			if kept[key(one)] == nil {
				w.release = append(w.release, one)
			}
		}
	}
}

type judgement struct {
	outcome
	world *world
}

// judged plays a write on a copy of a cluster, and the same time without it on another one.
func judged(w *world, base, next []object, replaces bool) judgement {
	before := w.dump(false)
	with, anyway := w.clone(), came(before, before)
	if !w.rested {
		alone := w.clone()
		alone.rest(patience)
		anyway = came(before, alone.dump(false))
	}
	if err := with.write(base, next, replaces); err != nil {
		return judgement{outcome{refused: err.Error()}, with}
	}
	rested := with.rest(patience)
	seen := came(before, with.dump(false))
	seen.rested, seen.failures = rested, with.failures
	seen.due = union(anyway.gone, anyway.outdated)
	for _, one := range before {
		if text(one, "kind") == "Machine" && (outdated(one) || text(one, "metadata", "deletionTimestamp") != "") {
			seen.due[name(one)] = true
		}
	}
	seen.met = len(seen.due) > 0
	return judgement{seen, with}
}

// note counts a change, and keeps it where it went wrong in a way that was not seen often yet.
func (f *figures) note(folder, class string, found int, said report, seen outcome, from string, nodes []object) string {
	f.Lock()
	defer f.Unlock()
	f.played++
	if f.classes[class] == nil {
		f.classes[class] = make([]int, len(marks))
	}
	f.classes[class][found]++
	if found < count {
		return ""
	}
	rule := ""
	for _, reason := range said.Reasons {
		rule = reason.Rule
	}
	kind := strings.Join([]string{marks[found], class, said.Decision, said.Effect, rule, fmt.Sprint(len(seen.gone) > 0, seen.refused != "")}, "|")
	f.kept[kind]++
	if f.kept[kind] > 3 {
		return ""
	}
	line := fmt.Sprintf("%s (%s, %s): said %s (%s, %s); refused %q, gone %s, made %s, outdated %s, due %s, rested %v, failures %v", marks[found], class, from,
		said.Decision, said.Effect, rule, seen.refused, names(seen.gone), names(seen.made), names(seen.outdated), names(seen.due), seen.rested, seen.failures)
	kept := filepath.Join(f.finds, fmt.Sprintf("%s-%04d", strings.ReplaceAll(marks[found], " ", "-"), f.played))
	must(os.MkdirAll(kept, 0o755))
	for _, file := range []string{"live.json", "base.yaml", "rendered.yaml", "command"} {
		raw, err := os.ReadFile(filepath.Join(folder, file))
		must(err)
		must(os.WriteFile(filepath.Join(kept, file), raw, 0o644))
	}
	must(os.WriteFile(filepath.Join(kept, "said.json"), said.raw, 0o644))
	raw, err := json.Marshal(nodes)
	must(err)
	must(os.WriteFile(filepath.Join(kept, "world.json"), raw, 0o644))
	must(os.WriteFile(filepath.Join(kept, "came"), []byte(line+"\n"), 0o644))
	return kept + ": " + line
}

func (f *figures) print(took time.Duration) {
	var classes []string
	for class := range f.classes {
		classes = append(classes, class)
	}
	sort.Strings(classes)
	fmt.Printf("%24s", "class")
	for _, mark := range marks {
		fmt.Printf("%12s", mark)
	}
	fmt.Println()
	total := make([]int, len(marks))
	for _, class := range classes {
		fmt.Printf("%24s", class)
		for i, n := range f.classes[class] {
			fmt.Printf("%12d", n)
			total[i] += n
		}
		fmt.Println()
	}
	fmt.Printf("%24s", "all")
	for _, n := range total {
		fmt.Printf("%12d", n)
	}
	fmt.Printf("\n%d changes played, %.1f a second\n", f.played, float64(f.played)/took.Seconds())
}
