// The only program inside the containers that tests run on real nodes: small, static, and told by its arguments how to
// behave.
//
//	workload pause
//	workload run [--exit-after-ms=N] [--exit-code=N] [--stop-ms=N]
//	workload write --file=PATH --as=UID [--every-ms=N]
//
// `pause` holds a pod's namespaces and buries its orphans. `run` lives until it is asked to end, takes --stop-ms over it
// and then ends well; or ends by itself after --exit-after-ms, with --exit-code. `write` is a database (write.go).
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fail("say what to do: pause, run, write")
	}
	switch os.Args[1] {
	case "pause":
		pause()
	case "run":
		run(os.Args[2:])
	case "write":
		write(os.Args[2:])
	default:
		fail("cannot do " + os.Args[1])
	}
}

func pause() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if pid <= 0 || err != nil {
				break
			}
		}
	}
}

func run(args []string) {
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	exitAfterMs := flags.Int("exit-after-ms", -1, "ends by itself after so long")
	exitCode := flags.Int("exit-code", 0, "how it ends by itself")
	stopMs := flags.Int("stop-ms", 0, "what it needs to end when asked to")
	_ = flags.Parse(args)

	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	var ended <-chan time.Time
	if *exitAfterMs >= 0 {
		ended = time.After(time.Duration(*exitAfterMs) * time.Millisecond)
	}
	select {
	case <-asked:
		time.Sleep(time.Duration(*stopMs) * time.Millisecond)
	case <-ended:
		os.Exit(*exitCode)
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "workload:", why)
	os.Exit(2)
}
