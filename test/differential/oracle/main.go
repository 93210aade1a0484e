// Answers the questions of the differential run with Argo CD's own code: a case on each line of
// standard input, its answer on each line of standard output, in any order.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/sirupsen/logrus"
)

type question struct {
	ID    int64           `json:"id"`
	Area  string          `json:"area"`
	Input json.RawMessage `json:"input"`
}

// answer has exactly one of Result, Error (the original returned an error) and Panic.
type answer struct {
	ID     int64  `json:"id"`
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
	Panic  string `json:"panic,omitempty"`
}

var areas = map[string]func(json.RawMessage) (any, error){
	"diff":     diffArea,
	"apply":    applyArea,
	"dryrun":   dryRunArea,
	"health":   healthArea,
	"sync":     syncArea,
	"project":  projectArea,
	"windows":  windowsArea,
	"tracking": trackingArea,
	"sharding": shardingArea,
	"quantity": quantityArea,
	"cron":     cronArea,
}

func main() {
	logrus.SetOutput(io.Discard)
	questions := make(chan question, 256)
	answers := make(chan answer, 256)
	var workers sync.WaitGroup
	for range max(1, runtime.NumCPU()) {
		workers.Go(func() {
			for q := range questions {
				answers <- respond(q)
			}
		})
	}
	var printer sync.WaitGroup
	printer.Go(func() { printAnswers(answers) })

	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			fmt.Fprintln(os.Stderr, "oracle: not a question:", err)
			os.Exit(2)
		}
		questions <- q
	}
	close(questions)
	workers.Wait()
	close(answers)
	printer.Wait()
}

func printAnswers(answers <-chan answer) {
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for a := range answers {
		if err := encoder.Encode(a); err != nil {
			_ = encoder.Encode(answer{ID: a.ID, Error: "the answer is no JSON: " + err.Error()})
		}
		if len(answers) == 0 {
			_ = out.Flush()
		}
	}
	_ = out.Flush()
}

func respond(q question) (a answer) {
	a.ID = q.ID
	defer func() {
		if r := recover(); r != nil {
			a = answer{ID: q.ID, Panic: fmt.Sprintf("%v\n%s", r, debug.Stack())}
		}
	}()
	area, ok := areas[q.Area]
	if !ok {
		a.Error = "unknown area " + q.Area
		return a
	}
	result, err := area(q.Input)
	if err != nil {
		a.Error = err.Error()
		if a.Error == "" {
			a.Error = "an error without a text"
		}
		return a
	}
	a.Result = result
	return a
}
